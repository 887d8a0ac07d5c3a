//go:build linux

package fuzz

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// filterCommand is the configuration of a filter process: this program.
func filterCommand() (string, error) {
	self, err := os.Executable()
	return "REWIND_FUZZ_CHILD=filter '" + strings.ReplaceAll(self, "'", `'\''`) + "'", err
}

// serveFilter is the other side of git's long running filter protocol
// (gitattributes(5)): it swaps "a" and "b", both ways, refuses what contains
// "FAIL", and answers in small packets.
func serveFilter(in *bufio.Reader, out io.Writer) {
	readList(in) // who is there, and which versions
	writeList(out, "git-filter-server", "version=2")
	readList(in) // what it can do
	writeList(out, "capability=clean", "capability=smudge")
	for {
		if _, ok := readList(in); !ok { // the command and the path
			return
		}
		data, _ := readList(in)
		if bytes.Contains(data, []byte("FAIL")) {
			writeList(out, "status=error")
			continue
		}
		writeList(out, "status=success")
		swapped := bytes.Clone(data)
		for i, c := range data {
			if c == 'a' || c == 'b' {
				swapped[i] = 'a' + 'b' - c
			}
		}
		for len(swapped) > 0 {
			n := min(len(swapped), 999)
			fmt.Fprintf(out, "%04x%s", n+4, swapped[:n])
			swapped = swapped[n:]
		}
		writeList(out) // the end of the content
		writeList(out) // the status is what it was
	}
}

// readList reads packets up to a flush packet.
func readList(in *bufio.Reader) (data []byte, ok bool) {
	for {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return data, false
		}
		n, err := strconv.ParseUint(string(head[:]), 16, 16)
		if err != nil || n == 0 {
			return data, err == nil
		}
		at := len(data)
		data = append(data, make([]byte, n-4)...)
		if _, err := io.ReadFull(in, data[at:]); err != nil {
			return data, false
		}
	}
}

func writeList(out io.Writer, lines ...string) {
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%04x%s\n", len(l)+5, l)
	}
	b.WriteString("0000")
	_, _ = out.Write(b.Bytes())
}
