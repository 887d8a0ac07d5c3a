package gitodb

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// next opens the database as one that lives on does for each turn, and closes the last.
func (r *repo) next(from *DB) *DB {
	r.t.Helper()
	d := r.open()
	if from != nil {
		d.TakeOver(from)
		if err := from.Close(); err != nil {
			r.t.Error(err)
		}
	}
	return d
}

// blob writes a blob with git, into a file of its own.
func (r *repo) blob(text string) oid.ID {
	r.t.Helper()
	out, err := r.run(text, "hash-object", "-w", "--stdin")
	id, err2 := oid.Parse(out)
	if err := errors.Join(err, err2); err != nil {
		r.t.Fatal(out, err)
	}
	return id
}

// packed commits a file and packs all that is loose; it returns the file's blob.
func (r *repo) packed(name string) oid.ID {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte("text of "+name), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", name)
	r.git("repack", "-q", "-d")
	return r.blob("text of " + name)
}

// rested waits until a change of the packs shows in their times, and returns the database
// with every pack mapped.
func (r *repo) rested(from *DB, ids ...oid.ID) *DB {
	r.t.Helper()
	time.Sleep(2 * settleFine)
	d := r.next(from)
	for _, p := range d.all()[0].list() {
		p.lookUp()
	}
	for _, id := range ids {
		if _, _, err := d.Read(id); err != nil {
			r.t.Fatal(err)
		}
	}
	return d
}

// maps are where the indexes are mapped, by their packs' names.
func mapsOf(d *DB) map[string]*byte {
	at := map[string]*byte{}
	for _, s := range d.all() {
		for _, p := range s.list() {
			if x := p.lookUp(); x != nil {
				at[p.path] = &x.data[0]
			}
		}
	}
	return at
}

func (r *repo) want(d *DB, id oid.ID, there bool) {
	r.t.Helper()
	_, _, err := d.Read(id)
	if d.Has(id) != there || there && err != nil || !there && !errors.Is(err, ErrNotFound) {
		r.t.Errorf("%v: Has says %v and Read %v, there: %v", id, d.Has(id), err, there)
	}
}

func TestADatabaseThatIsOpenedAgainOpensNoPackThatIsStillTheSame(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: on this system every pack is opened anew")
	}
	both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		a, b := r.packed("a"), r.packed("b")
		d := r.rested(nil, a, b)
		before := mapsOf(d)
		open := map[*os.File]bool{}
		for _, p := range d.all()[0].list() {
			open[p.file] = true
		}
		for range 3 {
			d = r.next(d)
			r.want(d, a, true)
			r.want(d, b, true)
			for path, at := range mapsOf(d) {
				if at != before[path] {
					t.Errorf("%s was mapped again", path)
				}
			}
			for _, p := range d.all()[0].list() {
				if !open[p.file] {
					t.Errorf("%s was opened again", p.path)
				}
			}
		}
		// A pack that gets a new age is opened again when it is read; its index is the same.
		if len(before) != 2 || !d.Freshen(a) {
			t.Fatalf("%d packs, of which the one of the object is to be freshened", len(before))
		}
		d = r.next(d)
		r.want(d, a, true)
		if now := mapsOf(d); len(now) != 2 || now[d.all()[0].recent.Load().path] != before[d.all()[0].recent.Load().path] {
			t.Error("the index was mapped again")
		}
	})
}

