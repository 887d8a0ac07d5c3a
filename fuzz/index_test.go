//go:build linux

package fuzz

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The oracle reads git's index itself: a process for each question that is
// answered there took longer than git add.

// A listed is an entry of an index file.
type listed struct {
	at    int // where it begins in the file
	flags int // where its flags lie in the file
	more  int // where its further flags lie, -1 if it has none
	mode  uint32
	id    []byte
	stage int
	unwanted,
	intended bool // skip-worktree, intent to add
	path string
}

func (l listed) isLink() bool { return l.mode == 0o160000 }

// decode lists the entries of an index file, and says whether more of it lies
// in another file, or some are directories.
func (w *world) decode(data []byte) (all []listed, partly bool) {
	size, version := w.hashSize(), binary.BigEndian.Uint32(data[4:])
	at, name := 12, []byte(nil)
	for range binary.BigEndian.Uint32(data[8:]) {
		l := listed{at: at, mode: binary.BigEndian.Uint32(data[at+24:]), id: data[at+40 : at+40+size], flags: at + 40 + size, more: -1}
		at = l.flags + 2
		flags := binary.BigEndian.Uint16(data[l.flags:])
		l.stage = int(flags >> 12 & 3)
		if flags&0x4000 != 0 {
			l.more = at
			l.unwanted, l.intended = data[at]&0x40 != 0, data[at]&0x20 != 0
			at += 2
		}
		if version == 4 {
			drop, n := varint(data[at:])
			at += n
			name = name[:len(name)-drop]
		} else {
			name = name[:0]
		}
		end := at + bytes.IndexByte(data[at:], 0)
		name = append(name, data[at:end]...)
		l.path = string(name)
		if at = end + 1; version != 4 {
			at = l.at + (end-l.at+8)&^7
		}
		all = append(all, l)
	}
	for at < len(data)-size {
		kind := string(data[at : at+4])
		partly = partly || kind == "link" || kind == "sdir"
		at += 8 + int(binary.BigEndian.Uint32(data[at+4:]))
	}
	return all, partly
}

// varint decodes the number before a path in an index of version 4.
func varint(data []byte) (value, n int) {
	c := data[0]
	value, n = int(c&0x7f), 1
	for c&0x80 != 0 {
		c = data[n]
		value = (value+1)<<7 | int(c&0x7f)
		n++
	}
	return value, n
}

// A joined is an index that was in several files, or had directories for entries,
// as git wrote it whole.
type joined struct{ from, whole []byte }

// join lets git write an index whole that is in several files or has directories
// for entries. Which file that was is remembered: most steps do not change it.
// What git would take for wanted because it is on disk it is not to look for:
// that may change while the index does not, and forget does it.
func (w *world) join(data []byte, written time.Time) ([]byte, error) {
	if bytes.Equal(data, w.joined.from) {
		return slices.Clone(w.joined.whole), nil
	}
	copied := filepath.Join(w.gitDir, "oracle-joined")
	defer os.Remove(copied)
	w.must(os.WriteFile(copied, data, 0o600))
	w.must(os.Chtimes(copied, written, written))
	if out, err := w.oracleGit(copied, "-c", "sparse.expectFilesOutsideOfPatterns=true", "update-index", "--no-split-index", "--force-write-index"); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	whole, err := os.ReadFile(copied)
	w.must(err)
	if _, partly := w.decode(whole); partly {
		w.fail("git did not write the index whole")
	}
	w.joined = joined{data, whole}
	return slices.Clone(whole), nil
}

// entries lists what the repository's index has, none if there is no index.
func (w *world) entries() ([]listed, error) {
	w.t.Helper()
	index := filepath.Join(w.gitDir, "index")
	data, err := os.ReadFile(index)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	w.must(err)
	all, partly := w.decode(data)
	if !partly {
		return all, nil
	}
	st, err := os.Stat(index)
	w.must(err)
	if data, err = w.join(data, st.ModTime()); err != nil {
		return nil, err
	}
	all, _ = w.decode(data)
	return all, nil
}

// partlyWhole returns a directory that the index has as a whole, and something in it; ""
// if there is none.
func (w *world) partlyWhole() string {
	data, err := os.ReadFile(filepath.Join(w.gitDir, "index"))
	if err != nil {
		return ""
	}
	all, _ := w.decode(data)
	for _, dir := range all {
		if dir.mode == 0o40000 && slices.ContainsFunc(all, func(l listed) bool { return l.path != dir.path && strings.HasPrefix(l.path, dir.path) }) {
			return dir.path
		}
	}
	return ""
}

// indexed is entries, where git can read what it wrote.
func (w *world) indexed() []listed {
	w.t.Helper()
	all, err := w.entries()
	if err != nil {
		w.endIfGitIsBroken()
		w.fail("the index: %v", err)
	}
	return all
}

// listIndex lists the entries of an index, none if there is no such file.
func (w *world) listIndex(index string) []listed {
	w.t.Helper()
	data, err := os.ReadFile(index)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w.must(err)
	all, partly := w.decode(data)
	if partly {
		w.fail("%s is not the whole index", index)
	}
	return all
}

