// Package gitbridge is a repository as the engine sees it: its objects, its
// HEAD and its settings for reading; and for writing one ref,
// refs/pi-rewind/store, with the snapshots it keeps.
//
// Of the repository nothing else is ever written: no other ref (but one that a
// user asks for, see [Repo.CreateRef]), not HEAD, not the index, of the
// configuration only a setting of ours that a user gives a value, by git itself; and no hook is run. Objects are there
// before the ref that needs them, and everything may be done again after a
// crash (docs/decisions/0005-bridge.md).
//
// The package knows neither the store nor the files of the worktree.
package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// StoreRef is the only ref that is written. pi-rewind-hook keeps its snapshots
// there too.
const StoreRef = "refs/pi-rewind/store"

// ErrUnsupportedRepository is reported where a repository is made in a way that
// only the git program knows, and that program is missing or refuses.
var ErrUnsupportedRepository = errors.New("repository needs the git program")

// ErrMissing is reported for a snapshot of which an object is neither in git
// nor in the store. The error's text names the object.
var ErrMissing = errors.New("object is neither in git nor in the store")

// Options say how a repository is used; nil and the zero value are the
// recommended ones.
type Options struct {
	// Own is where the process notes which lock of the ref is its own, as
	// [gitref.Options] say it; "" is nowhere.
	Own string
	// Birth tells the git directory from any other, as nobody who makes an archive
	// can guess. Notes beside Own that were not made under it put no object back.
	// "" makes no difference between notes.
	Birth string
}

// A Repo is an open repository. It may be shared by goroutines; any number of
// processes, git among them, may work in the same repository.
type Repo struct {
	layout  *gitconf.Layout
	db      *gitodb.DB
	program string // the git program, for what only it can do
	own     string // see Options
	mark    string // ends the names of the jobs whose notes count; see Options.Birth

	conf    func() (*gitconf.Config, error) // read at the first question
	commits commits

	doubt atomic.Int32 // see doubtful
}

// Open returns the repository that was found. It reads nothing yet.
func Open(l *gitconf.Layout, opt *Options) (*Repo, error) {
	db, err := gitodb.Open(l.Objects, l.Algorithm, nil)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", l.GitDir, err)
	}
	r := &Repo{layout: l, db: db, program: "git"}
	if opt != nil {
		r.own = opt.Own
	}
	if opt != nil && opt.Birth != "" {
		r.mark = "." + oid.BLAKE3.Sum(oid.Blob, []byte(opt.Birth)).String()
	}
	r.conf = sync.OnceValues(r.readConfig)
	return r, nil
}

// TakeOver takes what another repository has open of git's objects. It may only be closed
// from now on. Either may be nil: then there is nothing to take.
func (r *Repo) TakeOver(from *Repo) {
	if r != nil && from != nil {
		r.db.TakeOver(from.db)
		if r.own == from.own {
			r.doubt.Store(from.doubt.Load())
		}
	}
}

// Close releases the files that are held.
func (r *Repo) Close() error { return r.db.Close() }

// Layout says where the repository's parts lie; it must not be changed.
func (r *Repo) Layout() *gitconf.Layout { return r.layout }

// Algorithm is the repository's hash.
func (r *Repo) Algorithm() oid.Algorithm { return r.layout.Algorithm }

// readConfig reads the settings in force. Where refs are not files the git
// program knows which branch is checked out.
func (r *Repo) readConfig() (*gitconf.Config, error) {
	if r.files() {
		return r.layout.Config()
	}
	return r.layout.ConfigOn(func() string {
		ref, err := r.programRef("HEAD")
		if branch, ok := strings.CutPrefix(ref.Target, "refs/heads/"); ok && err == nil {
			return branch
		}
		return ""
	})
}

// Config returns the settings in force, as they were when they were first
// asked for.
func (r *Repo) Config() (*gitconf.Config, error) { return r.conf() }

// Has reports whether git has an object. A process that lives long calls
// [Repo.Refresh] before it asks about a new state of things.
func (r *Repo) Has(id oid.ID) bool { return r.db.Has(id) }

// Sizes puts the sizes of n objects, the bytes of whose ids are asked for by
// number, into sizes; -1 where git has none of that id. The objects themselves are not read.
func (r *Repo) Sizes(n int, id func(i int) []byte, sizes []int64) { r.db.Lengths(n, id, sizes) }

// Refresh notices packs that were replaced since they were seen.
func (r *Repo) Refresh() {
	r.commits.forget()
	r.db.Refresh()
}

// Read returns an object that git has, verified. The errors are those of
// [gitodb.DB.Read].
func (r *Repo) Read(id oid.ID) (oid.Kind, []byte, error) { return r.db.Read(id) }

// Stream opens an object of any size; see [gitodb.DB.Stream].
func (r *Repo) Stream(id oid.ID) (Object, error) { return r.db.Stream(id) }

// An Object is an object that is read in pieces.
type Object = gitodb.Object

// A Head is where HEAD is.
type Head struct {
	Commit oid.ID // zero before the first commit
	Branch string // without "refs/heads/"; "" when HEAD is detached
	Tree   oid.ID // the commit's; zero where the commit cannot be read
}

