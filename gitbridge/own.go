package gitbridge

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/gitodb"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// What we wrote into a file of its own among git's objects is noted in a file
// beside the ref's own lock. It serves two ends. Git starts a collection by
// itself when some thousands of such files are there: so ours are packed when
// they are a few hundred. And a collection that began before the ref named
// them may remove them afterwards: so each bridge looks whether they are still
// there, until they are in a pack, which no collection removes that began
// before. The file is a help and no truth: without it objects stay in their
// files, and a removed one is found by sync and verify.

const (
	// looseFold is how many files of our own are there before they are packed.
	looseFold = 256
	// packsMax is how many packs of one size there are before they become one;
	// git packs anew by itself where there are more than 50.
	packsMax = 16
	// packSmall is below how many objects a pack counts as small.
	packSmall = packsMax * looseFold
	// noteBytesMax bounds what is read of the notes.
	noteBytesMax = 16 << 20
)

// A noted object is one that we wrote into a file of its own, or found among
// git's when our ref came to need it: git may not have synced it, or be about to
// collect it. The payload is that of a link of the chain, which is stored nowhere
// else; nil for others.
type noted struct {
	id      oid.ID
	found   bool
	payload []byte
}

const (
	// foundMax is up to how many objects that were found are noted. A change of
	// branch has more: those HEAD keeps, and git's objects are synced for it.
	foundMax = looseFold
	// foundFlag marks them in the length of their payload.
	foundFlag = 1 << 15
)

// noteFound notes objects that git had.
func (r *Repo) noteFound(ids []oid.ID) {
	var p []byte
	for _, id := range ids {
		p = binary.BigEndian.AppendUint16(id.Append(p), foundFlag)
	}
	if r.own != "" && len(p) > 0 {
		r.appendTo(".loose", p)
	}
}

// noteLoose notes objects that were written.
func (r *Repo) noteLoose(ids []oid.ID, payload []byte) {
	if r.own == "" || len(ids) == 0 {
		return
	}
	var p []byte
	for _, id := range ids {
		p = id.Append(p)
		p = binary.BigEndian.AppendUint16(p, uint16(len(payload)))
		p = append(p, payload...)
	}
	r.appendTo(".loose", p)
}

// notePack notes a pack that was written, by its path.
func (r *Repo) notePack(path string, objects int) {
	if r.own != "" && path != "" {
		r.appendTo(".packs", ownPack{filepath.Base(path), objects}.line())
	}
}

