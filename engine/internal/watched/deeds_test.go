//go:build linux

package watched_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/engine"
)

func (w *world) name() string {
	parts := []string{"a", "b.o", "c.txt", "d", "e", "out", "d", "e"}
	rel := parts[w.r.IntN(len(parts))]
	for w.r.IntN(3) > 0 && strings.Count(rel, "/") < 3 {
		rel = parts[3+w.r.IntN(5)] + "/" + rel
	}
	return rel
}

// step does something; what cannot be done is not done.
func (w *world) step() {
	rel, other := w.name(), w.name()
	path, to := filepath.Join(w.dir, rel), filepath.Join(w.dir, other)
	kind := w.r.IntN(len(deeds))
	for w.r.IntN(3) == 0 { // what people do most
		kind = w.r.IntN(6)
	}
	w.done = append(w.done, fmt.Sprintf("%d %s %s", kind, rel, other))
	deeds[kind](w, path, to)
}

func (w *world) text() []byte { return []byte(fmt.Sprint(w.r.IntN(4), "\r\n")) }

// deeds are what can happen to a worktree.
var deeds = []func(w *world, path, to string){
	func(w *world, path, _ string) {
		os.MkdirAll(filepath.Dir(path), 0o777)
		os.WriteFile(path, w.text(), 0o644)
	},
	func(w *world, path, _ string) { os.WriteFile(path, w.text(), 0o644) },
	func(w *world, path, to string) { os.Rename(path, to) },
	func(w *world, path, to string) { os.Rename(w.above(path), w.above(to)) },
	func(w *world, path, _ string) { os.RemoveAll(path) },
	func(w *world, path, _ string) { os.MkdirAll(path, 0o777) },
	func(w *world, path, _ string) { os.Chmod(path, os.FileMode(0o700|w.r.IntN(0o100))) },
	func(w *world, path, to string) { os.Symlink(to, path) },
	func(w *world, path, to string) { os.Link(path, to) },
	func(w *world, path, _ string) { w.throughOtherName(path) },
	func(w *world, path, _ string) { w.mapped(path) },
	func(w *world, path, _ string) { os.Rename(w.above(path), filepath.Join(w.base, "outside", w.out())) },
	func(w *world, path, _ string) { os.Rename(filepath.Join(w.base, "outside", w.out()), path) },
	func(w *world, path, _ string) {
		w.rules(path, ".gitignore", []string{"*.o\n", "out\n", "d/*\n!d/e\n", ""}[w.r.IntN(4)])
	},
	func(w *world, path, _ string) {
		w.rules(path, ".gitattributes", []string{"* text\n", "*.txt -text\n", ""}[w.r.IntN(3)])
	},
	func(w *world, path, _ string) { w.run("git", "add", "-f", path) },
	func(w *world, path, _ string) { w.run("git", "add", "-A") },
	func(w *world, _, _ string) { w.run("git", "commit", "-qam", "x") },
	func(w *world, _, _ string) { w.run("git", "stash", "-q") },
	func(w *world, _, _ string) { w.run("git", "checkout", "-qf", "HEAD~1") },
	func(w *world, path, _ string) { w.run("git", "rm", "-rq", "--cached", path) },
	func(w *world, path, _ string) { w.run("git", "init", "-q", path) },
	func(w *world, path, _ string) { w.run("git", "-C", path, "commit", "-qm", "x", "--allow-empty") },
	func(w *world, path, _ string) { w.asNobody(path) },
	func(w *world, path, to string) { w.mount(path, to) },
	func(w *world, _, _ string) { w.unmount() },
	func(w *world, _, _ string) { w.tree.Doubt() },
	func(w *world, _, _ string) { w.restart() },
	func(w *world, path, to string) { w.storm(path, to) },
	func(w *world, path, to string) { w.swap(path, to) },
	func(w *world, path, _ string) { w.sameStat(path) },
	func(w *world, _, _ string) { w.hold() },
	func(w *world, _, _ string) { w.hold() },
	func(w *world, _, _ string) { w.letGo() },
}

// A held page is the first one of a file, which is mapped.
type held struct {
	bytes []byte
	since time.Time
}

// hold maps a file, and says so by a write, for the mapping alone is not told. It stores
// to it too: later stores to the page need not move the times. Where git's index takes in
// what was there before such a store, it is believed, as docs/limits.md has it.
func (w *world) hold() {
	if w.git {
		return
	}
	f, err := os.OpenFile(w.someFile(), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	w.held = append(w.held, held{page, time.Now()})
	f.WriteAt([]byte("h"), 0)
	w.store()
}

// someFile is a file of the worktree, if it has any.
func (w *world) someFile() string {
	var files []string
	filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case e.Name() == ".git" && e.IsDir():
			return fs.SkipDir
		case e.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		return ""
	}
	return files[w.r.IntN(len(files))]
}

