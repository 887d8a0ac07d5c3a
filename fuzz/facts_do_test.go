//go:build linux

package fuzz

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// doings are the steps that change something. What "settle" waits for is that everything
// is old enough to be believed; a "turn" is that and a snapshot.
var doings = map[string]doing{
	"world":    func(*player, []string) {}, // it was made
	"unwanted": func(p *player, _ []string) { p.unwanted = true },
	"nested":   func(p *player, _ []string) { p.world.nested = true },

	"write":    func(p *player, a []string) { p.write(a[0], a[1]) },
	"scribble": func(p *player, a []string) { p.write(a[0], p.world.content()) },
	"link":     func(p *player, a []string) { p.must(os.Symlink(a[0], p.path(a[1]))) },
	"mkdir":    func(p *player, a []string) { p.must(os.MkdirAll(p.path(a[0]), 0o755)) },
	"remove":   func(p *player, a []string) { p.must(os.RemoveAll(p.path(a[0]))) },
	"move":     func(p *player, a []string) { p.must(os.Rename(p.path(a[0]), p.path(a[1]))) },
	"copy":     func(p *player, a []string) { p.copyTree(a[0], a[1]) },
	"chmod":    func(p *player, a []string) { p.must(os.Chmod(p.path(a[1]), mode(a[0]))) },
	"pipe": func(p *player, a []string) {
		p.must(os.Remove(p.path(a[0])))
		p.must(syscall.Mkfifo(p.path(a[0]), 0o644))
	},
	"age":      func(p *player, a []string) { p.age(a[0]) },
	"aged":     func(p *player, a []string) { p.aged(a[0]) },
	"write-at": func(p *player, a []string) { p.moment = p.writeAt(a[1], a[2], duration(a[0])) },
	"changed": func(p *player, a []string) {
		st, err := os.Lstat(p.path(a[0]))
		p.must(err)
		p.moment = time.Unix(st.Sys().(*syscall.Stat_t).Ctim.Unix())
	},
	"index-time":    func(p *player, a []string) { p.indexTime(a[0]) },
	"exclude":       func(p *player, a []string) { p.outsideIgnore(a[0]) },
	"rules-changed": func(p *player, _ []string) { p.outside++ },

	"index":   func(p *player, a []string) { p.index(a[0], a[1], a[2], a[3]) },
	"inside":  func(p *player, a []string) { p.inside(a[0]) },
	"partial": func(p *player, a []string) { p.partial(a...) },
	"config": func(p *player, a []string) {
		p.git(append([]string{"config"}, a...)...)
		p.reopen()
	},
	"filter": func(p *player, a []string) {
		command, err := filterCommand()
		p.must(err)
		p.git("config", "filter."+a[0]+".process", command)
		p.reopen()
	},
	"committed": func(p *player, a []string) {
		p.write(a[0], a[1])
		p.age(a[0])
		p.settle()
		p.git("add", "-A")
		p.settle()
	},
	"submodule":    func(p *player, _ []string) { p.submodule() },
	"lose":         func(p *player, a []string) { p.must(os.Remove(filepath.Join(p.common, "objects", a[0][:2], a[0][2:]))) },
	"lose-pack-of": func(p *player, a []string) { p.removePackOf(p.git("rev-parse", a[0])) },

	"settle":      func(p *player, _ []string) { p.settle() },
	"sleep":       func(_ *player, a []string) { time.Sleep(duration(a[0])) },
	"sleep-until": func(p *player, a []string) { time.Sleep(time.Until(p.moment.Add(duration(a[0])))) },
	"reopen":      func(p *player, _ []string) { p.reopen() },
	"only-if-whole": func(p *player, _ []string) {
		if p.partlyWhole() == "" {
			p.world.t.Skip("SKIPPED: this git makes no such index")
		}
	},

	"check":  func(p *player, _ []string) { p.check() },
	"record": func(p *player, _ []string) { p.record() },
	"keep":   func(p *player, _ []string) { p.keep() },
	"turn":   func(p *player, _ []string) { p.settle(); p.keep() },
	"turns": func(p *player, _ []string) {
		for range 2 {
			p.settle()
			p.keep()
		}
	},
	"snapshot": func(p *player, _ []string) {
		r, err := p.long.Snapshot(p.t.Context(), nil)
		p.must(err)
		p.last = r
	},
	"examine": func(p *player, _ []string) { p.examine(p.long, p.last.Snapshot) },
	"held":    func(p *player, a []string) { p.held(a[0]) },
	"as":      func(p *player, a []string) { p.kept[a[0]] = p.newest() },
	"finish":  func(p *player, _ []string) { p.finish() },

	"travel":  func(p *player, a []string) { p.travelTo(a) },
	"restore": func(p *player, a []string) { p.do(engine.Op{To: p.kept[a[0]].snap.ID, Paths: a[1:]}) },
	"undo": func(p *player, _ []string) {
		if p.restored == nil || !p.restored.Undo.IsZero() { // else nothing had to change: that is no step
			p.do(engine.Op{Verb: engine.Undo})
		}
	},
	"redo": func(p *player, _ []string) { p.do(engine.Op{Verb: engine.Redo}) },
}

