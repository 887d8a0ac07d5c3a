package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/watched"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/tree"
	bolt "go.etcd.io/bbolt"
)

// damage alters the frame that the store has of a payload which is one chunk. The
// store's own locks are not asked: a disk does not either.
func (p *place) damage(e *Engine, payload []byte) {
	p.t.Helper()
	db, err := bolt.Open(filepath.Join(e.dir, storeFile), 0o600, nil)
	p.must(err)
	defer db.Close()
	p.must(db.Update(func(tx *bolt.Tx) error {
		objects := tx.Bucket([]byte("objects"))
		row := objects.Get(e.alg.Sum(oid.Blob, payload).Bytes())
		if row == nil {
			row = objects.Get(e.alg.Sum(oid.Tree, payload).Bytes())
		}
		if row == nil {
			return errors.New("the store does not have this content")
		}
		seq := bytes.Clone(row[18:26])
		frame := bytes.Clone(tx.Bucket([]byte("data")).Get(seq))
		at := len(frame) - 1
		if own := bytes.Index(frame, payload[len(payload)/2:]); own > 0 { // others share the frame
			at = own
		}
		frame[at] ^= 0x10
		return tx.Bucket([]byte("data")).Put(seq, frame)
	}))
}

func TestARestoreDoesNotOverwriteTheOnlyGoodCopy(t *testing.T) {
	seed := seed.Of(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	noise := func(n int) string {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		return string(p)
	}
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		e := p.open()
		dear, other := noise(3000), noise(3000)
		p.write("d/dear", dear)
		p.snap(e, "one", nil)
		p.write("d/dear", other)
		two := p.snap(e, "two", nil)
		p.damage(e, []byte(dear))
		p.write("d/dear", dear) // the store has it, it believes
		r := p.do(e, Op{To: two.ID})
		if p.read("d/dear") != other || len(r.Renewed) != 1 || r.Renewed[0].Path != "d/dear" || len(r.Conflicts) != 0 {
			t.Errorf("git %v: %+v", git, r)
		}
		p.undo(e)
		if p.read("d/dear") != dear {
			t.Errorf("git %v: the only good copy is gone", git)
		}
		p.wantClean(e)
	}
}

func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.write("dear", "nowhere else")
	p.snap(e, "one", nil)
	p.write("dear", "another")
	two := p.snap(e, "two", nil)
	p.write("dear", "nowhere else")
	p.damage(e, []byte("nowhere else"))
	c, err := e.stage(ctx, new(watched.Turn))
	p.must(err)
	defer c.Discard()
	to, err := e.goalAt(ctx, &Op{To: two.ID})
	p.must(err)
	plan, err := e.plan(ctx, c.present(), to)
	p.must(err)
	p.write("dear", "since then") // so that the disk does not have it any more either
	sure, err := e.secure(ctx, nil, plan.steps)()
	p.must(err)
	if why := sure.Refuse["dear"]; !errors.Is(why, ErrDamaged) || len(sure.Renewed) != 0 {
		t.Errorf("%v, %v", why, sure.Renewed)
	}
	missing := apply.Node{Mode: tree.GitFile, ID: e.alg.Sum(oid.Blob, []byte("nobody wrote this"))}
	sure, err = e.secure(ctx, nil, []apply.Step{{Path: "missing", Have: missing}})()
	if p.must(err); !errors.Is(sure.Refuse["missing"], ErrDamaged) {
		t.Errorf("what is missing can be read back: %v", sure.Refuse)
	}
}

func TestTheDirectoriesOfAnUndoAreReadBackToo(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.write("d/f", "1")
	one := p.snap(e, "one", nil)
	p.write("d/f", "2")
	c, err := e.stage(ctx, new(watched.Turn))
	p.must(err)
	c.Discard()
	p.snap(e, "one", nil) // of the state that comes back below
	p.write("d/f", "3")
	p.snap(e, "one", nil)
	p.write("d/f", "2")
	damaged := 0
	for _, payload := range c.Memory.Trees() {
		p.damage(e, payload)
		damaged++
	}
	p.do(e, Op{To: one.ID})
	_, err = e.Do(ctx, Op{Verb: Undo})
	if p.must(err); p.read("d/f") != "2" || damaged < 2 {
		t.Errorf("%q, %d directories were damaged", p.read("d/f"), damaged)
	}
}

// A content is needed three times: as the base of what it was edited to, to read that
// back, and to be written. It shares its frame with others, which is decoded once or
// twice. An edit is decoded when it is read back.
func TestARestoreDecodesEachContentOnce(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	const dirs, files = 5, 100
	name := func(i int) string { return fmt.Sprintf("d%d/f%d", i%dirs, i) }
	for i := range files {
		p.write(name(i), strings.Repeat(fmt.Sprintf("line %d of a text\n", i*i), 300+i))
	}
	one := p.snap(e, "one", nil)
	for i := range files {
		p.write(name(i), p.read(name(i))+"an edit\n")
	}
	decoded := func() int64 {
		st, err := p.storeOf(e).Stats(ctx)
		p.must(err)
		return st.Decoded
	}
	began := decoded()
	r := p.do(e, Op{To: one.ID})
	if r.Written != files || len(r.Conflicts) != 0 {
		t.Fatalf("%+v", r)
	}
	const trees = 4 * (dirs + 1) // as the base, as an edit, and of what is not kept
	const shared = 20            // frames of the first contents
	if n := decoded() - began; n < files || n > files+shared+trees {
		t.Errorf("%d frames were decoded, want %d to %d", n, files, files+shared+trees)
	}
	began = decoded()
	p.undo(e)
	if n := decoded() - began; n < files || n > files+shared+trees {
		t.Errorf("to undo it %d frames were decoded, want %d to %d", n, files, files+shared+trees)
	}
}