// appendTo appends to a file of notes. What fails is not noted.
func (r *Repo) appendTo(suffix string, p []byte) {
	f, err := durable.OpenFile(r.own+suffix, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(p)
	gitodb.WriteOut(f) // so that the sync of the ref carries it along
	_ = f.Close()
}

// readNotes reads a file of notes, nothing where that is not possible.
func readNotes(path string) []byte {
	p, err := durable.ReadFile(path, noteBytesMax)
	if err != nil {
		return nil
	}
	return p
}

// looseNotes decodes notes, the oldest first, up to what is not one.
func (r *Repo) looseNotes(p []byte) (list []noted) {
	size := r.Algorithm().Size()
	for len(p) >= size+2 {
		id, err := oid.FromBytes(p[:size])
		length := binary.BigEndian.Uint16(p[size:])
		n := int(length &^ foundFlag)
		if p = p[size+2:]; err != nil || len(p) < n {
			break
		}
		list = append(list, noted{id, length&foundFlag != 0, p[:n:n]})
		p = p[n:]
	}
	return list
}

// Put makes git have objects that it lacks, or that are damaged there, durably.
// No ref names them by this.
func (r *Repo) Put(ctx context.Context, ids []oid.ID, source gitodb.Source) error {
	w, err := r.writer(&Job{Durable: true, Source: func([]oid.ID) gitodb.Source { return source }})
	if err != nil {
		return err
	}
	defer w.db.Close()
	var rest []oid.ID
	from := w.source(ids)
	for _, id := range ids {
		if !w.db.HasLoose(id) {
			rest = append(rest, id)
			continue
		}
		o, err := from(id) // its file is there, and is no good
		if err == nil {
			err = w.db.ReplaceLoose(id, o)
		}
		if err != nil {
			return err
		}
	}
	if err := w.write(ctx, rest, from); err != nil || len(rest) > looseMax {
		return err
	}
	r.noteLoose(rest, nil)
	return nil
}

// heal writes again what a collection took of our noted objects. What it cannot
// put back is left to whoever finds the chain broken.
func (w *writer) heal() {
	if w.r.own == "" || len(w.r.layout.UnknownExtensions) > 0 {
		return
	}
	w.r.db.Refresh() // a pack that git has replaced is still mapped
	for _, n := range w.r.ownNotes() {
		w.putBack(n)
	}
}

// putBack writes an object again if it is gone.
func (w *writer) putBack(n noted) {
	if w.db.HasLoose(n.id) || w.r.db.Has(n.id) || w.job.Load == nil && len(n.payload) == 0 {
		return
	}
	if o, err := w.noted(n); err == nil { // else of a snapshot that was dropped, or never recorded
		_ = w.db.WriteLoose(n.id, o)
	}
}

// Replenish writes again what was taken of the objects that our ref came to need
// of late, by a collection or a loss of power, as every bridge does.
func (r *Repo) Replenish(load func(id oid.ID) (oid.Kind, []byte, error)) error {
	if r.own == "" {
		return nil
	}
	if _, err := os.Lstat(r.own + ".loose"); err != nil {
		return nil
	}
	w, err := r.writer(&Job{Load: load})
	if err != nil {
		return err
	}
	w.heal()
	return w.db.Close()
}

// ownNotes reads all notes of objects.
func (r *Repo) ownNotes() []noted {
	return r.looseNotes(append(readNotes(r.own+".loose.old"), readNotes(r.own+".loose")...))
}

// noted gives an object that was noted.
func (w *writer) noted(n noted) (Object, error) {
	switch {
	case len(n.payload) > 0:
		return gitodb.Payload(oid.Commit, n.payload), nil
	case n.id == w.r.emptyTree():
		return gitodb.Payload(oid.Tree, nil), nil
	}
	kind, payload, err := w.job.Load(n.id)
	return gitodb.Payload(kind, payload), err
}

// Heal reads back the objects of ours that have files of their own, and writes
// anew those that are not as they were written. What load does not give and is
// damaged is of no use to anybody, and goes.
func (r *Repo) Heal(ctx context.Context, load func(id oid.ID) (oid.Kind, []byte, error)) error {
	w, err := r.writer(&Job{Load: load, Durable: true})
	if err != nil || r.own == "" || len(r.layout.UnknownExtensions) > 0 {
		return err
	}
	defer w.db.Close()
	for _, n := range r.ownNotes() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n.found || w.db.SoundLoose(n.id) {
			continue
		}
		o, err := w.noted(n)
		switch {
		case err == nil:
			err = w.db.ReplaceLoose(n.id, o)
		default:
			err = w.db.RemoveLoose(n.id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Complete reports why git may have objects that it does not show; see
// [gitodb.DB.Complete].
func (r *Repo) Complete() error { return r.db.Complete() }

// Look returns nil if git has an object, gitodb.ErrNotFound if it has not, as far
// as [Repo.Complete] says, and any other error if that cannot be told.
func (r *Repo) Look(id oid.ID) error {
	_, err := r.db.Length(id)
	return err
}

// HasLoose reports whether an object has a file of its own, whatever is in it.
func (r *Repo) HasLoose(id oid.ID) bool { return r.db.HasLoose(id) }

// tidy packs our objects when they are many, and our packs. It does nothing
// while another process does. The errors are of no consequence: it is tried
// again after the next snapshot.
func (w *writer) tidy(ctx context.Context) error {
	r := w.r
	st, err := os.Lstat(r.own + ".loose")
	if r.own == "" || !r.files() || err != nil || st.Size() < int64(looseFold*(r.Algorithm().Size()+2)) {
		return nil
	}
	held, err := durable.TryLock(r.own+".tidy.lock", durable.Exclusive)
	if err != nil {
		return nil
	}
	err = w.packLoose(ctx)
	if err == nil {
		err = w.packPacks(ctx)
	}
	return errors.Join(err, held.Unlock())
}

// forget packs what is noted and drops the notes, when the ref lets go of
// snapshots: what only they had must not be written again by [writer.heal] when
// git has collected it.
func (w *writer) forget(ctx context.Context) {
	if w.r.own == "" || !w.r.files() {
		return
	}
	held, err := durable.Lock(ctx, w.r.own+".tidy.lock", durable.Exclusive)
	if err != nil {
		return
	}
	if err := w.packLoose(ctx); err != nil {
		_ = durable.Remove(w.r.own + ".loose")
		_ = durable.Remove(w.r.own + ".loose.old")
	}
	_ = held.Unlock()
}

// packLoose moves our objects from files of their own into one pack.
func (w *writer) packLoose(ctx context.Context) error {
	w.r.db.Refresh()
	now := w.r.own + ".loose"
	old := now + ".old" // what others note meanwhile goes into a new file
	if _, err := durable.Look(old); err != nil {
		if err := durable.Move(now, old); err != nil {
			return err
		}
	}
	for notes, last := readNotes(old), -1; len(notes) != last; notes = readNotes(old) {
		last = len(notes) // who opened the file before it was renamed may still append to it
		var ids []oid.ID
		for _, n := range w.r.looseNotes(notes) {
			w.putBack(n) // a note goes only when its object is safe
			if !n.found {
				ids = append(ids, n.id)
			} else if err := w.db.SyncLoose(n.id); err != nil { // theirs stays where it is
				return err
			}
		}
		name, objects, err := w.db.Repack(ctx, ids, nil)
		if err != nil {
			return err
		}
		w.r.notePack(name, objects)
	}
	return durable.Remove(old)
}

// packPacks makes one pack of many small ones of ours, and one of many larger
// ones. A multi-pack index may name them: then git itself takes care of them.
func (w *writer) packPacks(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(w.r.layout.Objects, "pack", "multi-pack-index")); err == nil {
		return nil
	}
	notes := w.r.own + ".packs"
	var small, large, stay []ownPack
	for _, p := range w.packNotes(readNotes(notes)) {
		if p.objects < packSmall {
			small = append(small, p)
		} else {
			large = append(large, p)
		}
	}
	for _, list := range [][]ownPack{small, large} {
		if len(list) < packsMax {
			stay = append(stay, list...)
			continue
		}
		var names []string
		for _, p := range list {
			names = append(names, p.name)
		}
		name, objects, err := w.db.Repack(ctx, nil, names)
		if err != nil {
			return err
		}
		stay = append(stay, ownPack{filepath.Base(name), objects})
	}
	var lines []byte
	for _, p := range stay {
		lines = append(lines, p.line()...)
	}
	return durable.WriteFile(notes, lines, 0o600)
}

// An ownPack is a pack that we wrote, with the number of its objects.
type ownPack struct {
	name    string // without directory and extension
	objects int
}

func (p ownPack) line() []byte { return fmt.Appendf(nil, "%s %d\n", p.name, p.objects) }

// packNotes decodes the notes of packs that are still there.
func (w *writer) packNotes(p []byte) (list []ownPack) {
	seen := map[string]bool{}
	for line := range bytes.Lines(p) {
		name, number, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		n, err := strconv.Atoi(number)
		if err != nil || seen[name] || !w.db.HasPack(name) {
			continue
		}
		seen[name] = true
		list = append(list, ownPack{name, n})
	}
	return list
}
