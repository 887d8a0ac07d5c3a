package gitbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/internal/alive"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

const (
	// looseFold is how many objects are noted before they are packed.
	looseFold = 256
	// packsMax is how many packs of one size there are before they become one;
	// git packs anew by itself where there are more than 50.
	packsMax = 16
	// packSmall is below how many objects a pack counts as small.
	packSmall = packsMax * looseFold
)

// tidy packs our objects when they are many, and our packs. It does nothing
// while another process does, or while git collects. The errors are of no
// consequence: it is tried again after the next snapshot.
func (w *writer) tidy(ctx context.Context) error {
	r := w.r
	if r.own == "" || !r.files() || w.owed < looseFold || r.collecting() {
		return nil
	}
	held, err := durable.TryLock(r.own+".tidy.lock", durable.Exclusive)
	if err != nil {
		return nil
	}
	w.db.ReleaseDead()
	err = w.packLoose(ctx, false)
	if err == nil {
		err = w.packPacks(ctx)
	}
	return errors.Join(err, held.Unlock())
}

// forget packs what is noted and drops the notes, when the ref lets go of
// snapshots.
func (w *writer) forget(ctx context.Context) {
	if w.r.own == "" || !w.r.files() {
		return
	}
	w.db.ReleaseDead()
	held, err := durable.TryLock(w.r.own+".tidy.lock", durable.Exclusive)
	if err != nil {
		return // who packs has dropped most of them, and nothing is written again that the store has not
	}
	for range 2 { // what somebody did not come to finish, and the rest
		_ = w.packLoose(ctx, true)
	}
	_ = held.Unlock()
}

// packLoose moves the noted objects from files of their own into one pack, and
// drops their notes. Those of a job that has not ended keep both: the ref may not
// name them yet, and a collection that lists the pack would drop them with it.
//
// Nor is anything done while git collects, unless at once: that collection may
// have begun before the ref named what is in a pack that it will drop. One that
// begins later finds everything named.
func (w *writer) packLoose(ctx context.Context, atOnce bool) error {
	now := w.r.own + ".loose"
	old := now + ".old" // what others note meanwhile goes into a new file
	if _, err := durable.Look(old); err != nil {
		if err := durable.Move(now, old); errors.Is(err, os.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	all, mine := w.r.allNotes(), w.r.decodeNotes(readNotes(old))
	if !atOnce && w.r.collecting() {
		return nil
	}
	w.r.db.Refresh()
	tip, err := w.r.tip()
	if err != nil {
		return err
	}
	chain := sync.OnceValue(func() map[oid.ID]bool { return all.chain(tip, w.r.Algorithm()) })
	var ids []oid.ID
	for _, x := range mine.list {
		switch {
		case !all.over(x):
			continue
		case x.kind == noteFound: // theirs stays where it is
			err = w.db.SyncLoose(x.id)
		default:
			w.putBack(x, chain) // a note goes only when its object is safe
			ids = append(ids, x.id)
		}
		if err != nil {
			return err
		}
	}
	name, objects, err := w.db.Repack(ctx, ids, nil)
	if err != nil {
		return err
	}
	w.r.notePack(name, objects)
	return w.carryOver(old, all)
}

// carryOver removes a file of notes that were worked off. What it says of jobs
// that have not ended goes into the file that others append to.
func (w *writer) carryOver(old string, known notes) error {
	var rest []byte
	for line := range bytes.Lines(readNotes(old)) {
		if x, ok := w.r.decodeNote(string(line)); ok && known.stays(x) {
			rest = append(rest, line...)
		}
	}
	if len(rest) > 0 {
		w.r.appendTo(".loose", rest, atOnce)
	}
	return durable.Remove(old)
}

// collecting reports whether git collects garbage now, as git itself tells it: by
// the file gc.pid, whose maker lives and which is not older than half a day
// (git-gc(1), its lock). It may do so on another machine, where its maker cannot be
// asked.
func (r *Repo) collecting() bool {
	here, elsewhere := r.collector()
	return here || elsewhere
}

// collector reports where git collects.
func (r *Repo) collector() (here, elsewhere bool) {
	path := filepath.Join(r.layout.CommonDir, "gc.pid")
	st, err := os.Lstat(path)
	if err != nil || time.Since(st.ModTime()) > 12*time.Hour {
		return false, false
	}
	text, err := regular.Read(path, 1<<10)
	words := strings.Fields(string(text))
	if err != nil || len(words) != 2 {
		return false, true
	}
	host, err := os.Hostname()
	pid, notNumber := strconv.Atoi(words[0])
	if err != nil || host != words[1] || notNumber != nil {
		return false, true
	}
	return alive.Process(pid), false
}

// protecting reports whether what is written now must not be in files of its own:
// while git collects on this machine. A collection that takes long, or another process
// that has its number, must not make so many packs that git begins to pack by itself.
func (r *Repo) protecting() bool {
	here, _ := r.collector()
	packs := 0
	if here {
		for _, p := range r.ownPacks() {
			if r.db.HasPack(p.name) {
				packs++
			}
		}
	}
	return here && packs < 2*packsMax
}

// packPacks makes one pack of many small ones of ours, and one of many larger
// ones. A multi-pack index may name them: then git itself takes care of them.
func (w *writer) packPacks(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(w.r.layout.Objects, "pack", "multi-pack-index")); err == nil {
		return nil
	}
	var small, large, stay []ownPack
	for _, p := range w.r.ownPacks() {
		switch {
		case w.db.Kept(p.name):
			stay = append(stay, p)
		case !w.db.HasPack(p.name): // it is gone
		case p.objects < packSmall:
			small = append(small, p)
		default:
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
	return durable.WriteFile(w.r.own+".packs", lines, 0o600)
}

// An ownPack is a pack that we wrote, with the number of its objects.
type ownPack struct {
	name    string // without directory and extension
	objects int
}

func (p ownPack) line() []byte { return fmt.Appendf(nil, "%s %d\n", p.name, p.objects) }

// ownPacks returns the packs that were noted, each once; it may be gone.
func (r *Repo) ownPacks() (list []ownPack) {
	seen := map[string]bool{}
	for line := range bytes.Lines(readNotes(r.own + ".packs")) {
		name, number, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if n, err := strconv.Atoi(number); err == nil && !seen[name] {
			seen[name] = true
			list = append(list, ownPack{name, n})
		}
	}
	return list
}
