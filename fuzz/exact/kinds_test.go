//go:build !windows

package exact

import (
	"os"
	"testing"
)

// kinds are what can lie at a path; each is made at a path that is free.
var kinds = []struct {
	name string
	make func(w *world, rel string)
}{
	{"nothing", func(*world, string) {}},
	{"file", func(w *world, rel string) { w.write(rel, "a file at "+rel) }},
	{"other-file", func(w *world, rel string) { w.write(rel, "another file at "+rel) }},
	{"program", func(w *world, rel string) { w.write(rel, "a file at "+rel); w.chmod(rel, 0o755) }},
	{"private", func(w *world, rel string) { w.write(rel, "a file at "+rel); w.chmod(rel, 0o600) }},
	{"empty-dir", func(w *world, rel string) { w.mkdir(rel) }},
	{"closed-dir", func(w *world, rel string) { w.write(rel+"/in", rel); w.chmod(rel, 0o500) }},
	{"dir", func(w *world, rel string) { w.write(rel+"/in", rel); w.write(rel+"/sub/deeper", rel) }},
	{"other-dir", func(w *world, rel string) { w.write(rel+"/sub", rel); w.write(rel+"/in/x", rel) }},
	{"link-to-file", func(w *world, rel string) { w.link(w.outside+"/treasure", rel) }},
	{"link-to-dir", func(w *world, rel string) { w.link(w.outside+"/dir", rel) }},
	{"link-to-nothing", func(w *world, rel string) { w.link("no/where", rel) }},
}

// TestEveryKindBecomesEveryOther checks that a path is restored from any kind
// to any other, and that links to directories outside are not followed.
func TestEveryKindBecomesEveryOther(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	each := func(do func(path string, then, now int)) {
		for i := range kinds {
			for j := range kinds {
				do("k/"+kinds[i].name+"-"+kinds[j].name, i, j)
				do("k/sub/"+kinds[j].name+"/"+kinds[i].name, i, j)
			}
		}
	}
	w.mkdir("k/sub")
	each(func(path string, then, _ int) { kinds[then].make(w, path) })
	w.byNobody()
	w.prove(func() {
		each(func(path string, _, now int) {
			_ = os.Chmod(w.path(path), 0o755) // for who is not root
			w.remove(path)
			kinds[now].make(w, path)
		})
	}, nil)
}

// TestOddPermissionsComeBack checks that every permission bit is restored, of
// files and directories, set-id and sticky bits included.
func TestOddPermissionsComeBack(t *testing.T) {
	t.Parallel()
	w := newRepo(t)
	perms := []os.FileMode{0o400, 0o444, 0o500, 0o555, 0o600, 0o640, 0o660, 0o664, 0o666, 0o711, 0o750, 0o777, 0o755 | os.ModeSetuid, 0o755 | os.ModeSetgid, 0o777 | os.ModeSticky, 0o644 | os.ModeSticky}
	for _, perm := range perms {
		w.write("p/"+perm.String()+".f", "x")
		w.write("p/"+perm.String()+"/in", "x")
		w.chmod("p/"+perm.String()+".f", perm)
		w.chmod("p/"+perm.String(), perm|0o300) // the next step writes in it
	}
	w.prove(func() {
		for _, perm := range perms {
			if perm&(os.ModeSetuid|os.ModeSetgid) == 0 { // those are given to no file that has lost them
				w.chmod("p/"+perm.String()+".f", 0o644)
			}
			w.write("p/"+perm.String()+"/in", "other")
			w.chmod("p/"+perm.String(), 0o755)
		}
	}, nil)
}

// TestOtherUmasksAreNoOverlay checks that the permissions that everything has
// under a usual umask cost nothing, and that the umask of whoever restores has
// no say.
func TestOtherUmasksAreNoOverlay(t *testing.T) {
	for _, umask := range []os.FileMode{0o002, 0o077, 0o027} {
		t.Run(umask.String(), func(t *testing.T) {
			t.Parallel()
			w := newRepo(t)
			w.relax(umask)
			f := w.rewind("snapshot", "--dry-run", "--json")
			if f.code != 0 || f.Overlay != "" {
				t.Fatalf("there is an overlay: %s%s", f.out, f.errors)
			}
			w.umask = 0o007
			w.prove(func() {
				churn(w)
				w.write("dir/more/x.txt", "x")
			}, nil)
		})
	}
}

// relax gives everything the permissions that it would have under a umask.
func (w *world) relax(umask os.FileMode) {
	w.Helper()
	for rel := range worktreePicture(w, w.root) {
		info, err := os.Lstat(w.path(rel))
		w.must(err)
		switch {
		case info.IsDir():
			w.chmod(rel, 0o777&^umask)
		case info.Mode().IsRegular():
			w.chmod(rel, 0o666&^umask)
		}
	}
	w.chmod(".", 0o777&^umask)
}
