package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/gitconf"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/ledger"
)

// Kinds of remembered places: a directory of an agent, with its sessions in
// folders below sessions/, or a directory of sessions.
const (
	placeAgent    = "agent"
	placeSessions = "sessions"
)

// placesHere lists the directories that this process knows of: from the
// environment, which Pi hands down to what it starts, from the settings, and
// where Pi keeps them if nobody says otherwise.
func (e *Engine) placesHere() map[string]string {
	places := map[string]string{}
	add := func(dir, kind string) {
		if filepath.IsAbs(dir) {
			places[filepath.Clean(dir)] = kind
		}
	}
	add(e.opt.Getenv("PI_CODING_AGENT_DIR"), placeAgent)
	add(e.opt.Getenv("PI_CODING_AGENT_SESSION_DIR"), placeSessions)
	for _, dir := range e.conf.agentDirs {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(e.home(), rest)
		}
		add(dir, placeAgent)
	}
	add(filepath.Join(e.home(), ".pi", "agent"), placeAgent)
	return places
}

// rememberPlaces keeps what this process knows of in the store, so that a
// prune that is started elsewhere knows it too.
func (e *Engine) rememberPlaces(u *cas.Update) error {
	for dir, kind := range e.placesHere() {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		known, err := u.Table(tablePlaces).Value([]byte(dir))
		if err == nil && string(known) == kind {
			continue
		}
		if err != nil && !errors.Is(err, cas.ErrNotFound) {
			return err
		}
		if err := u.Table(tablePlaces).Put([]byte(dir), []byte(kind)); err != nil {
			return err
		}
	}
	return nil
}

// places lists every directory in which sessions of this store may lie.
func (e *Engine) places(ctx context.Context) (ledger.Places, error) {
	all := e.placesHere()
	err := e.view(ctx, func(v *cas.View) error {
		for dir, kind := range v.Table(tablePlaces).All() {
			all[string(dir)] = string(kind)
		}
		return nil
	})
	var p ledger.Places
	for dir, kind := range all {
		if kind == placeSessions {
			p.SessionDirs = append(p.SessionDirs, dir)
		} else {
			p.AgentDirs = append(p.AgentDirs, dir)
		}
	}
	slices.Sort(p.AgentDirs)
	slices.Sort(p.SessionDirs)
	return p, err
}

// references is what the sessions of a repository refer to: the union over
// all of them that can be found.
type references struct {
	live     map[oid.ID]ledger.Reference
	scanned  map[oid.ID]bool // of the sessions that the scan mode is about
	sessions map[string]bool // the ids of all sessions that were found
	files    int             // ledgers that were read
	places   bool            // there is a directory of sessions at all
}

// ErrUnseen is reported where a ledger that may refer to snapshots cannot be
// looked at: then nothing is dropped.
var ErrUnseen = errors.New("sessions cannot be read")

// look reads the ledgers. A session file that cannot be read as one keeps every
// id that stands in it; a directory or file that cannot be read at all is
// [ErrUnseen]. Session limits the scan to it and those it was forked from, in
// the scan mode "ancestor-only": the others are seen, but not scanned.
func (e *Engine) look(ctx context.Context, session string) (*references, error) {
	places, err := e.places(ctx)
	if err != nil {
		return nil, err
	}
	r := &references{live: map[oid.ID]ledger.Reference{}, scanned: map[oid.ID]bool{}, sessions: map[string]bool{}}
	for _, dir := range slices.Concat(places.AgentDirs, places.SessionDirs) {
		if _, err := os.Stat(dir); err == nil {
			r.places = true
		}
	}
	concerns, err := e.concerns(ctx)
	if err != nil {
		return nil, err
	}
	lineage := newLineage(session)
	for f := range ledger.Discover(places) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w in the time that was given: %w", ErrUnseen, ctx.Err())
		}
		if f.Err == nil {
			r.sessions[f.Header.ID] = true
			lineage.add(f)
			if !concerns(f.Header) {
				continue
			}
		}
		if err := r.read(f, lineage); err != nil {
			return nil, err
		}
	}
	if e.conf.scanMode == scanAncestors {
		lineage.mark(r.scanned)
	} else {
		r.scanned = nil
	}
	return r, nil
}