// Head returns where the worktree's HEAD is.
func (r *Repo) Head() (Head, error) {
	ref, err := r.readRef("HEAD")
	if err != nil {
		return Head{}, fmt.Errorf("HEAD: %w", err)
	}
	h := Head{Commit: ref.ID, Branch: strings.TrimPrefix(ref.Target, "refs/heads/")}
	if !h.Commit.IsZero() {
		if c, err := r.commit(h.Commit); err == nil {
			h.Tree = c.Tree
		}
	}
	return h, nil
}

// Tree returns the tree that a name leads to: an object id, a ref, or whatever
// else the git program makes of it (gitrevisions(7)).
func (r *Repo) Tree(ctx context.Context, name string) (oid.ID, error) {
	id, err := r.Algorithm().Parse(name)
	if err != nil {
		if name != "HEAD" && !strings.HasPrefix(name, "refs/") {
			return r.programTree(ctx, name)
		}
		ref, err := r.readRef(name)
		if err != nil {
			return oid.ID{}, err
		}
		id = ref.ID
	}
	kind, payload, err := r.db.Read(id)
	switch {
	case err != nil:
		return oid.ID{}, err
	case kind == oid.Tree:
		return id, nil
	case kind == oid.Commit:
		c, err := DecodeCommit(payload, r.Algorithm())
		return c.Tree, err
	}
	return r.programTree(ctx, name)
}

// commit is ReadCommit for one that may have been read a moment ago. A job asks
// for the head of the chain a dozen times.
func (r *Repo) commit(id oid.ID) (RawCommit, error) {
	if c, ok := r.commits.get(id); ok {
		return c, nil
	}
	return r.ReadCommit(id)
}

// ReadCommit reads a commit that git has. The errors are those of [Repo.Read],
// and ErrMalformed, also for an object of another kind.
func (r *Repo) ReadCommit(id oid.ID) (RawCommit, error) {
	kind, payload, err := r.db.Read(id)
	if err != nil {
		return RawCommit{}, err
	}
	if kind != oid.Commit {
		return RawCommit{}, fmt.Errorf("%v: %w: it is a %v", id, ErrMalformed, kind)
	}
	c, err := DecodeCommit(payload, r.Algorithm())
	if err != nil {
		return RawCommit{}, fmt.Errorf("%v: %w", id, err)
	}
	r.commits.put(id, c)
	return c, nil
}

const (
	// commitsMax is how many commits are remembered.
	commitsMax = 16
	// commitBytesMax is the largest message and the most parents, as digits, of one that
	// is: other programs write what they like into theirs.
	commitBytesMax = 256 << 10
)

// commits remembers commits that were read since [Repo.Refresh] or [Repo.Sound], or
// since a job began. No job relies on what was there before it.
type commits struct {
	mu   sync.Mutex
	read map[oid.ID]RawCommit
}

func (c *commits) get(id oid.ID) (p RawCommit, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok = c.read[id]
	return p, ok
}

func (c *commits) put(id oid.ID, p RawCommit) {
	if len(p.Message)+len(p.Parents)*2*id.Len() > commitBytesMax {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil || len(c.read) == commitsMax {
		c.read = make(map[oid.ID]RawCommit, commitsMax)
	}
	p.Parents = slices.Clip(p.Parents)
	c.read[id] = p
}

func (c *commits) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = nil
}

// Identity returns who the snapshots are by, "Name <mail>": the user's own
// settings, or rewind's name for what is not set. Variables of the environment
// that an agent may have set for its commits have no say.
func (r *Repo) Identity() string {
	name, mail := "", ""
	if conf, err := r.conf(); err == nil {
		name, _ = conf.String("user.name")
		mail, _ = conf.String("user.email")
	}
	if name = clean(name); name == "" {
		name = "rewind"
	}
	if mail = clean(mail); mail == "" {
		mail = "rewind@localhost"
	}
	return name + " <" + mail + ">"
}

// clean drops what may not stand in a name or an address of a commit.
func clean(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '<' || c == '>' {
			return -1
		}
		return c
	}, s)
	return strings.Trim(s, " .,:;\"\\'")
}

// files reports whether refs are files that we write ourselves.
func (r *Repo) files() bool {
	l := r.layout
	return (l.RefStorage == "" || l.RefStorage == "files") && len(l.UnknownExtensions) == 0
}

// refuses says why nothing can be brought into git at all, not even by the git
// program: for then it would be where the user's git does not see it, or refused.
func (r *Repo) refuses() error {
	l := r.layout
	if l.RefsElsewhere != "" {
		return fmt.Errorf("%w: GIT_REFERENCE_BACKEND=%s lets the git commands of this environment keep refs elsewhere than the repository says: %s", ErrUnsupportedRepository, l.RefsElsewhere, l.RefStorage)
	}
	if name := l.Extensions["compatobjectformat"]; name != "" {
		return fmt.Errorf("%w: with extensions.compatObjectFormat = %s every object has a second name, which only the git commands that make objects themselves give it", ErrUnsupportedRepository, name)
	}
	return nil
}

func (r *Repo) readRef(name string) (gitref.Ref, error) {
	if r.files() {
		return r.refs(nil).Read(name)
	}
	return r.programRef(name)
}

func (r *Repo) refs(opt *gitref.Options) *gitref.Store {
	return gitref.Open(r.layout.GitDir, r.layout.CommonDir, r.Algorithm(), opt)
}

// hasProgram reports whether the git program can be started.
func (r *Repo) hasProgram() bool {
	_, err := exec.LookPath(r.program)
	return err == nil
}
