package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A mess changes a worktree at random, into what a snapshot can hold and git's tree need not be as.
type mess struct {
	*place
	rnd   *rand.Rand
	isGit bool
}

var messNames = []string{"a", "b", "a.txt", "A", "x y", "q\"uote", "back\\slash", "new\nline", "tab\t", "bad\xff", "\u2028sep", "ü", "u\u0308", "<&>", "d0", "tree", "overlay", "f1", "state", "x.o", ".env", "crlf.txt", "\ufffd", "\x01", "😀", "-", "a-b", "\u202e"}

func (m *mess) name() string { return messNames[m.rnd.IntN(len(messNames))] }

// dirs are those below the root that are there, which is one of them.
func (m *mess) dirs() (all []string) {
	_ = filepath.WalkDir(m.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if e.Name() == ".git" {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			all = append(all, path)
		}
		return nil
	})
	return all
}

func (m *mess) somewhere() string {
	all := m.dirs()
	return all[m.rnd.IntN(len(all))]
}

// some is an entry that is there, not git's.
func (m *mess) some() string {
	for range 10 {
		dir := m.somewhere()
		list, err := os.ReadDir(dir)
		if err != nil || len(list) == 0 {
			continue
		}
		if e := list[m.rnd.IntN(len(list))]; e.Name() != ".git" && e.Name() != ".gitattributes" && e.Name() != "file" {
			return filepath.Join(dir, e.Name())
		}
	}
	return ""
}

func (m *mess) text() string {
	switch m.rnd.IntN(6) {
	case 0:
		return ""
	case 1:
		return "one\r\ntwo\r\n"
	case 2:
		return strings.Repeat(fmt.Sprintf("%d\n", m.rnd.Uint64()), 1+m.rnd.IntN(40_000))
	}
	return fmt.Sprintf("%d\n", m.rnd.IntN(20))
}

func (m *mess) tracked() string {
	out, err := m.tryGit("ls-files", "-z")
	list := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	if err != nil || list[0] == "" {
		return ""
	}
	return list[m.rnd.IntN(len(list))]
}

// inFiles and inGit each change one thing, at a path or somewhere. What cannot be done is left. No link that they make
// leads out of the folders of the test: what is written through one lies where it leads.
var inFiles = []func(m *mess, at string){
	func(m *mess, at string) {
		_ = os.WriteFile(at, []byte(m.text()), []os.FileMode{0o644, 0o755, 0o600, 0o444, 0o711, 0o606}[m.rnd.IntN(6)])
	},
	func(m *mess, at string) {
		_ = os.Mkdir(at, []os.FileMode{0o755, 0o700, 0o777, 0o750}[m.rnd.IntN(4)])
	},
	func(m *mess, at string) {
		_ = os.MkdirAll(filepath.Join(at, m.name(), m.name()), 0o755)
		_ = os.WriteFile(filepath.Join(at, m.name()), []byte(m.text()), 0o644)
	},
	func(m *mess, at string) {
		_ = os.Symlink([]string{"a", "../b", "odd \xff", filepath.Join(filepath.Dir(m.dir), "nowhere"), "ü"}[m.rnd.IntN(5)], at)
	},
	func(m *mess, at string) {
		if path := m.some(); path != "" {
			_ = os.RemoveAll(path)
		}
	},
	// a file where a directory was, or the other way
	func(m *mess, at string) {
		if path := m.some(); path != "" {
			st, err := os.Lstat(path)
			_ = os.RemoveAll(path)
			if err == nil && st.IsDir() {
				_ = os.WriteFile(path, []byte(m.text()), 0o644)
			} else {
				_ = os.MkdirAll(filepath.Join(path, m.name()), 0o755)
				_ = os.WriteFile(filepath.Join(path, m.name()), []byte(m.text()), 0o644)
			}
		}
	},
	func(m *mess, at string) {
		if path := m.some(); path != "" {
			if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSymlink == 0 {
				mode := []os.FileMode{0o755, 0o644, 0o700, 0o775, 0o755 | os.ModeSetuid, 0o755 | os.ModeSetgid, 0o755 | os.ModeSticky, 0o601 | 0o100}[m.rnd.IntN(8)]
				if st.IsDir() {
					mode |= 0o700
				}
				_ = os.Chmod(path, mode)
			}
		}
	},
	func(m *mess, at string) {
		if path := m.some(); path != "" {
			_ = os.Rename(path, at)
		}
	},
	// a directory like another one
	func(m *mess, at string) {
		if path := m.some(); path != "" {
			_ = exec.Command("cp", "-a", path, at).Run()
		}
	},
	func(m *mess, at string) {
		_ = os.WriteFile(filepath.Join(m.dir, ".gitignore"), []byte([]string{"*.o\n.env\n", "b\n", "", "d0/\n*.txt\n"}[m.rnd.IntN(4)]), 0o644)
	},
}

