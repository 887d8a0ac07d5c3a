package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/changes"
	"github.com/seed-82afce7a/rewind/engine/internal/plan"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// told returns what a list says of a snapshot, in one line.
func told(c *changes.Changed) string {
	if c == nil {
		return "unknown"
	}
	text := fmt.Sprintf("%d files +%d -%d opaque %d dirs %d:", c.Files, c.Added, c.Removed, c.Opaque, c.Dirs)
	for _, n := range c.Names {
		text += fmt.Sprintf(" %c%s", n.Status, n.Path)
	}
	return text
}

// listed returns the snapshots of a list with what they changed, by id.
func (p *place) listed(e *Engine, opt ListOptions) (ids []oid.ID, what map[oid.ID]string) {
	p.t.Helper()
	opt.Changes = true
	list := p.list(e, &opt)
	what = map[oid.ID]string{}
	for _, s := range list {
		ids = append(ids, s.ID)
		what[s.ID] = told(s.Changed)
	}
	return ids, what
}

// forgetChanges takes away what was recorded, as if an older version had made the
// history.
func (p *place) forgetChanges(e *Engine) {
	p.t.Helper()
	p.must(e.update(context.Background(), func(u *records.Update) error {
		var keys [][]byte
		for key := range u.Table("changes").All() {
			keys = append(keys, key)
		}
		for _, key := range keys {
			if err := u.Table("changes").Delete(key); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestAPurgedPathIsInNoRowOfWhatChanged(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.write("keep", "k\n")
	p.take(e)
	p.write("hidden-name", "one\ntwo\nthree\n")
	p.write("keep", "l\n")
	p.take(e)
	p.must(os.Remove(filepath.Join(p.dir, "hidden-name")))
	p.take(e)
	p.listed(e, ListOptions{})
	p.purged(e, "hidden-name")
	p.must(e.view(context.Background(), func(v *records.View) error {
		for key, value := range v.Table("changes").All() {
			if bytes.Contains(value, []byte("hidden-name")) {
				t.Errorf("row %x names it: %q", key, value)
			}
		}
		return nil
	}))
	ids, what := p.listed(e, ListOptions{})
	got := fmt.Sprint(what[ids[0]], "; ", what[ids[1]])
	if want := "0 files +0 -0 opaque 0 dirs 0:; 1 files +1 -1 opaque 0 dirs 0: Mkeep"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatIsLeftAfterAPruneIsComparedWithWhatIsLeft(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	ctx := context.Background()
	var ids []oid.ID
	for i := range 6 {
		p.write(fmt.Sprintf("f%d", i), "x\n")
		opt := &SnapshotOptions{}
		r, err := e.Snapshot(ctx, opt)
		p.must(err)
		ids = append(ids, r.ID)
	}
	p.must(e.Pin(ctx, "first", ids[0]))
	p.must(e.Pin(ctx, "third", ids[2]))
	out := p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	if len(out.Dropped) != 3 {
		t.Fatalf("%+v", out)
	}
	left, what := p.listed(e, ListOptions{})
	want := []string{"3 files +3 -0 opaque 0 dirs 0: Af3 Af4 Af5", "2 files +2 -0 opaque 0 dirs 0: Af1 Af2", "1 files +0 -0 opaque 1 dirs 0: Af0"}
	for i, id := range left {
		if what[id] != want[i] {
			t.Errorf("%d: %q, want %q", i, what[id], want[i])
		}
	}
	rows := 0
	p.must(e.view(ctx, func(v *records.View) error {
		for range v.Table("changes").All() {
			rows++
		}
		return nil
	}))
	if rows != 3 {
		t.Errorf("%d rows of 3 snapshots", rows)
	}
}

// TestWhichSnapshotsChangedAPathAgreesWithComparing makes random histories, and asks
// each question of the list and of the difference itself.
func TestWhichSnapshotsChangedAPathAgreesWithComparing(t *testing.T) {
	t.Parallel()
	seed := seed.Of(t)
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 2 {
		p := newPlace(t, round%2 == 0)
		e := p.open()
		names := []string{"a", "b/c", "b/d/e", "b/d/f", "g/h", "many"}
		for step := range 30 {
			for range 1 + random.IntN(2) {
				name := names[random.IntN(len(names))]
				path := filepath.Join(p.dir, name)
				switch {
				case name == "many":
					for i := range 160 {
						p.write(fmt.Sprintf("many/%d/%d", i%9, i), fmt.Sprint(random.IntN(3)))
					}
				case random.IntN(4) == 0:
					p.must(os.RemoveAll(path))
				default:
					p.write(name, strings.Repeat("line\n", random.IntN(5)))
				}
			}
			p.take(e)
			if all := p.records(e); random.IntN(6) == 0 {
				p.restored(e, all[random.IntN(len(all))].String())
			}
			switch {
			case step == 12:
				p.forgetChanges(e)
			case step == 16:
				p.damageChanges(e, random)
			case step == 18 && e.repo == nil:
				p.must(e.Close())
				p.initGit()
				e = p.open()
			case step == 20:
				p.prune(e, &PruneOptions{MaxSnapshots: 15, Grace: -1})
			case step == 25:
				p.purge(e, "b/c")
			}
		}
		for _, path := range []string{"a", "b", "b/c", "b/d", "g/h", "many", "many/3", "many/3/3", "many/3/30", ".", ":(glob)**/e", ":(glob)many/*/4"} {
			p.agree(e, path)
		}
	}
}

// damageChanges cuts rows of what changed short, and makes nonsense of them.
func (p *place) damageChanges(e *Engine, random *rand.Rand) {
	p.t.Helper()
	p.must(e.update(context.Background(), func(u *records.Update) error {
		rows := map[string][]byte{}
		for key, value := range u.Table("changes").All() {
			rows[string(key)] = value
		}
		var err error
		for key, value := range rows {
			if bad := slices.Clone(value[:random.IntN(len(value)+1)]); random.IntN(2) == 0 {
				if len(bad) > 0 {
					bad[0] = 99
				}
				err = errors.Join(err, u.Table("changes").Put([]byte(key), bad))
			}
		}
		return err
	}))
}

// agree compares the answer of a list with that of comparing every snapshot.
func (p *place) agree(e *Engine, path string) {
	p.t.Helper()
	ctx := context.Background()
	all := p.list(e, nil)
	var want []oid.ID
	for _, s := range all {
		before, err := e.Before(ctx, s)
		p.must(err)
		d := p.diff(e, before, s)
		sel, err := plan.Select([]string{path}, func(string) (bool, error) { return false, nil })
		p.must(err)
		if slices.ContainsFunc(d.Changes, func(c Change) bool { return sel.Match(string(c.Path)) }) {
			want = append(want, s.ID)
		}
	}
	got, _ := p.listed(e, ListOptions{Paths: []string{path}})
	if !slices.Equal(got, want) {
		p.t.Errorf("%s: %d snapshots %v, want %d %v", path, len(got), got, len(want), want)
	}
	var pages []oid.ID
	for older := (oid.ID{}); ; older = pages[len(pages)-1] {
		list, _ := p.listed(e, ListOptions{Paths: []string{path}, Limit: 2, Older: older})
		if pages = append(pages, list...); len(list) < 2 {
			break
		}
	}
	if !slices.Equal(pages, want) {
		p.t.Errorf("%s in pages: %v, want %v", path, pages, want)
	}
}
