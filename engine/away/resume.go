package away

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/engine/internal/lookup"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// Fetch records the snapshots of this history that a remote has and this store has not: those that other machines have
// brought there, too. They are beside those of the worktree: none becomes its last.
func (r *Remotes) Fetch(ctx context.Context, s *Session) (*Fetched, error) {
	history, err := r.History(ctx)
	if err != nil {
		return nil, err
	}
	var left []records.Note
	list, err := s.Snapshots(ctx, func(err error) { left = append(left, records.Note{Reason: err.Error()}) })
	if err != nil {
		return nil, err
	}
	others := map[string]bool{}
	if s.git == nil { // the other kind is of one repository
		list = withoutParts(slices.DeleteFunc(list, func(d *Distant) bool {
			others[d.History] = d.History != history
			return others[d.History]
		}))
		delete(others, history)
	}
	in, err := r.receive(ctx, s)
	if err != nil {
		return nil, err
	}
	defer in.close()
	out, err := in.take(list, "", false)
	if err != nil {
		return nil, err
	}
	out.Others, out.Left = len(others), append(out.Left, left...)
	out.Bridge = r.Bridge(ctx) // also what an earlier one could not bring there
	return out, nil
}

// A Filling writes a snapshot into the worktree while its contents come. It is ended by Finish or Close.
type Filling interface {
	// Arrive writes what wants a content, which has been compared with its id. Any number of goroutines may call it.
	Arrive(ctx context.Context, id oid.ID, payload []byte) error
	// Finish writes what has not arrived, from the store, and makes all of it durable.
	Finish(ctx context.Context) (*Written, error)
	// Close gives up. What was written stays.
	Close()
}

// A Written says what was written of a snapshot, and which paths could not be.
type Written struct {
	Files     int
	Conflicts []records.Note
}

// A Resumed says what a resume did. Snapshot is what the directory is now.
type Resumed struct {
	Remote   string // its name here
	Snapshot *records.Snapshot
	Written  *Written
	Fetched  *Fetched       // the history that came with it
	AtHome   []records.Note // paths that stay on the machine that recorded the snapshot
	Ahead    *Distant       // not nil: it is the newest by its date, which is still to come
}

