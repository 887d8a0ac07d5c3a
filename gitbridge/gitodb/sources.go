package gitodb

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/cquote"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// alternateDepthMax is how far git follows alternates of alternates.
const alternateDepthMax = 5

// alternateBytesMax bounds a file that names a few directories.
const alternateBytesMax = 1 << 20

// all returns the objects directories, the repository's own first. Alternates
// are read once, at the first question; git too never looks at them again.
func (d *DB) all() []*source {
	d.load.Do(func() {
		d.addSource(d.dir, 0, map[string]bool{})
		for _, s := range d.taken { // of directories that are no longer used
			_ = s.close()
		}
		d.taken = nil
	})
	return d.sources
}

// addSource adds a directory and those that it names, each once. A directory is known
// by its place without links: a link to the directory in which it lies gives that one
// ever new names: forty such links give it a hundred million within five levels.
func (d *DB) addSource(dir string, depth int, seen map[string]bool) {
	dir = filepath.Clean(dir)
	if st, err := os.Stat(dir); depth > 0 && (err != nil || !st.IsDir()) {
		return
	}
	if depth > 0 {
		real := realPath(dir)
		if seen[real] {
			return
		}
		seen[real] = true
	}
	s := d.taken[dir]
	if s == nil {
		s = &source{dir: dir, alg: d.alg}
	} else {
		s.refresh(true)
	}
	d.sources = append(d.sources, s)
	delete(d.taken, dir)
	text, err := regular.Read(filepath.Join(dir, "info", "alternates"), alternateBytesMax)
	if err != nil || depth == alternateDepthMax {
		return
	}
	if depth == 0 { // only here, so that a repository without alternates is not asked
		seen[realPath(dir)] = true
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if path := alternate(string(line)); path != "" {
			d.addSource(gitconf.Inside(dir, path), depth+1, seen)
		}
	}
}

// realPath returns a directory's path without links, or the path as it is where that
// cannot be told.
func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// alternate returns the directory that a line of info/alternates names, or ""
// for an empty line and a comment.
func alternate(line string) string {
	if line == "" || line[0] == '#' {
		return ""
	}
	if path, rest, ok := cquote.Cut(line); ok && rest == "" {
		return path
	}
	return line
}

// A directory's mtime must be so much older than its listing for a later change
// to be sure to give another one. Where file systems keep fractions of a second
// the kernel's clock for them ticks every 10 ms at the slowest; of the others FAT
// is the coarsest, with two seconds.
const (
	settleFine   = 100 * time.Millisecond
	settleCoarse = 2 * time.Second
)

// settled reports whether a directory with an mtime will have another one after
// the next change. The zero time is that of none.
func settled(mtime time.Time) bool {
	wait := settleFine
	if mtime.Nanosecond() == 0 {
		wait = settleCoarse
	}
	return mtime.IsZero() || time.Since(mtime) > wait
}

// refresh lists the packs anew if their directory may have changed, or in any case.
// Packs that are still there are kept as they are. After a listing that failed, the next
// question lists again.
func (s *source) refresh(anyhow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.dir, "pack")
	old := s.packs.Load()
	var mtime time.Time // zero: there is no such directory
	if st, err := os.Stat(dir); err == nil {
		mtime = st.ModTime()
	}
	if old != nil && !anyhow && s.settled && mtime.Equal(s.mtime) {
		return
	}
	paths, err := packPaths(dir)
	s.mtime, s.settled, s.unlisted = mtime, err == nil && settled(mtime), err
	if err != nil && old != nil {
		return // what was there may be there still
	}
	known := map[string]*pack{}
	if old != nil {
		for _, p := range *old {
			known[p.path] = p
		}
	}
	list := []*pack{}
	for _, path := range paths {
		p := known[path.name]
		if p == nil || p.gone.Load() || anyhow && !p.isStill() {
			p = &pack{path: path.name, alg: s.alg, cruft: path.cruft}
		} else {
			delete(known, path.name)
		}
		list = append(list, p)
	}
	for _, p := range known {
		p.gone.Store(true)
		s.retired = append(s.retired, p)
	}
	if old == nil || !slices.Equal(list, *old) {
		s.packs.Store(&list)
	}
	if r := s.recent.Load(); r != nil && r.gone.Load() {
		s.recent.Store(nil)
	}
}

// A packPath is a pack's path without the extension.
type packPath struct {
	name  string
	cruft bool // holds unreachable objects, with ages of their own
}

// packPaths lists the packs of a directory that have both their files. What could be read
// is returned with an error too. A directory that is not there has none.
func packPaths(dir string) ([]packPath, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name()
	}
	has := func(name string) bool {
		_, ok := slices.BinarySearch(names, name)
		return ok
	}
	var out []packPath
	for _, name := range names {
		base, ok := strings.CutSuffix(name, ".idx")
		if ok && has(base+".pack") {
			out = append(out, packPath{filepath.Join(dir, base), has(base + ".mtimes")})
		}
	}
	return out, err
}

// loose returns the path of an object's own file.
func (s *source) loose(id oid.ID) string { return loosePath(s.dir, id) }

func loosePath(dir string, id oid.ID) string {
	h := id.String()
	return dir + string(filepath.Separator) + h[:2] + string(filepath.Separator) + h[2:]
}
