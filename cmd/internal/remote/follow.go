package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
)

// What a process may take that nobody has begun: time without work, and memory before it collects more often.
const (
	unaskedIdle   = 15 * time.Minute
	unaskedMemory = 200 << 20
)

// follow pushes what is recorded from now on. Unasked says that rewind.autoPush has begun it.
func (a *app) follow(ctx context.Context, e *engine.Engine, name string, unasked bool) error {
	a.LivesOn()
	r := e.Remotes()
	m, err := r.Find(name)
	if err != nil {
		return err
	}
	f := away.Follow{Remote: m}
	f.Open = func(ctx context.Context) (*away.Session, error) {
		password, err := a.passwordOf(ctx, m)
		if err != nil {
			return nil, err
		}
		return r.OpenToPush(ctx, m, password)
	}
	f.Told = func(out *away.Pushed, err error) {
		a.Progress.Clear()
		switch {
		case err != nil:
			show.Say(a.Err, "rewind: %s\n", exit.Sentence(ctx, err))
		case out.Snapshots > 0:
			show.Say(a.Err, "rewind: pushed %s to %s: %s\n", show.Count(out.Snapshots, "snapshot"), m.Name, show.Size(out.Bytes))
		}
	}
	if m.Git && !cli.Vouched(m.URL) {
		return errNotAgreed(m)
	}
	f.Wanted = func() bool { // who says now that secrets stay here does not look for this process first
		now, err := engine.Open(ctx, e.Root(), &engine.Options{Force: a.Force, NoGit: a.NoGit, NoStore: true})
		if err != nil {
			show.Say(a.Err, "rewind: nothing is pushed any more, for the settings cannot be read: %s\n", exit.Sentence(ctx, err))
			return false
		}
		defer now.Close()
		r.AtHome = now.Remotes().AtHome
		return !unasked || autoPush(now) == m.Name && cli.Vouched(m.URL)
	}
	if !unasked {
		if err := cli.Vouch(m.URL); err != nil {
			return err
		}
		if now, runs, err := r.Following(); err == nil && runs {
			return fmt.Errorf("%w: process %d, to %s; it ends by itself once nothing was to be done for a while", away.ErrFollowed, now.PID, now.Remote)
		}
		show.Say(a.Err, "rewind: pushing to %s what is recorded from now on\n", m.Name)
		return r.Follow(ctx, f)
	}
	runtime.GOMAXPROCS(1) // others work here
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(unaskedMemory)
	}
	f.Idle = unaskedIdle
	return r.Follow(ctx, f)
}

// autoPush is the remote that rewind.autoPush names.
func autoPush(e *engine.Engine) string {
	for _, t := range e.Settings() {
		if t.Name == "rewind.autoPush" && len(t.Values) > 0 && t.Values[0].Text != "none" {
			return t.Values[0].Text
		}
	}
	return ""
}

// A Pushing says how the pushes stand that rewind.autoPush asks for.
type Pushing struct {
	Remote  string    `json:"remote"`
	Waiting int       `json:"waiting"`       // snapshots that are not there, or say something new
	Missing int       `json:"missing"`       // that are not there and are not brought: somebody has removed them there, or they are not whole here
	PID     int       `json:"pid,omitempty"` // of the process that pushes; 0: none does now
	Done    time.Time `json:"done,omitzero"` // when everything was there last
	Error   string    `json:"error,omitempty"`
	Failed  time.Time `json:"failed,omitzero"` // when that was
	Next    time.Time `json:"next,omitzero"`   // when it is tried again
	Why     string    `json:"why,omitempty"`   // nothing is pushed by itself

	begins time.Time // from when on a snapshot begins a process
}

// PushingOf tells how the pushes in the background stand; nil: rewind.autoPush names no remote. It asks nobody.
func PushingOf(ctx context.Context, e *engine.Engine) (*Pushing, error) {
	name := autoPush(e)
	if name == "" {
		return nil, nil
	}
	r, p := e.Remotes(), &Pushing{Remote: name}
	m, err := r.Find(name)
	switch {
	case errors.Is(err, away.ErrNoRemote):
		p.Why = fmt.Sprintf("there is no remote %q: \"rewind remote add\" adds one", name)
		return p, nil
	case err != nil:
		return nil, err
	case !cli.Vouched(m.URL):
		p.Why = fmt.Sprintf("it was not added by this user here: \"rewind push %s\" says that it is meant", name)
	}
	b, err := r.Behind(ctx, m)
	if err != nil {
		return nil, err
	}
	p.Waiting, p.Missing = b.Waiting, b.Forgotten+b.Left
	f, runs, err := r.Following()
	if err != nil || f == nil {
		return p, err
	}
	if p.begins = f.Begins(); f.Remote != name { // what has failed to another remote is waited for too
		return p, nil
	}
	if p.Done = f.Done; p.Waiting > 0 { // else another push has done it since
		p.Error, p.Failed = f.Error, f.Failed
	}
	if runs {
		p.PID, p.Next = f.PID, f.Next
	}
	return p, nil
}

// Sentence says it in a line.
func (p *Pushing) Sentence() string {
	if p.Why != "" {
		return fmt.Sprintf("not to %s: %s", p.Remote, p.Why)
	}
	text := fmt.Sprintf("to %s: everything is there", p.Remote)
	if p.Waiting > 0 {
		text = fmt.Sprintf("to %s: %s behind", p.Remote, show.Count(p.Waiting, "snapshot"))
	} else if p.Missing > 0 {
		text = fmt.Sprintf("to %s: all that can be pushed is there", p.Remote)
	}
	if p.Missing > 0 {
		text += fmt.Sprintf("; %s stay away (\"rewind push %s\" says why)", show.Count(p.Missing, "snapshot"), p.Remote)
	}
	if p.Error != "" {
		text += fmt.Sprintf("; the push of %s failed: %s", p.Failed.Local().Format(time.DateTime), p.Error)
	}
	switch {
	case p.PID != 0 && !p.Next.IsZero():
		text += fmt.Sprintf("; process %d tries again at %s", p.PID, p.Next.Local().Format(time.TimeOnly))
	case p.PID != 0 && p.Waiting > 0:
		text += fmt.Sprintf("; process %d is at it", p.PID)
	case p.Waiting > 0 && time.Now().Before(p.begins):
		whole := p.begins.Add(time.Second - 1) // what is left of a second is not shown
		text += fmt.Sprintf("; a snapshot after %s begins a process that pushes", whole.Local().Format(time.TimeOnly))
	case p.Waiting > 0:
		text += "; the next snapshot begins a process that pushes"
	}
	return text
}
