package away

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A Distant is a snapshot of ours in a remote.
type Distant struct {
	*restic.Snapshot
	Of      oid.ID // its id here
	full    oid.ID // the snapshot that it lacks something of, which stays on its machine; zero: it is whole
	History string
	Undo    bool // only restores have taken it

	Copies []*Distant // other files of the same snapshot, as restic writes when a tag is changed: one of them may be whole
}

// Has reports whether a tag of the snapshot begins with a word and ends with a text.
func (d *Distant) Has(word, text string) bool { return slices.Contains(d.Tags, word+text) }

// Said returns what tags say of a word, such as "label:".
func (d *Distant) Said(word string) (all []string) {
	for _, t := range d.Tags {
		if rest, ok := strings.CutPrefix(t, word); ok {
			all = append(all, rest)
		}
	}
	return all
}

// Snapshots lists the snapshots of ours, newest first, each id once, the file with most tags first. What cannot be
// read is told, and left out.
func (s *Session) Snapshots(ctx context.Context, bad func(error)) ([]*Distant, error) {
	if s.git != nil {
		return s.git.list(ctx, bad)
	}
	all, err := s.repo.Snapshots(ctx, bad)
	if err != nil {
		return nil, err
	}
	return ours(all), nil
}

// ours are the snapshots of ours among some, newest first.
func ours(all []*restic.Snapshot) (out []*Distant) {
	var list []*Distant
	for _, snap := range all {
		if d := distant(snap); d != nil {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *Distant) int {
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		if whole := a.full.IsZero(); whole != b.full.IsZero() {
			if whole {
				return -1
			}
			return 1
		}
		return len(b.Tags) - len(a.Tags) // points are added
	})
	first := map[oid.ID]*Distant{}
	for _, d := range list {
		if f := first[d.Of]; f != nil {
			f.Copies = append(f.Copies, d)
			continue
		}
		first[d.Of] = d
		out = append(out, d)
	}
	return out
}

// original is the snapshot that was recorded.
func (d *Distant) original() oid.ID {
	if d.full.IsZero() {
		return d.Of
	}
	return d.full
}

// withoutParts leaves out snapshots that lack something, where the whole ones are there too.
func withoutParts(list []*Distant) []*Distant {
	whole := map[oid.ID]bool{}
	for _, d := range list {
		whole[d.Of] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(d *Distant) bool { return !d.full.IsZero() && whole[d.full] })
}

// distant reads the tags of a snapshot; nil: it is not ours.
func distant(snap *restic.Snapshot) *Distant {
	d := &Distant{Snapshot: snap}
	for _, text := range d.Said(idTag) {
		d.Of, _ = oid.Parse(text)
	}
	for _, text := range d.Said(ofTag) {
		d.full, _ = oid.Parse(text)
	}
	for _, text := range d.Said(historyTag) {
		d.History = text
	}
	d.Undo = d.Has(undoTag, "")
	if !d.Has(oursTag, "") || d.Of.IsZero() || len(d.Paths) == 0 {
		return nil
	}
	return d
}

// ErrChoose is reported where a remote has several snapshots that may be meant, or none.
var ErrChoose = errors.New("which snapshot is not clear")

// skewMost is how far clocks of machines are apart of which none is wrong.
const skewMost = time.Minute

// choose returns the newest snapshot that somebody recorded on purpose, and that is meant: by the beginning of its
// id, by a label or by a session. With "" all have to be of one worktree. One that is dated more than a day ahead is
// passed over for others. Ahead is the newest if its date is to come, whether it was passed over or not.
func choose(all []*Distant, want string, now time.Time) (d, ahead *Distant, err error) {
	var found []*Distant
	for _, d := range all {
		switch {
		case want == "", d.Has(labelTag, want), d.Has(sessionTag, want):
			if !d.Undo {
				found = append(found, d)
			}
		case len(want) >= 4 && strings.HasPrefix(d.Of.String(), want):
			found = append(found, d)
		}
	}
	switch {
	case len(all) == 0:
		return nil, nil, fmt.Errorf("%w: there is none of rewind yet (\"rewind push\" brings some)", ErrChoose)
	case len(found) == 0:
		return nil, nil, fmt.Errorf("%w: there is none like %q (\"rewind list --remote URL\" lists them)", ErrChoose, want)
	}
	for _, d := range found[1:] {
		if (want == "" || !d.Has(labelTag, want) && !d.Has(sessionTag, want)) && !sameWorktree(d, found[0]) {
			return nil, nil, fmt.Errorf("%w: the remote has snapshots of several directories, such as %s of %.200q and %s of %.200q: say which, as in URL:ID", ErrChoose,
				found[0].Of.Short(), found[0].Paths[0], d.Of.Short(), d.Paths[0])
		}
	}
	if byID := want != "" && strings.HasPrefix(found[0].Of.String(), want); byID {
		return found[0], nil, nil
	}
	if found[0].Time.After(now.Add(skewMost)) {
		ahead = found[0]
	}
	sure := slices.IndexFunc(found, func(d *Distant) bool { return !d.Time.After(now.Add(24 * time.Hour)) })
	return found[max(sure, 0)], ahead, nil
}

// sameWorktree reports whether two snapshots are of one worktree, wherever that was.
func sameWorktree(a, b *Distant) bool {
	return a.History == b.History && slices.Equal(a.Said(worktreeTag), b.Said(worktreeTag))
}

// before returns the snapshots of the same worktree that are not newer than one.
func before(all []*Distant, d *Distant) (older []*Distant) {
	for _, o := range all {
		if o.Of != d.Of && sameWorktree(o, d) && !o.Time.After(d.Time) {
			older = append(older, o)
		}
	}
	return older
}