var inGit = []func(m *mess, at string){
	func(m *mess, at string) {
		_, _ = m.tryGit("add", "-A")
	},
	func(m *mess, at string) {
		_, _ = m.tryGit("add", "-A")
		_, _ = m.tryGit("commit", "-qm", "x")
	},
	func(m *mess, at string) {
		if path := m.tracked(); path != "" {
			_, _ = m.tryGit("update-index", "--skip-worktree", path)
			if m.rnd.IntN(3) > 0 {
				_ = os.RemoveAll(filepath.Join(m.dir, path))
			}
			if m.rnd.IntN(4) == 0 { // a directory where git's tree has a file that is not wanted here
				_ = os.MkdirAll(filepath.Join(m.dir, path, "in"), 0o755)
				_ = os.WriteFile(filepath.Join(m.dir, path, "in", "f"), []byte("x"), 0o644)
			}
		}
	},
	// all of a directory is not wanted here, and perhaps a file is in its place
	func(m *mess, at string) {
		if path := m.tracked(); strings.Contains(path, "/") {
			dir := path[:strings.LastIndexByte(path, '/')]
			out, _ := m.tryGit("ls-files", "-z", "--", dir)
			for _, f := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
				_, _ = m.tryGit("update-index", "--skip-worktree", f)
			}
			_ = os.RemoveAll(filepath.Join(m.dir, dir))
			switch m.rnd.IntN(3) {
			case 0:
				_ = os.WriteFile(filepath.Join(m.dir, dir), []byte("a file\n"), 0o644)
			case 1:
				_ = os.Symlink("b", filepath.Join(m.dir, dir))
			}
		}
	},
	func(m *mess, at string) {
		if path := m.tracked(); path != "" {
			_, _ = m.tryGit("update-index", "--assume-unchanged", path)
			_ = os.WriteFile(filepath.Join(m.dir, path), []byte(m.text()), 0o644)
		}
	},
	func(m *mess, at string) {
		_ = os.WriteFile(at, []byte(m.text()), 0o644)
		_, _ = m.tryGit("add", "-N", at)
	},
	// a repository below, perhaps a submodule
	func(m *mess, at string) {
		if os.MkdirAll(at, 0o755) == nil {
			_ = os.WriteFile(filepath.Join(at, "f"), []byte(m.text()), 0o644)
			_, _ = m.tryGit("init", "-q", at)
			_, _ = m.tryGit("-C", at, "add", "-A")
			if m.rnd.IntN(3) > 0 {
				_, _ = m.tryGit("-C", at, "commit", "-qm", "x")
			}
			if m.rnd.IntN(2) == 0 {
				_, _ = m.tryGit("add", at)
			}
		}
	},
	func(m *mess, at string) {
		_ = os.WriteFile(filepath.Join(m.dir, ".gitattributes"), []byte([]string{"* text=auto\n", "*.txt text eol=crlf\n", "", "a binary\n*.txt ident\n"}[m.rnd.IntN(4)]), 0o644)
	},
	func(m *mess, at string) {
		_, _ = m.tryGit("config", "core.fileMode", []string{"true", "false"}[m.rnd.IntN(2)])
	},
	func(m *mess, at string) {
		_, _ = m.tryGit("config", "core.autocrlf", []string{"true", "false", "input"}[m.rnd.IntN(3)])
	},
	// a gitlink whose directory is not there, or empty
	func(m *mess, at string) {
		_, _ = m.tryGit("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("12", 20)+strings.Repeat("12", 12*m.wide())+",link"+m.name()[:1])
	},
	func(m *mess, at string) {
		_, _ = m.tryGit("config", "core.symlinks", []string{"true", "false"}[m.rnd.IntN(2)])
	},
}

// change makes one change, most often to a file, and says which.
func (m *mess) change() string {
	at, which := filepath.Join(m.somewhere(), m.name()), inFiles
	if m.isGit && m.rnd.IntN(2) == 0 {
		which = inGit
	}
	n := m.rnd.IntN(len(which) + 2)
	if n >= len(which) {
		n, which = 0, inFiles
	}
	which[n](m, at)
	return fmt.Sprint(len(which), ":", n, " ", at)
}