// givings are the steps that give something, for "set" to keep.
var givings = map[string]func(p *player, args []string) string{
	"git":     func(p *player, a []string) string { return p.git(a...) },
	"git-in":  func(p *player, a []string) string { return p.inRepository(a[0], a[1:]) },
	"id":      func(_ *player, a []string) string { return a[0] },
	"blob-of": func(p *player, a []string) string { return p.blob(a[0]) },
	"repeated": func(p *player, a []string) string {
		n, err := strconv.Atoi(a[1])
		p.must(err)
		return strings.Repeat(a[0], n)
	},
}

// needs skips a fact where something is not to be had.
func needs(t *testing.T, all []string) {
	t.Helper()
	for _, what := range all {
		_, missing := exec.LookPath(what)
		switch {
		case what == "permissions" && os.Geteuid() == 0:
			t.Skip("NOT TESTED: what cannot be read, for root can read everything")
		case what != "permissions" && missing != nil:
			t.Skipf("SKIPPED: the program %s is missing", what)
		}
	}
}

func mode(text string) os.FileMode {
	n, _ := strconv.ParseUint(text, 8, 12)
	return os.FileMode(n)
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// index puts a path into the index, at some stages. Its id is that of a text, one for each
// stage, or given. Without a mode there is nothing to be put there.
func (p *player) index(mode, id, stages, path string) {
	p.t.Helper()
	if mode == "" {
		return
	}
	if text, is := strings.CutPrefix(id, "text:"); is {
		blob, err := p.tryGit(text, "hash-object", "-w", "--stdin")
		p.must(err)
		id = blob
	}
	for _, stage := range stages {
		of := id
		if id == "stage" {
			of = strings.Repeat("1"+string(stage), 20)
		}
		if out, err := p.tryGit(mode+" "+of+" "+string(stage)+"\t"+path+"\x00", "update-index", "-z", "--index-info"); err != nil {
			p.fail("%v %s", err, out)
		}
	}
}

// inRepository runs git in the repository of a directory, whatever its settings say.
func (p *player) inRepository(dir string, args []string) string {
	p.t.Helper()
	out, err := p.gitIn(dir, args...)
	if err != nil {
		p.fail("%v %s", err, out)
	}
	return out
}

// do carries out an operation.
func (p *player) do(op engine.Op) {
	p.t.Helper()
	r, err := p.long.Do(p.t.Context(), op)
	p.must(err)
	p.restored = r
}

// aged gives a file a time that is long ago, and always the same.
func (p *player) aged(path string) {
	if p.moment.IsZero() {
		p.moment = time.Now().Add(-time.Hour)
	}
	p.must(os.Chtimes(p.path(path), p.moment, p.moment))
}

// indexTime gives the index a time, as if git had just written it: so long after the
// moment, or later than all that is on disk, or before it.
func (p *player) indexTime(when string) {
	at := map[string]time.Time{"later": time.Now().Add(3 * time.Second), "before": time.Now().Add(-time.Hour)}[when]
	if at.IsZero() {
		at = p.moment.Add(duration(when))
	}
	p.touchIndex(at)
}

// held keeps the last snapshot, which is whole in git, without asking git what its tree
// should be: in a partial clone that would fetch.
func (p *player) held(name string) {
	p.t.Helper()
	if p.last.Bridge != nil || len(p.last.Skipped) > 0 {
		p.fail("bridge %v, skipped %v", p.last.Bridge, p.last.Skipped)
	}
	got := p.export(p.long, p.last.Snapshot)
	p.kept[name] = taken{p.last.Snapshot, got, p.world.ignored(got), p.outside}
	p.taken = append(p.taken, p.kept[name])
}

// submodule adds a real submodule, whose git directory lies in the outer one. It tracks
// out/x, although the outer rules ignore out.
func (p *player) submodule() {
	p.world.nested = true
	p.git("config", "--global", "protocol.file.allow", "always")
	lib := filepath.Join(p.dir, "lib")
	p.git("init", "-q", lib)
	p.write("../lib/f", "f")
	p.write("../lib/out/x", "out/x")
	p.git("-C", lib, "add", "-A")
	p.git("-C", lib, "commit", "-qm", "lib")
	p.write(".gitignore", "out/\n")
	p.write("g", "1")
	p.git("submodule", "-q", "add", lib, "sub")
	p.git("add", "-A")
	p.git("commit", "-qm", "all")
}

// touchIndex gives the index a time, as if git had just written it.
func (w *world) touchIndex(at time.Time) {
	w.must(os.Chtimes(filepath.Join(w.gitDir, "index"), at, at))
}

// writeAt writes a file so long after a second begins, or before, and returns
// the second.
func (w *world) writeAt(file, data string, offset time.Duration) time.Time {
	for {
		second := time.Now().Add(time.Second - offset).Truncate(time.Second).Add(time.Second)
		time.Sleep(time.Until(second.Add(offset)))
		w.write(file, data)
		st, err := os.Lstat(w.path(file))
		w.must(err)
		if st.ModTime().Before(second) == (offset < 0) && st.ModTime().Sub(second).Abs() < 200*time.Millisecond {
			return second
		}
	}
}

// age gives a file an mtime that it has not had.
func (w *world) age(name string) {
	at := time.Now().Add(-time.Duration(1+w.rng.IntN(1e6)) * time.Second)
	w.must(os.Chtimes(w.path(name), at, at))
}

// partial makes of a plain world a partial clone with a sparse checkout, of which all of d and
// far/away were never fetched.
func (w *world) partial(options ...string) {
	w.unwanted = true
	lib := filepath.Join(w.dir, "lib")
	w.git("init", "-q", "-b", "main", lib)
	for name, text := range map[string]string{"f": "1", "d/e/g": "2", "d/h": "3", "far/away/i": "4", "far/j": "5", "near/k": "6", "near/same": "3"} {
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(lib, name)), 0o755))
		w.must(os.WriteFile(filepath.Join(lib, name), []byte(text), 0o644))
	}
	w.git("-C", lib, "config", "uploadpack.allowFilter", "true")
	w.git("-C", lib, "add", "-A")
	w.git("-C", lib, "commit", "-qm", "one")
	w.git("-C", lib, "checkout", "-q", "-b", "other")
	w.must(os.WriteFile(filepath.Join(lib, "d", "h"), []byte("of the other branch"), 0o644))
	w.git("-C", lib, "commit", "-qam", "two")
	w.must(w.long.Close())
	w.must(os.RemoveAll(w.root))
	w.must(os.Mkdir(w.root, 0o755))
	w.git(append([]string{"clone", "-q", "--sparse", "--branch=main"}, append(options, "file://"+lib, ".")...)...)
	w.git("sparse-checkout", "set", "near")
	w.git("config", "gc.auto", "0")
	w.long = w.open()
}

// removePackOf makes git lose an object.
func (w *world) removePackOf(id string) {
	w.t.Helper()
	packs, err := filepath.Glob(filepath.Join(w.common, "objects", "pack", "*.idx"))
	w.must(err)
	for _, idx := range packs {
		if strings.Contains(w.git("verify-pack", "-v", idx), id) {
			for _, end := range []string{".idx", ".pack", ".promisor", ".rev"} {
				_ = os.Remove(strings.TrimSuffix(idx, ".idx") + end)
			}
			return
		}
	}
	w.fail("%s is in no pack", id)
}
