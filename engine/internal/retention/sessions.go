// Package retention decides which snapshots of a store stay and which may go.
//
// It reads what the sessions of agents refer to ([Sessions]), weighs that
// against limits, and drops records ([Keeper]). Two things hold always: what a
// pin, the newest snapshot of a worktree, undo, redo or a session needs stays,
// whatever the limits say; and where a ledger that may refer to snapshots cannot
// be looked at, nothing goes ([ErrUnseen]). docs/decisions/0009-retention.md has
// the reasons. It knows no file of the store, of a worktree or of git.
package retention

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/ledger"
)

// Sessions finds the conversations of agents, and what they say of the snapshots
// of a store.
type Sessions struct {
	View   func(context.Context, func(*records.View) error) error
	Update func(context.Context, func(*records.Update) error) error

	Getenv    func(string) string
	Home      string
	AgentDirs []string // of the settings
	Root      string   // of the worktree

	// MayBeOurs reports whether a session that ran in a directory may refer to
	// snapshots of a store with worktrees at these roots. When in doubt it may.
	MayBeOurs func(dir string, roots []string) bool
}

// Kinds of remembered places: a directory of an agent, with its sessions in
// folders below sessions/, or a directory of sessions.
const (
	placeAgent    = "agent"
	placeSessions = "sessions"
)

// here lists the directories that this process knows of: from the
// environment, which Pi hands down to what it starts, from the settings, and
// where Pi keeps them if nobody says otherwise.
func (s *Sessions) here() map[string]string {
	places := map[string]string{}
	add := func(dir, kind string) {
		if filepath.IsAbs(dir) {
			places[filepath.Clean(dir)] = kind
		}
	}
	add(s.Getenv("PI_CODING_AGENT_DIR"), placeAgent)
	add(s.Getenv("PI_CODING_AGENT_SESSION_DIR"), placeSessions)
	for _, dir := range s.AgentDirs {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(s.Home, rest)
		}
		add(dir, placeAgent)
	}
	add(filepath.Join(s.Home, ".pi", "agent"), placeAgent)
	return places
}

// Remember writes into the store in which directories this process finds
// sessions, so that a prune which is started elsewhere looks there too.
func (s *Sessions) Remember(u *records.Update) error {
	for dir, kind := range s.here() {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if err := u.SetPlace(dir, kind); err != nil {
			return err
		}
	}
	return nil
}

// places lists every directory in which sessions of this store may lie, and
// those of them that are missing although they were there once, or somebody
// named them: a disk that is not mounted, a home that is not this one.
func (s *Sessions) places(ctx context.Context) (p ledger.Places, missing []string, err error) {
	all, usual := s.here(), filepath.Join(s.Home, ".pi", "agent")
	named := maps.Clone(all)
	delete(named, usual) // where Pi's are if it is used at all
	err = s.View(ctx, func(v *records.View) error {
		known := v.Places()
		maps.Copy(all, known)
		maps.Copy(named, known)
		return nil
	})
	for dir, kind := range all {
		if kind == placeSessions {
			p.SessionDirs = append(p.SessionDirs, dir)
		} else {
			p.AgentDirs = append(p.AgentDirs, dir)
		}
	}
	for dir := range named {
		if _, err := os.Stat(dir); err != nil {
			missing = append(missing, dir)
		}
	}
	slices.Sort(p.AgentDirs)
	slices.Sort(p.SessionDirs)
	slices.Sort(missing)
	return p, missing, err
}

// ForgetMissing forgets directories that were remembered, and are gone for good.
func (s *Sessions) ForgetMissing(ctx context.Context) error {
	_, missing, err := s.places(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	return s.Update(ctx, func(u *records.Update) (err error) {
		for _, dir := range missing {
			err = errors.Join(err, u.SetPlace(dir, ""))
		}
		return err
	})
}