func (m *mess) wide() int {
	out, _ := m.tryGit("rev-parse", "--show-object-format")
	if out == "sha256" {
		return 1
	}
	return 0
}

func TestRandomWorktreesComeBackFromARemote(t *testing.T) {
	first := seed.Of(t)
	for n := range uint64(seed.Times(3)) {
		t.Run(fmt.Sprint(first+n), func(t *testing.T) { randomRemote(t, first+n) })
	}
}

// A recorded is a snapshot, and the files that its store makes of it.
type recorded struct {
	id    ID
	shown map[string]string
}

// turn changes some things, records them, and perhaps pushes them, or prunes what is there.
func (m *mess) turn(e *Engine, remote away.Remote, i int) (recorded, []string) {
	var log []string
	for range 2 + m.rnd.IntN(14) {
		log = append(log, m.change())
	}
	m.must(errors.Join(os.RemoveAll(filepath.Join(m.dir, "file")), os.WriteFile(filepath.Join(m.dir, "file"), fmt.Append(nil, i), 0o644)))
	r, err := e.Snapshot(context.Background(), nil)
	if err != nil || r.Bridge != nil {
		m.t.Fatalf("%v\n%q", err, log)
	}
	full, err := e.Find(context.Background(), r.ID.String())
	m.must(err)
	plain := filepath.Join(m.t.TempDir(), "plain")
	_, err = e.Export(context.Background(), full, plain)
	m.must(err)
	if known, _ := filepath.Glob(filepath.Join(e.dir, "remotes", "*", "known")); len(known) > 0 && m.rnd.IntN(8) == 0 { // it is a cache
		m.must(os.Remove(known[0]))
	}
	if m.rnd.IntN(2) == 0 {
		m.pushed(e, remote)
	}
	if m.rnd.IntN(8) == 0 {
		s, err := e.Remotes().Open(context.Background(), remote, remotePassword)
		m.must(err)
		_, err = e.Remotes().Prune(context.Background(), s, &away.Limits{Options: &PruneOptions{}})
		m.must(errors.Join(err, s.Close()))
	}
	return recorded{r.ID, m.shown(plain)}, append(log, "SNAPSHOT")
}

func (m *mess) pushed(e *Engine, remote away.Remote) {
	if out := m.mustPush(e, remote); len(out.Left) > 0 {
		m.t.Fatalf("%+v", out)
	}
}

func randomRemote(t *testing.T, s uint64) {
	rnd := rand.New(rand.NewPCG(s, 7))
	isGit := rnd.IntN(4) > 0
	p := newPlace(t, isGit && rnd.IntN(4) > 0)
	m := &mess{p, rnd, isGit}
	if isGit && !p.exists(".git") {
		p.git("init", "-q", "--object-format=sha256", "-b", "main")
	}
	atHome := rnd.IntN(5) == 0
	if atHome {
		p.env["REWIND_REMOTE_SECRETS"] = "false"
	}
	e := p.open()
	remote := p.newRemote(e)
	var all []recorded
	var log []string
	for i := range 2 + rnd.IntN(4) {
		one, did := m.turn(e, remote, i)
		all, log = append(all, one), append(log, did...)
	}
	m.pushed(e, remote)
	p.distant(e, remote)
	if atHome { // under other ids, without some files
		all = []recorded{{}}
	}
	for i, want := range all {
		there, name := newPlace(t, false), ""
		if !want.id.IsZero() {
			name = want.id.String()
		}
		dir := filepath.Join(there.dir, "new")
		r, err := resumed(there, dir, remote.URL, name)
		if err != nil || len(r.Fetched.Left) > 0 {
			t.Fatalf("snapshot %d: %+v %v\n%q", i, r, err, log)
		}
		if name == "" {
			break
		}
		if r.Snapshot.ID != want.id || slices.ContainsFunc(r.Written.Conflicts, func(n Note) bool { return !strings.Contains(n.Reason, "setuid") }) {
			t.Errorf("snapshot %d: %v, want %v; %+v", i, r.Snapshot.ID, want.id, r.Written)
		}
		there.wantShown(dir, want.shown)
		if t.Failed() {
			t.Fatalf("%q", log)
		}
	}
	p.restic(remote, "check", "--read-data")
}