// Resume makes the worktree, which is empty and has no history, what a snapshot in a remote is, and goes on there with
// the history that led to it, under the same ids. Want is the beginning of an id, a label or a session; "" is the
// newest. A resume that was interrupted is taken up by the next. It is refused where something else is.
func (r *Remotes) Resume(ctx context.Context, m Remote, password, want string) (*Resumed, error) {
	s, err := r.OpenAny(ctx, m, password)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	m.Repo = s.id
	var bad error
	var left []records.Note
	all, err := s.Snapshots(ctx, func(err error) {
		bad, left = errors.Join(bad, err), append(left, records.Note{Reason: err.Error()})
	})
	if err != nil {
		return nil, err
	}
	if _, _, err := r.meant(ctx, all, want); err != nil {
		return nil, errors.Join(err, bad)
	}
	unlock, err := r.resumingAlone(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	d, ahead, err := r.meant(ctx, all, want) // another one may have been at work until now
	if err != nil {
		return nil, errors.Join(err, bad)
	}
	empty, err := r.claim(ctx, d, m)
	if err != nil {
		return nil, err
	}
	in, err := r.receive(ctx, s)
	if err != nil {
		return nil, err
	}
	defer in.close()
	out, err := r.goOn(ctx, in, empty, before(withoutParts(all), d), d)
	if err == nil {
		out.Ahead, out.Fetched.Left = ahead, append(out.Fetched.Left, left...) // one of these may be newer
		out.AtHome, err = r.stayed(ctx, out.Snapshot)
	}
	if err == nil {
		err = r.change(ctx, func(l *list) error {
			out.Remote, l.Begun, l.Resuming = l.Begun, "", oid.ID{}
			return nil
		})
	}
	return out, err
}

// meant returns the snapshot that a resume brings, and one whose date is to come, as choose does.
func (r *Remotes) meant(ctx context.Context, all []*Distant, want string) (d, ahead *Distant, err error) {
	among, err := r.toGoOn(ctx, all, want)
	if err != nil {
		return nil, nil, err
	}
	return choose(among, want, r.Owner.Now())
}

// resumingAlone waits for other resumes into the worktree: of two that find it empty each would take the files of the
// other for somebody else's. A worktree that is refused is not touched.
func (r *Remotes) resumingAlone(ctx context.Context) (unlock func(), err error) {
	there, err := os.ReadDir(r.Root)
	if err != nil {
		return nil, err
	}
	if l, err := r.read(); err != nil || len(there) > 0 && l.Begun == "" {
		return func() {}, err
	}
	if err := durable.MakeDir(r.at()); err != nil {
		return nil, err
	}
	lock, err := durable.Lock(ctx, filepath.Join(r.Dir, filepath.FromSlash(ResumeLock)), durable.Exclusive)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// toGoOn are the snapshots that a resume chooses among. One that was interrupted is not taken for done because what is
// here was recorded, and pushed, as far as it had come.
func (r *Remotes) toGoOn(ctx context.Context, all []*Distant, want string) (among []*Distant, err error) {
	l, err := r.read()
	if err != nil || l.Begun == "" || want != "" {
		return all, err
	}
	err = r.View(ctx, func(v *records.View) error {
		for _, d := range all {
			known, err := v.Recorded(d.Of)
			if err != nil {
				return err
			}
			if !known || d.Of == l.Resuming {
				among = append(among, d)
			}
		}
		return nil
	})
	if len(among) == 0 {
		among = all
	}
	return among, err
}

// follow notes the history that a new store goes on with, and what of it is brought. Anew says that a resume had begun
// of which nothing has come: it is forgotten, and so is where it was from.
func (r *Remotes) follow(ctx context.Context, d *Distant, m Remote, anew bool) error {
	return r.change(ctx, func(l *list) error {
		if l.History != "" && l.History != d.History {
			if !anew {
				return fmt.Errorf("%w: this directory goes on with another history", records.ErrRefused)
			}
			l.Remotes = slices.DeleteFunc(l.Remotes, func(o Remote) bool { return o.Name == l.Begun })
		}
		l.History, l.Begun, l.Resuming = d.History, l.put(m), d.Of
		return nil
	})
}

// put adds a remote that is not among them yet, and returns its name. A repository that lies elsewhere now has one name
// all the same, and no two have the same.
func (l *list) put(m Remote) string {
	name := m.Name
	for n := 2; ; n++ {
		i := slices.IndexFunc(l.Remotes, func(o Remote) bool { return o.Name == m.Name })
		if i < 0 {
			l.Remotes = append(l.Remotes, m)
			return m.Name
		}
		if o := l.Remotes[i]; o.Repo == m.Repo && o.Git == m.Git {
			l.Remotes[i] = m
			return m.Name
		}
		m.Name = fmt.Sprintf("%s-%d", name, n)
	}
}

// Begun returns from where a resume into the worktree has begun that has not ended; "": there is none.
func (r *Remotes) Begun() (string, error) {
	l, err := r.read()
	if err != nil || l.Begun == "" {
		return "", err
	}
	if i := slices.IndexFunc(l.Remotes, func(m Remote) bool { return m.Name == l.Begun }); i >= 0 {
		return l.Remotes[i].URL, nil
	}
	return "a remote that was removed since", nil
}

// stayed returns the paths of a snapshot that stay on the machine that recorded it.
func (r *Remotes) stayed(ctx context.Context, s *records.Snapshot) (out []records.Note, err error) {
	full := *s
	err = (&lookup.Reader{Objects: r.Objects}).Fill(ctx, &full)
	for _, n := range full.Skipped {
		if n.Reason == retention.AtHome {
			out = append(out, n)
		}
	}
	return out, err
}

// OpenAny opens a remote that may be of another history, or of another kind of store, than this one, to read it.
func (r *Remotes) OpenAny(ctx context.Context, m Remote, password string) (*Session, error) {
	if m.Git {
		return r.openGit(ctx, m, true)
	}
	p, err := r.Place(m.URL)
	if err != nil {
		return nil, err
	}
	repo, err := restic.Open(ctx, p, password, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.URL, err)
	}
	if m.Repo != "" && m.Repo != repo.ID() {
		return nil, fmt.Errorf("%s: %w: it is another repository than the one that was added", m.URL, ErrTampered)
	}
	return r.session(repo), nil
}

// claim makes the worktree one of a history, if it is empty or is that already. Empty says that it has no files.
func (r *Remotes) claim(ctx context.Context, d *Distant, m Remote) (empty bool, err error) {
	there, err := os.ReadDir(r.Root)
	if err != nil {
		return false, err
	}
	l, err := r.read()
	if err != nil {
		return false, err
	}
	fresh, err := r.Begin(ctx, algorithmOf(d))
	switch {
	case err != nil:
		return false, err
	case l.Begun != "" && l.History == d.History: // it was interrupted
	case l.Begun != "" && fresh && len(there) == 0: // nothing had come
	case len(there) > 0:
		return false, fmt.Errorf("%w: %s is not empty: resume into an empty directory, or \"rewind fetch\" brings here what a remote has of its history", records.ErrRefused, r.Root)
	case !fresh:
		return false, fmt.Errorf("%w: %s is empty and has a history (\"rewind list\", \"rewind restore @\"): resume into another directory, or \"rewind stores --remove %s\" removes that history", records.ErrRefused, r.Root, r.Root)
	}
	return len(there) == 0, r.follow(ctx, d, m, l.Begun != "" && fresh && len(there) == 0)
}

// algorithmOf tells by what the ids of a history are made.
func algorithmOf(d *Distant) oid.Algorithm {
	for _, text := range d.Said(algorithmTag) {
		if alg, err := oid.ParseAlgorithm(text); err == nil && alg.Size() == d.Of.Len() {
			return alg
		}
	}
	if d.Of.Len() == oid.SHA1.Size() {
		return oid.SHA1
	}
	return oid.BLAKE3
}

// goOn brings a snapshot and the older ones. The files come first: they are what somebody waits for.
func (r *Remotes) goOn(ctx context.Context, in *receiver, empty bool, older []*Distant, d *Distant) (*Resumed, error) {
	out := &Resumed{}
	known, err := records.Read(ctx, r.View, func(v *records.View) (bool, error) { return v.Recorded(d.Of) })
	if err == nil && empty && !known {
		var n *pulled
		if n, out.Written, err = in.bring(d); err == nil {
			out.Snapshot = n.Snapshot
		}
	}
	if err != nil {
		return nil, err
	}
	if out.Fetched, err = in.take(append(older, d), r.Owner.Key, true); err != nil {
		return nil, err
	}
	for _, n := range out.Fetched.Left {
		if string(n.Path) == d.ID.String() {
			return nil, fmt.Errorf("%w: %s", ErrTampered, n.Reason)
		}
	}
	if in.p.s.git == nil {
		left, err := in.inherit(append(older, d), d)
		if err != nil {
			return nil, err
		}
		out.Fetched.Left = append(out.Fetched.Left, left...)
	}
	if out.Written != nil {
		return out, nil
	}
	out.Snapshot, err = records.Read(ctx, r.View, func(v *records.View) (*records.Snapshot, error) { return v.Find(d.Of) })
	if err == nil { // it was interrupted: what is there is compared
		out.Written, err = r.Restore(ctx, d.Of)
	}
	return out, err
}
