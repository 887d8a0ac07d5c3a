package attr

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test binary be a filter process for git and for us.
func TestMain(m *testing.M) {
	if mode := os.Getenv("REWIND_TEST_FILTER"); mode != "" {
		serveFilter(mode, newPacketReader(os.Stdin), os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serveFilter speaks the filter protocol, with packets as we write them: git is the
// judge of those too. It turns bytes upside down, unless the mode or the name of the
// file says that it shall fail.
func serveFilter(mode string, in packetReader, out io.Writer) {
	send := func(lines ...string) { _ = writePackets(out, lines...) }
	_, _ = in.lines()
	send("git-filter-server\n", "version=2\n")
	if able, _ := in.lines(); !slices.Equal(able, []string{"capability=clean", "capability=smudge", "capability=delay"}) {
		return // git announces these, and git-lfs answers nothing else
	}
	if mode == "unable" {
		send("capability=smudge\n")
	} else {
		send("capability=clean\n")
	}
	for {
		head, err := in.lines()
		if err != nil {
			return
		}
		data, _ := in.content()
		name := strings.Join(head, "")
		switch {
		case strings.Contains(name, "-error"):
			send("status=error\n")
			continue
		case strings.Contains(name, "-abort"):
			send("status=abort\n")
			continue
		case strings.Contains(name, "-die"):
			return
		case strings.Contains(name, "-garbage"):
			fmt.Fprint(out, "zzzzgarbage")
			return
		}
		send("status=success\n")
		for i := range data {
			data[i] ^= 0x20
		}
		for part := range slices.Chunk(data, 1000) {
			fmt.Fprintf(out, "%04x%s", len(part)+4, part)
		}
		send()
		if strings.Contains(name, "-late") {
			send("status=error\n")
		} else {
			send()
		}
	}
}