func (w *world) newHash() hash.Hash {
	if w.kind.Format == "sha256" {
		return sha256.New()
	}
	return sha1.New()
}

// A removal is what is to be taken out of an index, and put in its place.
type removal struct {
	w     *world
	all   []listed // what is left
	lines strings.Builder
}

// stages are the entries of a path, and whether there are others below it.
func (r *removal) stages(p string) (at []listed, beside bool) {
	for _, l := range r.all {
		if l.path == p {
			at = append(at, l)
		} else if beneath(l.path, p) {
			beside = true
		}
	}
	return at, beside
}

// drop takes out what is at a path or below it, everywhere if that is ".", and
// fits.
func (r *removal) drop(p string, fits func(listed) bool) {
	r.all = slices.DeleteFunc(r.all, func(l listed) bool {
		if p != "." && !beneath(l.path, p) || !fits(l) {
			return false
		}
		fmt.Fprintf(&r.lines, "0 %s\t%s\x00", strings.Repeat("0", 2*r.w.hashSize()), l.path)
		return true
	})
}

// link puts a submodule at a path, where there is nothing else any more. What git has
// in the place of a directory above it goes, as it does when git add puts one there:
// one that fails in there leaves a repository around it in the index, and at times
// files below that too, of which git can write no tree.
func (r *removal) link(p string, id []byte) {
	for above := filepath.Dir(p); above != "." && r.w.onDisk(p); above = filepath.Dir(above) {
		r.drop(above, func(l listed) bool { return l.path == above })
	}
	for _, l := range r.all {
		if beneath(l.path, p) || beneath(p, l.path) {
			r.w.fail("%q of the index is in the way of the submodule %q", l.path, p)
		}
	}
	fmt.Fprintf(&r.lines, "160000 %x 0\t%s\x00", id, p)
	at, _ := slices.BinarySearchFunc(r.all, p, func(l listed, p string) int { return strings.Compare(l.path, p) })
	r.all = slices.Insert(r.all, at, listed{mode: 0o160000, id: id, path: p})
}

// apply lets git do it.
func (r *removal) apply(index string) {
	if r.lines.Len() == 0 {
		return
	}
	r.w.oracleInput = r.lines.String()
	out, err := r.w.oracleGit(index, "update-index", "-z", "--index-info")
	if r.w.oracleInput = ""; err != nil {
		r.w.fail("take out of the index: %v %s", err, out)
	}
}

// writeTree is git write-tree of an index, after what is to be taken out of it and
// the submodules that are to be put into it.
func (w *world) writeTree(index, recorded string, rest *removal, heads map[string]string) (string, error) {
	rest.apply(index)
	w.setLinks(index, heads)
	out, err := w.oracleGit(index, "write-tree")
	if err != nil {
		return out, err
	}
	tree := out[strings.LastIndexByte(out, '\n')+1:] // after warnings
	if tree != recorded {
		w.endIfGitKeepsAnotherTree(rest.all, recorded)
	}
	return tree, nil
}

// endIfGitKeepsAnotherTree ends a world in which git remembers in its index a tree
// that is not that of the entries, and writes that: 2.39 does, with an index that
// is split and sparse. From the entries alone it makes the tree that was recorded.
func (w *world) endIfGitKeepsAnotherTree(all []listed, recorded string) {
	w.t.Helper()
	fresh := filepath.Join(w.gitDir, "oracle-fresh")
	defer os.Remove(fresh)
	var lines strings.Builder
	for _, l := range all {
		if !l.intended {
			fmt.Fprintf(&lines, "%o %x %d\t%s\x00", l.mode, l.id, l.stage, l.path)
		}
	}
	w.oracleInput = lines.String()
	_, err := w.oracleGit(fresh, "update-index", "-z", "--index-info")
	if w.oracleInput = ""; err != nil {
		return
	}
	if out, err := w.oracleGit(fresh, "write-tree"); err == nil && out == recorded {
		w.t.Skipf("seed %d ends at step %d, for git keeps a tree in its index that is not that of the entries", w.seed, len(w.log))
	}
}

// unracy clears the stat data of a path in the copied index: where they are of the
// second in which the index was written git reads the file whenever it writes the
// index, also one that it was to leave out. It reports whether there were any.
func (w *world) unracy(index, p string) (cleared bool) {
	data, err := os.ReadFile(index)
	w.must(err)
	st, err := os.Stat(index)
	w.must(err)
	all, _ := w.decode(data)
	for _, l := range all {
		if at := data[l.at : l.at+16]; l.path == p && !bytes.Equal(at, make([]byte, 16)) {
			clear(at)
			cleared = true
		}
	}
	w.must(os.WriteFile(index, w.sealed(data), 0o600))
	w.must(os.Chtimes(index, st.ModTime(), st.ModTime()))
	return cleared
}

// sealed gives an index the hash at its end that fits.
func (w *world) sealed(data []byte) []byte {
	body, h := data[:len(data)-w.hashSize()], w.newHash()
	h.Write(body)
	return h.Sum(body)
}
