//go:build linux

package fuzz

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
// "FAIL" or, with everything after it, "ABORT", and answers in small packets.
func serveFilter(in *bufio.Reader, out io.Writer) {
	readList(in) // who is there, and which versions
	writeList(out, "git-filter-server", "version=2")
	able, _ := readList(in)
	for _, c := range []string{"clean", "smudge", "delay"} { // git-lfs insists on them too
		if !bytes.Contains(able, []byte("capability="+c+"\n")) {
			return
		}
	}
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
		if bytes.Contains(data, []byte("ABORT")) {
			writeList(out, "status=abort")
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

// aborting lists the files at which the filter process gives up for good: git
// asks it nothing after that, and takes all later files as they are, or fails at
// them. Which these are depends on the order of its work.
func (w *world) aborting() (files []string) {
	if !w.kind.Filters {
		return nil
	}
	_ = filepath.WalkDir(w.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if _, err := os.Lstat(filepath.Join(p, ".git")); err == nil && p != w.root || d != nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		if data, err := os.ReadFile(p); err == nil && bytes.Contains(data, []byte("ABORT")) {
			files = append(files, p[len(w.root)+1:])
		}
		return nil
	})
	return files
}

// addAlone adds files one by one, so that the answer of a filter to one has no
// effect on the others. The copy is made as old as the index before each: the run
// before wrote it, and git would believe in it what it must not believe in the index.
func (w *world) addAlone(index string, files []string, inside entries, x *expectation) {
	for _, p := range files {
		if st, err := os.Stat(filepath.Join(w.gitDir, "index")); err == nil {
			w.must(os.Chtimes(index, st.ModTime(), st.ModTime()))
		}
		out, err := w.oracleGit(index, "add", "-A", "--sparse", "--ignore-errors", "--", inside.spec("top", p))
		if err == nil || strings.Contains(out, "ignored by one of your") || strings.Contains(out, "did not match any files") {
			continue
		}
		if !fatalPath.MatchString(out) && len(failedFiles(out)) == 0 {
			w.fail("git add %q: %v\n%s", p, err, out)
		}
		x.failed = append(x.failed, p)
	}
}