// What another has done to the packs between two turns is seen as by who never had them open.
func TestADatabaseThatIsOpenedAgainSeesWhatBecameOfThePacks(t *testing.T) {
	objects := func(r *repo) string { return r.objects() }
	for name, change := range map[string]func(r *repo) error{
		"a collection that drops what no ref names": func(r *repo) error {
			r.git("update-ref", "-d", "refs/heads/main")
			r.git("reflog", "expire", "--expire=now", "--all")
			r.git("rm", "-q", "--cached", "b")
			r.git("update-ref", "refs/heads/main", "keep")
			r.git("gc", "-q", "--prune=now")
			return nil
		},
		"a pack that was removed": func(r *repo) error {
			base := strings.TrimSuffix(r.packHaving("b"), ".idx")
			return errors.Join(os.Remove(base+".idx"), os.Remove(base+".pack"))
		},
		"a pack without its index": func(r *repo) error { return os.Remove(r.packHaving("b")) },
		"an index without its pack": func(r *repo) error {
			return os.Remove(strings.TrimSuffix(r.packHaving("b"), ".idx") + ".pack")
		},
		"other objects in the place of these": func(r *repo) error {
			r.git("init", "-q", "other", "--object-format="+r.alg.String())
			r.git("-C", "other", "fetch", "-q", "..", "keep")
			return errors.Join(os.Rename(objects(r), objects(r)+".old"), os.Rename(filepath.Join(r.dir, "other", ".git", "objects"), objects(r)))
		},
		"the pack under its name, with other bytes": func(r *repo) error {
			other, mine := strings.TrimSuffix(r.packHaving("a"), ".idx"), strings.TrimSuffix(r.packHaving("b"), ".idx")
			for _, ext := range []string{".idx", ".pack"} {
				p, err := os.ReadFile(other + ext)
				if err = errors.Join(err, os.Remove(mine+ext), os.WriteFile(mine+ext, p, 0o644)); err != nil {
					return err
				}
			}
			return nil
		},
		"an index that was written over": func(r *repo) error {
			path := r.packHaving("b")
			st, err := os.Stat(path)
			if err != nil {
				return err
			}
			// Neither its size nor its time of modification tell it from what it was.
			return errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, make([]byte, st.Size()), 0o644), os.Chtimes(path, st.ModTime(), st.ModTime()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t, oid.SHA1)
			a := r.packed("a")
			r.git("tag", "keep")
			b := r.packed("b")
			d := r.rested(nil, a, b)
			if err := change(r); err != nil {
				t.Fatal(err)
			}
			taken, anew := r.next(d), r.open()
			r.want(anew, a, true)
			r.want(taken, a, true)
			for _, d := range []*DB{anew, taken} {
				if d.Has(b) {
					t.Error("the object is not there, and believed to be")
				}
				if _, _, err := d.Read(b); err == nil {
					t.Error("the object is not there, and was read")
				}
			}
		})
	}
}

func (r *repo) packHaving(name string) string {
	r.t.Helper()
	id := r.blobName(name)
	list, err := filepath.Glob(filepath.Join(r.objects(), "pack", "*.idx"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, path := range list {
		if strings.Contains(r.git("verify-pack", "-v", path), id) {
			return path
		}
	}
	r.t.Fatal("no pack has ", name)
	return ""
}

func (r *repo) blobName(name string) string { return r.git("rev-parse", "main:"+name) }

func TestADatabaseThatIsOpenedAgainSeesPacksAndAlternatesThatCame(t *testing.T) {
	r, other := newRepo(t, oid.SHA1), newRepo(t, oid.SHA1)
	a, far := r.packed("a"), other.packed("far")
	d := r.rested(nil, a)
	r.want(d, far, false)
	alternates := filepath.Join(r.objects(), "info", "alternates")
	if err := os.WriteFile(alternates, []byte(other.objects()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d = r.next(d)
	r.want(d, far, true)
	d = r.rested(d, a, far)
	before := mapsOf(d)
	d = r.next(d)
	r.want(d, far, true)
	if now := mapsOf(d); runtime.GOOS == "linux" && (len(now) != 2 || now[packName(t, other)] != before[packName(t, other)]) {
		t.Error("the alternate's pack was mapped again")
	}
	if err := os.Remove(alternates); err != nil {
		t.Fatal(err)
	}
	d = r.next(d)
	r.want(d, far, false)
	r.want(d, a, true)
	b := r.packed("b")
	d = r.next(d)
	r.want(d, b, true)
	for range 2 { // who never asks closes what was taken over all the same
		d = r.next(d)
	}
	d = r.next(d)
	r.want(d, a, true)
}

func packName(t *testing.T, r *repo) string { return strings.TrimSuffix(packOf(t, r), ".idx") }

func TestFilesThatWereTakenOverAreClosed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: this system does not list the maps of a process")
	}
	r := newRepo(t, oid.SHA1)
	a := r.packed("a")
	d := r.rested(nil, a)
	mapped := func() int {
		p, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(p), r.objects())
	}
	if mapped() != 2 {
		t.Fatalf("%d maps, of a pack and its index", mapped())
	}
	d = r.next(d) // which nobody asks anything
	if mapped() != 2 {
		t.Errorf("%d maps after the first was closed", mapped())
	}
	other := newRepo(t, oid.SHA1).next(d) // of another repository, which has no use for them
	if mapped() != 2 {
		t.Errorf("%d maps before the first question", mapped())
	}
	other.Has(a)
	if mapped() != 0 {
		t.Errorf("%d maps of a repository that is closed", mapped())
	}
	d = r.rested(nil, a)
	if err := r.next(d).Close(); err != nil || mapped() != 0 {
		t.Errorf("%d maps at the end: %v", mapped(), err)
	}
}
