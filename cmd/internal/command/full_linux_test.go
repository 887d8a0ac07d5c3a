package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A disk is a file system of its own, in memory.
type disk struct {
	t  *testing.T
	at string
}

// newDisk mounts one.
func newDisk(t *testing.T, size string) disk {
	t.Helper()
	at := t.TempDir()
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED: cannot mount, so a full disk is not tested: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	return disk{t, at}
}

// resize makes room, or takes it.
func (d disk) resize(size int64) {
	d.t.Helper()
	if err := syscall.Mount("tmpfs", d.at, "tmpfs", syscall.MS_REMOUNT, fmt.Sprint("size=", size)); err != nil {
		d.t.Fatal(err)
	}
}

func (d disk) space() (free, used int64) {
	d.t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(d.at, &fs); err != nil {
		d.t.Fatal(err)
	}
	return int64(fs.Bavail) * fs.Bsize, int64(fs.Blocks-fs.Bfree) * fs.Bsize
}

// noise writes a file that does not compress.
func noise(t *testing.T, name string, n int64) {
	t.Helper()
	p := make([]byte, n)
	_, _ = rand.Read(p)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, p, 0o666)); err != nil {
		t.Fatal(err)
	}
}

// The program is asked on a file system of its own, which a content nearly fills.
func TestASnapshotOnAFullDiskSaysWhatToDoAndGivesItsSpaceBack(t *testing.T) {
	t.Parallel()
	disk := newDisk(t, "14m")
	root, work := disk.at, filepath.Join(disk.at, "w")
	rewind := func(args ...string) (string, error) {
		c := exec.Command("program", append([]string{"--no-git", "-C", work}, args...)...)
		c.Env = append(os.Environ(), "XDG_DATA_HOME="+root+"/data", "XDG_STATE_HOME="+root+"/state", "XDG_CACHE_HOME="+root+"/cache", "HOME="+root+"/home")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	free := func() int64 {
		n, _ := disk.space()
		return n
	}
	write := func(name string, n int64) { noise(t, filepath.Join(work, name), n) }
	write("one", 100)
	if out, err := rewind("snapshot"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write("two", 8<<20)
	before := free()
	out, err := rewind("snapshot")
	if err == nil || !strings.Contains(out, "rewind: make room on the disk, and try again: nothing was recorded: ") || !strings.Contains(out, "no space left on device") {
		t.Errorf("%v: %s", err, out)
	}
	if after := free(); after < before-64<<10 {
		t.Errorf("%d bytes were free, and %d are after a snapshot that failed", before, after)
	}
	if err := os.Truncate(filepath.Join(work, "two"), 1<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := rewind("snapshot"); err != nil {
		t.Errorf("with room again: %v: %s", err, out)
	}
	write("fill", free())
	out, err = rewind("status")
	if err != nil || !strings.Contains(out, "; 0 B of the disk are free\n") || !strings.Contains(out, "the disk is full, and nothing can be recorded: make room") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err = rewind("status", "--json"); err != nil || !strings.Contains(out, `"free_bytes":0,`) {
		t.Errorf("%v: %s", err, out)
	}
}

// A comer brings something from a remote onto a disk.
type comer struct {
	*ground
	disk   disk
	from   string // the directory whose files come, "" if only their history does
	to     string
	ids    []string // the snapshots that are to be there at the end
	before int      // how many were there
	args   []string
}

// sees looks at what is there: whole files, whole snapshots, and all of them at the end.
func (c *comer) sees(ended bool) {
	c.t.Helper()
	in := *c.ground
	in.dir = c.to
	var ids []string
	for _, s := range in.json("list", "--all")["snapshots"].([]any) {
		ids = append(ids, s.(map[string]any)["id"].(string))
	}
	if out, errs, exit := in.does("verify"); exit != 0 && len(ids) > 0 {
		c.t.Errorf("%s: verify: %s %s", c.t.Name(), out, errs)
	}
	lacks := slices.DeleteFunc(slices.Clone(c.ids), func(id string) bool { return slices.Contains(ids, id) })
	if ended && len(lacks) > 0 || !ended && len(ids) != c.before && len(lacks) > 0 {
		c.t.Errorf("%v are there of %v", ids, c.ids)
	}
	if c.from == "" {
		return
	}
	want, got := filesOf(c.t, c.from), filesOf(c.t, c.to)
	for name := range got {
		if want[name] != got[name] {
			c.t.Errorf("%s is not what it was", name)
		}
	}
	if ended && len(got) != len(want) {
		c.t.Errorf("%d files of %d came", len(got), len(want))
	}
}

// meetsAFullDisk has the command run with too little room, twice, and then with enough.
func (c *comer) meetsAFullDisk(room int64) (met bool) {
	c.t.Helper()
	_, used := c.disk.space()
	c.disk.resize(used + room)
	for range 2 {
		_, errs, exit := c.does(c.args...)
		if exit == 0 && errs == "" {
			break
		}
		met = true
		line := strings.Replace(errs, "rewind: warning: ", "rewind: ", 1)
		if !strings.HasPrefix(line, "rewind: make room on the disk, and try again: ") || !strings.Contains(line, "no space left on device") || strings.Count(line, "\n") != 1 {
			c.t.Errorf("with room for %d bytes it ends with %d and says %s", room, exit, errs)
		}
		c.sees(false)
	}
	c.disk.resize(64 << 20)
	if !met {
		return false
	}
	if out, errs, exit := c.does(c.args...); exit != 0 || strings.Contains(errs, "make room") {
		c.t.Errorf("with room again it ends with %d: %s %s", exit, out, errs)
	}
	c.sees(true)
	return true
}

func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(textsOf(t, dir)) {
		if name, text, _ := strings.Cut(line, " "); !strings.HasPrefix(name, "/.git/") {
			out[name] = text
		}
	}
	return out
}

// What comes from a remote comes to a store, a directory or both on a disk that has room for a part of it.
func TestWhatComesFromARemoteToAFullDiskIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	small := newDisk(t, "64m")
	g := newGround(t)
	repo := filepath.Join(t.TempDir(), "repo")
	does := func(g *ground, args ...string) {
		t.Helper()
		if out, errs, exit := g.does(args...); exit != 0 {
			t.Fatal(args, out, errs)
		}
	}
	at := func(dir, state string) *ground {
		o := *g
		o.dir, o.env = dir, append(slices.Clone(g.env), "XDG_STATE_HOME="+state)
		return &o
	}
	does(g, "snapshot")
	does(g, "remote", "add", "disk", repo)
	does(g, "push")
	other := at(t.TempDir(), t.TempDir())
	does(other, "resume", repo, other.dir)
	for i := range 60 {
		noise(t, filepath.Join(other.dir, fmt.Sprintf("d%d/f", i)), int64(1+i%7)*9000)
	}
	does(other, "snapshot")
	does(other, "push")
	var ids []string
	for _, s := range other.json("list", "--all")["snapshots"].([]any) {
		ids = append(ids, s.(map[string]any)["id"].(string))
	}
	top := t.TempDir()
	in := func(dir, name string) string { return filepath.Join(dir, name) }
	parts := map[bool][]int{false: {0, 1, 4}, true: {0, 1, 2, 3, 4}}[seed.Deep()]
	for _, name := range []string{"store", "files", "both", "fetch"} {
		need, met := int64(0), 0
		for _, part := range parts {
			must(t, exec.Command("sh", "-c", "rm -rf to state; cp -a "+g.dir+" w"), small.at, nil)
			roomy := in(top, fmt.Sprint(name, part))
			c := &comer{disk: small, from: other.dir, to: in(small.at, "to"), ids: ids}
			switch name {
			case "store":
				c.ground, c.to = at(top, in(small.at, "state")), in(roomy, "to")
			case "files":
				c.ground = at(top, roomy)
			case "both":
				c.ground = at(top, in(small.at, "state"))
			case "fetch":
				c.ground, c.to, c.from, c.before = at(in(small.at, "w"), roomy), in(small.at, "w"), "", 1
			}
			c.args = []string{"resume", repo, c.to}
			if name == "fetch" {
				c.args = []string{"fetch"}
			}
			_, before := small.space()
			switch {
			case part == 0: // how much is that?
				does(c.ground, c.args...)
				_, after := small.space()
				need = after - before
			case c.meetsAFullDisk(need * int64(part) / 5):
				met++
			}
			if name == "fetch" && part > 0 && c.json("status")["pending"] != 0.0 {
				t.Errorf("a fetch that ended left %v", c.json("status"))
			}
			must(t, exec.Command("rm", "-rf", "w"), small.at, nil)
		}
		if met < len(parts)-2 {
			t.Errorf("%s: the disk was full in %d of %d runs", name, met, len(parts)-1)
		}
	}
}