// store stores to all pages that are held. What is held for long may be believed by a
// clock that is ahead, though the kernel has not written it back yet: that is let go.
func (w *world) store() {
	for _, h := range w.held {
		w.storeTo(h.bytes)
	}
	if len(w.held) > 0 && time.Since(w.held[0].since) > 20*time.Second {
		w.letGo()
	}
}

func (w *world) storeTo(page []byte) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		fault := recover() // if the file has no such page any more
		if _, ok := fault.(interface{ Addr() uintptr }); fault != nil && !ok {
			panic(fault)
		}
	}()
	page[0] = byte('0' + w.r.IntN(4))
}

// letGo ends all mappings.
func (w *world) letGo() {
	for _, h := range w.held {
		unix.Munmap(h.bytes)
	}
	w.held = nil
}

// above is the directory of a path, or the path where that is the worktree.
func (w *world) above(path string) string {
	if dir := filepath.Dir(path); dir != w.dir {
		return dir
	}
	return path
}

func (w *world) out() string { return []string{"p", "q"}[w.r.IntN(2)] }

func (w *world) rules(path, name, text string) {
	os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o644)
}

// throughOtherName writes a file through a name of it outside of the worktree.
func (w *world) throughOtherName(path string) {
	name := filepath.Join(w.base, "outside", "link")
	if w.r.IntN(2) == 0 {
		os.Remove(name)
		os.Link(path, name)
		w.audit() // which alone can know that there is another name now
		return
	}
	if f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0); err == nil {
		f.Write(w.text())
		f.Close()
	}
}

// mapped writes a file through memory.
func (w *world) mapped(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	if st, err := f.Stat(); err == nil && st.Size() > 0 {
		page[0] = byte('0' + w.r.IntN(4))
	}
	unix.Munmap(page)
}

// asNobody lets another user write.
func (w *world) asNobody(path string) {
	os.Chmod(path, 0o777)
	cmd := exec.Command("sh", "-c", `echo nobody >>"$0"; mkdir -p "$0/n"; mv "$0" "$0.moved"`, path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	_ = cmd.Run()
}

func (w *world) mount(path, to string) {
	_ = unix.Mount(path, to, "", unix.MS_BIND, "")
}

// unmount unmounts what was mounted in the world, wherever it was moved since.
func (w *world) unmount() {
	table, err := os.ReadFile("/proc/self/mountinfo")
	w.must(err)
	lines := strings.Split(string(table), "\n")
	slices.Reverse(lines) // what was mounted last lies on top
	for _, line := range lines {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], w.base+"/") {
			unix.Unmount(fields[4], unix.MNT_DETACH)
		}
	}
}

// restart is another process from here on; the first may have been killed.
func (w *world) restart() {
	if old := w.tree; w.r.IntN(2) == 0 {
		w.t.Cleanup(func() { old.Close() })
	} else {
		old.Close()
	}
	w.tree = &engine.Watch{}
	w.snapshot()
}

// storm changes things while a snapshot is taken.
func (w *world) storm(path, to string) {
	stop := make(chan struct{})
	ended := make(chan struct{})
	r := rand.New(rand.NewPCG(w.r.Uint64(), 3))
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.MkdirAll(filepath.Join(path, "s", fmt.Sprint(i%3)), 0o777)
			os.WriteFile(filepath.Join(path, "s", fmt.Sprint(r.IntN(3)), "f"), []byte(fmt.Sprint(i)), 0o644)
			os.Rename(path, to)
			os.Rename(filepath.Join(to, "s/1"), filepath.Join(to, "s/t"))
			os.RemoveAll(filepath.Join(to, "s/t"))
			path, to = to, path
		}
	}()
	for range 2 {
		if w.scans == nil { // see tick
			w.snapshot()
		}
	}
	close(stop)
	<-ended
}

// swap exchanges two paths.
func (w *world) swap(path, to string) {
	_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
}

// audit fails if it finds a change that was not told.
func (w *world) audit() {
	if missed := w.tree.Audit(); missed != "" {
		w.t.Errorf("after %q: %s", w.done, missed)
	}
}

// sameStat writes as many bytes, and puts the time back.
func (w *world) sameStat(path string) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() == 0 {
		return
	}
	os.WriteFile(path, []byte(strings.Repeat("z", int(st.Size()))), 0o644)
	os.Chtimes(path, st.ModTime(), st.ModTime())
}
