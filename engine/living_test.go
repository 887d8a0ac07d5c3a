package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A harmed is a place whose newest snapshot has the directory d/e, and then some of it
// is lost.
type harmed struct {
	*place
	e      *Engine
	living bool // the same process goes on
	watch  Watch
}

var harms = map[string]func(h *harmed){
	"none":       func(*harmed) {},
	"store gone": func(h *harmed) { h.must(os.RemoveAll(h.e.dir)) },
	"purge": func(h *harmed) {
		h.purged(h.open(), "d/e/f1")
		h.write("d/e/f1", "new")
	},
	"tree damaged":             func(h *harmed) { h.spoil(h.tree()) },
	"tree and content damaged": func(h *harmed) { h.spoil(h.tree(), []byte("one2 2")) },
	"rows gone":                func(h *harmed) { h.lose(h.e.alg.Sum(oid.Tree, h.tree()), h.e.alg.Sum(oid.Blob, []byte("one2 2"))) },
	"objects of git gone": func(h *harmed) {
		list, err := filepath.Glob(filepath.Join(h.dir, ".git/objects/??"))
		h.must(err)
		for _, dir := range list {
			h.must(os.RemoveAll(dir))
		}
	},
	"ref gone": func(h *harmed) {
		h.git("update-ref", "-d", "refs/pi-rewind/store")
		h.git("gc", "-q", "--prune=now")
	},
}

// next goes on in the same process, or in another one.
func (h *harmed) next() {
	if !h.living {
		h.e = h.open()
		return
	}
	e, err := h.watch.Open(h.t.Context(), h.dir, &Options{Getenv: h.getenv})
	h.must(err)
	h.t.Cleanup(func() { h.watch.Close() })
	h.e = e
}

// tree returns the directory d/e of the newest snapshot.
func (h *harmed) tree() []byte {
	list, err := records.Read(h.t.Context(), h.e.view, (*records.View).Snapshots)
	h.must(err)
	last := slices.MaxFunc(list, func(a, b *Snapshot) int { return a.Time.Compare(b.Time) })
	load := h.e.objects.Trees(h.t.Context(), objects.Reading{})
	id, payload := last.Tree, []byte(nil)
	if last.Tree.IsZero() {
		id = last.Overlay
	}
	for _, name := range []string{"d", "e", ""} {
		payload, err = load(id)
		h.must(err)
		entries, err := tree.Decode(payload, h.e.alg)
		h.must(err)
		if i := slices.IndexFunc(entries, func(e tree.Entry) bool { return e.Name == name }); i >= 0 {
			id = entries[i].ID
		}
	}
	return payload
}

// spoil damages contents in the store, and takes them out of git.
func (h *harmed) spoil(payloads ...[]byte) {
	for i, p := range payloads {
		h.damage(h.e, p)
		kind := oid.Blob
		if i == 0 {
			kind = oid.Tree
		}
		h.unlink(h.e.alg.Sum(kind, p))
	}
}

// lose takes objects out of the store and out of git.
func (h *harmed) lose(ids ...oid.ID) {
	db, err := bolt.Open(filepath.Join(h.e.dir, storeFile), 0o600, nil)
	h.must(err)
	h.must(db.Update(func(tx *bolt.Tx) error {
		for _, id := range ids {
			b := tx.Bucket([]byte("objects"))
			if b.Get(id.Bytes()) == nil {
				h.t.Fatalf("%v is not there", id)
			}
			h.must(b.Delete(id.Bytes()))
			h.unlink(id)
		}
		return nil
	}))
	h.must(db.Close())
}

func (h *harmed) unlink(id oid.ID) {
	if _, err := os.Stat(filepath.Join(h.dir, ".git")); err == nil {
		h.must(os.Remove(filepath.Join(h.dir, ".git/objects", id.String()[:2], id.String()[2:])))
	}
}

// outcome says what the next snapshot is worth.
func (h *harmed) outcome(harm string) string {
	h.e = h.open()
	for k := range 3 {
		for n := range 4 {
			h.write(fmt.Sprintf("d/e/f%d", n), fmt.Sprint("one", n, k))
		}
		h.snap(h.e, fmt.Sprint(k), nil)
		h.next()
	}
	if harm == "rows gone" || harm == "tree and content damaged" { // no file is read again because it is young
		for range 2 {
			time.Sleep(2200 * time.Millisecond)
			h.snap(h.e, "settled", nil)
			h.next()
		}
	}
	harms[harm](h)
	h.next()
	h.write("d/e/f0", "after the harm")
	r, err := h.e.Snapshot(h.t.Context(), nil)
	if err != nil {
		return fmt.Sprint("snapshot: ", err)
	}
	v, err := h.open().Verify(h.t.Context())
	h.must(err)
	whole := "whole"
	for _, d := range v.Damaged {
		if d.Snapshot == r.ID {
			whole = "damaged"
		}
	}
	return fmt.Sprintf("%s, %d of %d others damaged, counted: %v", whole, len(v.Damaged), v.Snapshots, r.Uncounted == nil)
}

// What a process has seen says nothing of what the store and git have now: a snapshot of
// one that lives on reads again from disk whatever one that begins anew would read.
func TestALivingProcessHealsWhatANewOneHeals(t *testing.T) {
	for name := range harms {
		for _, git := range []bool{false, true} {
			if !git && strings.Contains(name, "git") || !git && strings.Contains(name, "ref") {
				continue
			}
			t.Run(fmt.Sprint(name, ", git ", git), func(t *testing.T) {
				t.Parallel()
				var anew, on string
				var both sync.WaitGroup // they wait for files to grow old
				both.Go(func() { anew = (&harmed{place: newPlace(t, git)}).outcome(name) })
				both.Go(func() { on = (&harmed{place: newPlace(t, git), living: true}).outcome(name) })
				both.Wait()
				if on != anew {
					t.Errorf("a process that lives on: %s\na new one: %s", on, anew)
				}
				if git && !strings.Contains(name, "damaged") && !strings.HasPrefix(anew, "whole") {
					t.Errorf("the new snapshot is %s", anew)
				}
			})
		}
	}
}
