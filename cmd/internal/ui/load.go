package ui

import (
	"context"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed-82afce7a/rewind/engine"
)

const (
	firstPage  = 256                    // snapshots that are read before all others
	pollEvery  = time.Second            // how often is looked whether the store has changed
	openWithin = 200 * time.Millisecond // how long the first screen has the processors for itself
	settleTime = 25 * time.Millisecond  // how long a row is chosen before it is looked at
)

// What the background tells.
type (
	// listed: the timeline was read.
	listed struct {
		past past
		err  error
		turn int
	}
	// compared: what lies between two states.
	compared struct {
		difference *engine.Diff
		root       *entry
		err        error
		turn       int
	}
	// patched: the lines of a change.
	patched struct {
		patch patch
		err   error
		turn  int
	}
	// edited: how many paths changed since where the files stand.
	edited struct{ paths int }
	// polled: how the store's file looks now.
	polled struct {
		path  string
		stamp stamp
	}
	// recovered: an interrupted operation was finished on the way.
	recovered struct{ restored *engine.Restored }
	// late: what the first screen does not need waits no longer.
	late struct{}
	// beat: time has passed while something is under way.
	beat struct{}
)

// A stamp tells one state of a file from others.
type stamp struct {
	size int64
	time time.Time
}

// list reads the timeline: so many snapshots, 0 for all.
func (m *model) list(limit int) tea.Cmd {
	m.stopList()
	m.turns.list++
	turn, opt := m.turns.list, engine.ListOptions{All: m.timeline.all, Limit: limit, Changes: true}
	cmd, cancel := m.back.call(func(ctx context.Context) tea.Msg {
		p, err := readPast(ctx, m.back.engine, opt)
		return listed{p, err, turn}
	})
	m.stopList = cancel
	return cmd
}

// compare looks what the chosen snapshot changed, or what changed since. Again: of
// the same snapshot as before.
func (m *model) compare() tea.Cmd {
	m.stopCompare()
	m.stopPatch()
	m.turns.compare++
	m.turns.patch++
	m.files.waiting = true
	s, since, turn, wait := m.timeline.shown(), m.since, m.turns.compare, m.settle()
	m.files.of = s
	b := m.back
	cmd, cancel := b.call(func(ctx context.Context) tea.Msg {
		if !rest(ctx, wait) {
			return nil
		}
		b.scan.Lock()
		defer b.scan.Unlock()
		d, err := b.difference(ctx, s, since)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return compared{err: err, turn: turn}
		}
		d.Most = contentMax
		return compared{d, grow(d.Changes), nil, turn}
	})
	m.stopCompare = cancel
	return cmd
}

// settle is how long a row stays chosen before it is looked at: on the first screen
// nobody has moved yet.
func (m *model) settle() time.Duration {
	if !m.opened {
		return 0
	}
	return settleTime
}

// difference compares: the present with where the files stand, if s is nil; with the
// present, if since is set; else with the snapshot before.
func (b *backstage) difference(ctx context.Context, s *engine.Snapshot, since bool) (*engine.Diff, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s == nil {
		here, err := b.engine.Here(ctx)
		if err != nil {
			return nil, err
		}
		return b.engine.Diff(ctx, here, nil, nil)
	}
	if since {
		return b.engine.Diff(ctx, s, nil, nil)
	}
	before, err := b.engine.Before(ctx, s)
	if err != nil {
		return nil, err
	}
	return b.engine.Diff(ctx, before, s, nil)
}

// look counts what changed since where the files stand.
func (m *model) look() tea.Cmd {
	b := m.back
	cmd, _ := b.call(func(ctx context.Context) tea.Msg {
		b.scan.Lock()
		defer b.scan.Unlock()
		here, err := b.engine.Here(ctx)
		if err != nil || here == nil {
			return edited{-1}
		}
		d, err := b.engine.Diff(ctx, here, nil, nil)
		if err != nil {
			return edited{-1}
		}
		return edited{len(d.Changes)}
	})
	return cmd
}

// read reads the lines of the chosen change.
func (m *model) read() tea.Cmd {
	m.stopPatch()
	m.turns.patch++
	e, d, turn := m.files.chosen(), m.files.difference, m.turns.patch
	if e == nil || d == nil {
		m.reading.set(patch{}, nil, "")
		return nil
	}
	m.reading.waiting = true
	m.reading.next = e.path
	changes, wait := e.changes(), m.settle()
	cmd, cancel := m.back.call(func(ctx context.Context) tea.Msg {
		if !rest(ctx, wait) {
			return nil
		}
		p, err := readPatch(ctx, d, changes)
		if ctx.Err() != nil {
			return nil
		}
		return patched{p, err, turn}
	})
	m.stopPatch = cancel
	return cmd
}

// poll looks after a while whether the store has changed.
func (m *model) poll(path string) tea.Cmd {
	cmd, _ := m.back.call(func(ctx context.Context) tea.Msg {
		if path == "" {
			st, err := m.back.engine.Status(ctx)
			if err == nil {
				path = st.Store
			}
		} else if !rest(ctx, pollEvery) {
			return nil
		}
		out := polled{path: path}
		if info, err := os.Stat(path); err == nil {
			out.stamp = stamp{info.Size(), info.ModTime()}
		}
		return out
	})
	return cmd
}

// tick tells in a while that time has passed.
func tick() tea.Cmd {
	return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return beat{} })
}
