package gitodb

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// next opens the database as one that lives on does for each turn, and closes the last.
func (r *repo) next(from *DB) *DB {
	r.T.Helper()
	d := r.open()
	d.TakeOver(from)
	if err := from.Close(); err != nil {
		r.T.Error(err)
	}
	return d
}

// packed commits a file and packs all that is loose; it returns the file's blob.
func (r *repo) packed(name string) oid.ID {
	r.T.Helper()
	r.Write(name, "text of "+name)
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", name)
	r.Git("repack", "-q", "-d")
	return r.ID("HEAD:" + name)
}

// packHaving returns the path, without its extension, of the pack that has an object.
func (r *repo) packHaving(id oid.ID) string {
	r.T.Helper()
	for _, path := range packsOf(r) {
		if strings.Contains(r.Git("verify-pack", "-v", path), id.String()) {
			return strings.TrimSuffix(path, ".idx")
		}
	}
	r.T.Fatal("no pack has ", id)
	return ""
}

// opened are the packs that are open, by where their indexes and their files are mapped.
func opened(d *DB) map[string][2]*byte {
	at := map[string][2]*byte{}
	for _, s := range d.all() {
		for _, p := range s.list() {
			if p.index != nil && p.data != nil {
				at[p.path] = [2]*byte{&p.index.data[0], &p.data[0]}
			}
		}
	}
	return at
}

func (r *repo) want(d *DB, id oid.ID, there bool) {
	r.T.Helper()
	_, _, err := d.Read(id)
	if d.Has(id) != there || there && err != nil || !there && !errors.Is(err, ErrNotFound) {
		r.T.Errorf("%v: Has says %v and Read %v, there: %v", id, d.Has(id), err, there)
	}
}

// needMaps skips a test where packs are not mapped, and nobody replaces one that is open.
func needMaps(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: on Windows packs are not mapped, and one that is open is not replaced")
	}
}

func TestADatabaseThatIsOpenedAgainOpensNoPackThatIsStillTheSame(t *testing.T) {
	needMaps(t)
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		a, b := r.packed("a"), r.packed("b")
		d := r.open()
		r.want(d, a, true)
		r.want(d, b, true)
		before := opened(d)
		for range 3 { // a pack that gets a new age is the same too
			d = r.next(d)
			if now := opened(d); len(before) != 2 || len(now) != 2 || now[r.packHaving(a)] != before[r.packHaving(a)] || now[r.packHaving(b)] != before[r.packHaving(b)] {
				t.Errorf("a pack was opened again: %v, then %v", before, now)
			}
			r.want(d, a, d.Freshen(a))
			r.want(d, b, true)
		}
	})
}

// What another has done to the packs between two turns is seen as by who never had them open.
func TestADatabaseThatIsOpenedAgainSeesWhatBecameOfThePacks(t *testing.T) {
	needMaps(t)
	for name, change := range map[string]func(r *repo, a, b string) error{
		"a collection that drops what no ref names": func(r *repo, _, _ string) error {
			r.Git("reset", "-q", "--hard", "HEAD~")
			r.Git("reflog", "expire", "--expire=now", "--all")
			r.Git("gc", "-q", "--prune=now")
			return nil
		},
		"a pack that was removed":   func(_ *repo, _, b string) error { return errors.Join(os.Remove(b+".idx"), os.Remove(b+".pack")) },
		"a pack without its index":  func(_ *repo, _, b string) error { return os.Remove(b + ".idx") },
		"an index without its pack": func(_ *repo, _, b string) error { return os.Remove(b + ".pack") },
		"other objects in the place of these": func(r *repo, _, _ string) error {
			r.Git("tag", "keep", "HEAD~")
			r.Git("init", "-q", "other")
			r.Git("-C", "other", "fetch", "-q", "..", "keep")
			return errors.Join(os.Rename(r.objects(), r.objects()+".old"), os.Rename(filepath.Join(r.Dir, "other", ".git", "objects"), r.objects()))
		},
		"the pack under its name, with other bytes": func(_ *repo, a, b string) error {
			for _, ext := range []string{".idx", ".pack"} {
				p, err := os.ReadFile(a + ext)
				if err = errors.Join(err, os.Remove(b+ext), os.WriteFile(b+ext, p, 0o644)); err != nil {
					return err
				}
			}
			return nil
		},
		"an index that was written over": func(_ *repo, _, b string) error {
			st, err := os.Stat(b + ".idx")
			if err != nil {
				return err
			}
			// Neither its size nor its time of modification tell it from what it was.
			return errors.Join(os.Chmod(b+".idx", 0o644), os.WriteFile(b+".idx", make([]byte, st.Size()), 0o644), os.Chtimes(b+".idx", st.ModTime(), st.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t, oid.SHA1)
			a, b := r.packed("a"), r.packed("b")
			d := r.open()
			r.want(d, a, true)
			r.want(d, b, true)
			if err := change(r, r.packHaving(a), r.packHaving(b)); err != nil {
				t.Fatal(err)
			}
			for _, d := range []*DB{r.open(), r.next(d)} {
				r.want(d, a, true)
				if _, _, err := d.Read(b); d.Has(b) || err == nil {
					t.Errorf("the object is not there: Has says %v, and Read %v", d.Has(b), err)
				}
			}
		})
	}
}

