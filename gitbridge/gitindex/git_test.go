package gitindex

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A repo is a repository made by the git program.
type repo struct {
	*gittest.Repo
	alg oid.Algorithm
}

func newRepo(t *testing.T, alg oid.Algorithm) *repo { return &repo{gittest.Of(t, alg), alg} }

// fill writes files that make every kind of path order.
func (r *repo) fill() {
	for _, p := range []string{
		"a", "a-b/c", "a.b", "b/a/c/d", "b/a-/x", "b/a.c", "b/a0", "z", "\xff\xfe", "tab\there", "new\nline",
		"quote\"d", "über/größe", " lead", "trail ", "deep/" + strings.Repeat("d/", 60) + "f",
		"long" + strings.Repeat("x", 200), strings.Repeat("y", 250) + "/" + strings.Repeat("z", 250),
		strings.Repeat(strings.Repeat("p", 200)+"/", 25)[:3800] + "/end",
	} {
		if gittest.Nameable(p) {
			r.Write(p, "content of "+p)
		}
	}
	for i := range 300 {
		r.Write(fmt.Sprintf("many/%02d/f%d", i%17, i), strconv.Itoa(i%40))
	}
	r.Write("empty", "")
	r.Write("exec", "#!/bin/sh\n")
	if err := os.Chmod(r.Path("exec"), 0o755); err != nil {
		r.T.Fatal(err)
	}
	if gittest.HasLinks() {
		if err := os.Symlink("nowhere", r.Path("link")); err != nil {
			r.T.Fatal(err)
		}
	}
}

// list gives an index in the words of `git ls-files`, directories of a sparse
// index included, in the order of the index.
func list(x *Index) (out []string) {
	var dir func(path string)
	dir = func(path string) {
		d := x.Dir(path)
		if d == nil {
			panic("no directory " + path)
		}
		if !d.Sparse.IsZero() {
			out = append(out, fmt.Sprintf("%s\x00S 040000 %v 0", path, d.Sparse))
			return
		}
		prefix := path
		if path != "" {
			prefix += "/"
		}
		for i := range d.Entries {
			out = append(out, prefix+d.Entries[i].Name+"\x00"+line(&d.Entries[i]))
		}
		for _, name := range d.Dirs {
			dir(prefix + name)
		}
	}
	if x.Len() > 0 {
		dir("")
	}
	return out
}

func line(e *Entry) string {
	tag := "H"
	switch {
	case e.Stage > 0:
		tag = "M"
	case e.Flags&SkipWorktree != 0:
		tag = "S"
	}
	s := e.Stat
	flags := 0
	if e.Flags&SkipWorktree != 0 {
		flags |= 0x40000000
	}
	if e.Flags&IntentToAdd != 0 {
		flags |= 0x20000000
	}
	flags |= int(e.Stage) << 12
	return fmt.Sprintf("%s %06o %v %d ctime %d:%d mtime %d:%d dev %d ino %d uid %d gid %d size %d flags %x",
		tag, e.Mode, e.ID, e.Stage, s.Ctime/1e9, s.Ctime%1e9, s.Mtime/1e9, s.Mtime%1e9, s.Dev, s.Ino, s.UID, s.GID, s.Size, flags)
}

// gitList asks git for the same. With -z each entry is a NUL-terminated head
// and six lines of --debug.
func (r *repo) gitList(sparse bool) map[string]string {
	args := []string{"ls-files", "-s", "-v", "-z", "--debug"}
	if sparse {
		args = append(args, "--sparse")
	}
	out := map[string]string{}
	rest, err := r.Ask("", args...)
	if err != nil {
		r.T.Fatal(err)
	}
	for rest != "" {
		head, after, ok := strings.Cut(rest, "\x00")
		if !ok {
			r.T.Fatalf("git ls-files: %q", rest)
		}
		meta, path, _ := strings.Cut(head, "\t")
		var debug []string
		for range 5 {
			var l string
			l, after, _ = strings.Cut(after, "\n")
			debug = append(debug, l)
		}
		rest = after
		f := strings.NewReplacer(": ", " ", "\t", " ").Replace(strings.Join(debug, " "))
		f = strings.Join(strings.Fields(f), " ")
		stage := meta[len(meta)-1:]
		out[path+"\x00"+stage] = meta + " " + f
	}
	return out
}

// normal drops the bits of flags that git keeps only in memory, and that of what is to
// count as unchanged.
func normal(s string) string {
	head, hex, ok := strings.Cut(s, " flags ")
	if !ok {
		return s
	}
	v, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return s
	}
	return fmt.Sprintf("%s flags %x", strings.ToUpper(head[:1])+head[1:], v&0x60003000)
}

// find returns the entries of a name: none, one, or the stages of an unmerged
// path.
func (d *Directory) find(name string) (out []Entry) {
	for _, e := range d.Entries {
		if e.Name == name {
			out = append(out, e)
		}
	}
	return out
}