// read adds what one file refers to.
func (r *references) read(f ledger.Found, l *lineage) error {
	r.files++
	s, err := ledger.Open(f.Path)
	if err == nil {
		for id, ref := range new(ledger.Sessions).Live(s) {
			r.add(id, ref)
			l.refers(f.Path, id)
		}
		return nil
	}
	ids, again := ledger.Mentioned(f.Path)
	if again != nil {
		return fmt.Errorf("%w, so nothing may be dropped: %w", ErrUnseen, errors.Join(err, again))
	}
	for _, id := range ids {
		r.add(id, ledger.Reference{Reasons: ledger.Unreadable})
	}
	return nil
}

func (r *references) add(id oid.ID, ref ledger.Reference) {
	known := r.live[id]
	known.Reasons |= ref.Reasons
	if ref.Time.After(known.Time) {
		known.Time = ref.Time
	}
	r.live[id] = known
}

// concerns returns the function that says whether a session may refer to
// snapshots of this store: not if its directory is another repository's, or
// outside of every worktree. When in doubt it may.
func (e *Engine) concerns(ctx context.Context) (func(ledger.Header) bool, error) {
	roots, ours := []string{e.root}, map[string]bool{}
	err := e.view(ctx, func(v *cas.View) error {
		all, err := worktrees(v)
		for _, w := range all {
			roots = append(roots, string(w.Root))
		}
		for s, err := range snapshots(v) {
			if err != nil {
				return err
			}
			for _, p := range s.Points {
				ours[p.Session] = true
			}
		}
		return err
	})
	known := map[string]bool{}
	return func(h ledger.Header) bool {
		if ours[h.ID] && h.ID != "" {
			return true
		}
		if _, ok := known[h.Cwd]; !ok {
			known[h.Cwd] = e.mayBeOurs(h.Cwd, roots)
		}
		return known[h.Cwd]
	}, err
}

func (e *Engine) mayBeOurs(cwd string, roots []string) bool {
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil || !filepath.IsAbs(cwd) {
		return true
	}
	if slices.ContainsFunc(roots, func(root string) bool { return within(root, real) }) {
		return true
	}
	if e.repo == nil {
		return false
	}
	l, err := gitconf.Discover(real, &gitconf.Options{Env: e.opt.Getenv})
	switch {
	case errors.Is(err, gitconf.ErrNotRepository):
		return false
	case err != nil:
		return true
	}
	return sameDir(l.CommonDir, e.repo.Layout().CommonDir)
}

// A lineage finds out which files belong to a session and its ancestors.
type lineage struct {
	session string
	path    string              // of the session
	parents map[string]string   // file → the file it was forked from
	ids     map[string][]oid.ID // file → what it refers to
}

func newLineage(session string) *lineage {
	return &lineage{session: session, parents: map[string]string{}, ids: map[string][]oid.ID{}}
}

func (l *lineage) add(f ledger.Found) {
	if l.session == "" {
		return
	}
	path := filepath.Clean(f.Path)
	l.parents[path] = filepath.Clean(f.Header.ParentSession)
	if f.Header.ID == l.session {
		l.path = path
	}
}

func (l *lineage) refers(path string, id oid.ID) {
	if l.session != "" {
		l.ids[filepath.Clean(path)] = append(l.ids[filepath.Clean(path)], id)
	}
}

// mark notes what the session and those it was forked from refer to.
func (l *lineage) mark(scanned map[oid.ID]bool) {
	seen := map[string]bool{}
	for at := l.path; at != "" && !seen[at]; at = l.parents[at] {
		seen[at] = true
		for _, id := range l.ids[at] {
			scanned[id] = true
		}
	}
}

// follow makes what is said of an id count for the snapshot that the id means
// now: ledgers go on naming what a purge renamed, and what was imported.
func (r *references) follow(aliases map[oid.ID]oid.ID) {
	for id, ref := range maps.Clone(r.live) {
		if now := aliases[id]; !now.IsZero() && now != id {
			r.add(now, ref)
		}
	}
	for id := range maps.Clone(r.scanned) {
		if now := aliases[id]; !now.IsZero() {
			r.scanned[now] = true
		}
	}
}

// latest returns when anything last referred to a snapshot.
func (r *references) latest(s *Snapshot) time.Time {
	at := s.Time
	for _, p := range s.Points {
		if p.Time.After(at) {
			at = p.Time
		}
	}
	if ref := r.live[s.ID]; ref.Time.After(at) {
		at = ref.Time
	}
	return at
}