func TestADatabaseThatIsOpenedAgainSeesPacksAndAlternatesThatCame(t *testing.T) {
	r, other := newRepo(t, oid.SHA1), newRepo(t, oid.SHA1)
	a, far := r.packed("a"), other.packed("far")
	d := r.open()
	r.want(d, a, true)
	r.want(d, far, false)
	alternates := filepath.Join(r.objects(), "info", "alternates")
	if err := os.WriteFile(alternates, []byte(other.objects()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d = r.next(d)
	r.want(d, far, true)
	before := opened(d)
	if d = r.next(d); opened(d)[other.packHaving(far)] != before[other.packHaving(far)] {
		t.Error("the alternate's pack was opened again")
	}
	if err := os.Remove(alternates); err != nil {
		t.Fatal(err)
	}
	d = r.next(d)
	r.want(d, far, false)
	b := r.packed("b")
	for range 3 { // also where nobody asked meanwhile
		d = r.next(d)
	}
	r.want(d, a, true)
	r.want(d, b, true)
}

func TestFilesThatWereTakenOverAreClosed(t *testing.T) {
	needMaps(t)
	r := newRepo(t, oid.SHA1)
	a := r.packed("a")
	mapped := func() int {
		p, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Skip("SKIPPED: this system does not list the maps of a process")
		}
		return strings.Count(string(p), r.objects())
	}
	d := r.open()
	r.want(d, a, true)
	d = r.next(d) // which nobody asks anything
	if mapped() != 2 {
		t.Errorf("%d maps, of a pack and its index", mapped())
	}
	other := newRepo(t, oid.SHA1).next(d) // of another repository, which has no use for them
	if other.Has(a); mapped() != 0 {
		t.Errorf("%d maps of a repository that is closed", mapped())
	}
	d = r.open()
	r.want(d, a, true)
	if err := r.next(d).Close(); err != nil || mapped() != 0 {
		t.Errorf("%d maps at the end: %v", mapped(), err)
	}
}

func TestADatabaseThatIsOpenedAgainReadsThePackThatLiesThereNow(t *testing.T) {
	needMaps(t)
	r := newRepo(t, oid.SHA1)
	a := r.packed("a")
	d := r.open()
	r.want(d, a, true)
	path := r.packHaving(a) + ".pack"
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{make([]byte, len(whole)), whole} { // damage, and what mends it
		if err := errors.Join(os.WriteFile(path+".new", p, 0o444), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
		d = r.next(d)
		if _, _, err := d.Read(a); (err == nil) != bytes.Equal(p, whole) {
			t.Errorf("a pack was replaced, whole: %v; reading gives %v", bytes.Equal(p, whole), err)
		}
	}
}
