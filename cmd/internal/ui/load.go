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
	}
	// compared: what lies between two states.
	compared struct {
		difference *engine.Diff
		root       *entry
		err        error
	}
	// patched: the lines of a change.
	patched struct {
		patch patch
		err   error
	}
	// edited: how many paths changed since where the files stand.
	edited struct{ paths int }
	// polled: how the store's file looks now.
	polled struct {
		path  string
		stamp stamp
	}
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
	m.lists.stop()
	opt := engine.ListOptions{All: m.timeline.all, Limit: limit, Changes: true}
	return m.back.begin(&m.lists, func(ctx context.Context) tea.Msg {
		p, err := readPast(ctx, m.back.engine, opt)
		return listed{p, err}
	})
}

// compare looks what the chosen snapshot changed, or what changed since.
func (m *model) compare() tea.Cmd {
	m.compares.stop()
	m.reads.stop()
	m.files.waiting = true
	s, since, wait, b := m.timeline.shown(), m.since, m.settle(), m.back
	m.files.of = s
	return b.begin(&m.compares, func(ctx context.Context) tea.Msg {
		if !rest(ctx, wait) {
			return nil
		}
		b.scan.Lock()
		defer b.scan.Unlock()
		d, err := b.difference(ctx, s, since)
		if err != nil {
			return compared{err: err}
		}
		d.Most = contentMax
		return compared{d, grow(d.Changes), nil}
	})
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
	return b.call(b.ctx, func(ctx context.Context) tea.Msg {
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
}

// read reads the lines of the chosen change.
func (m *model) read() tea.Cmd {
	m.reads.stop()
	e, d := m.files.chosen(), m.files.difference
	if e == nil || d == nil {
		m.reading.set(patch{}, nil, "")
		return nil
	}
	m.reading.waiting, m.reading.next = true, e.path
	changes, wait := e.changes(), m.settle()
	return m.back.begin(&m.reads, func(ctx context.Context) tea.Msg {
		if !rest(ctx, wait) {
			return nil
		}
		p, err := readPatch(ctx, d, changes)
		return patched{p, err}
	})
}

// poll looks after a while whether the store has changed.
func (m *model) poll(path string) tea.Cmd {
	return m.back.call(m.back.ctx, func(ctx context.Context) tea.Msg {
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
}

// tick tells in a while that time has passed.
func tick() tea.Cmd {
	return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return beat{} })
}
