// Package foreign reads the checkpoints that other systems for coding agents
// keep in a git repository, and writes ours in the format that they list and
// restore themselves.
//
// It promises that reading changes nothing and survives everything: a ref that
// points to a tree, a tag or nothing, a commit that is gone, metadata that are
// cut, forged or of nobody we know are checkpoints that carry an error, and the
// next one is read all the same. What it cannot tell for sure it does not
// claim; what a checkpoint could not have contained is in its [Limits].
// Writing makes new refs and never touches one that exists.
//
// The package knows neither our store nor the worktree's files. The formats
// are those of docs/peers.md.
package foreign

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Kind is a system whose checkpoints are known.
type Kind string

// The systems, by the names of their programs.
const (
	Hook         Kind = "pi-rewind-hook"    // since 1.8: one store ref
	HookV1       Kind = "pi-rewind-hook-v1" // before: one ref a checkpoint
	PiRewind     Kind = "pi-rewind"
	CheckpointPi Kind = "checkpoint-pi"
	Tallow       Kind = "tallow"
	CheckpointSh Kind = "checkpoint.sh"
	LetsCode     Kind = "lets-code" // recognised, not read
	PiUndo       Kind = "pi-undo"   // recognised, not read
)

// Kinds lists the systems whose checkpoints are read and written.
func Kinds() []Kind {
	return []Kind{Hook, HookV1, PiRewind, CheckpointPi, Tallow, CheckpointSh}
}

// ParseKind returns the kind with a name.
func ParseKind(name string) (Kind, error) {
	if k := Kind(name); slices.Contains(Kinds(), k) {
		return k, nil
	}
	return "", fmt.Errorf("%w %q", ErrKind, name)
}

// Errors that a caller branches on.
var (
	// ErrKind is reported for a name that is no system's.
	ErrKind = errors.New("no known system of checkpoints")
	// ErrForeign is carried by a ref in a known place whose commit is of no
	// system that is read.
	ErrForeign = errors.New("not a checkpoint that can be read")
	// ErrMalformed is carried by a checkpoint whose metadata contradict what
	// they should be.
	ErrMalformed = errors.New("malformed checkpoint")
	// ErrCannotWrite is reported for what a format needs and is not there: a
	// session, a commit, a branch.
	ErrCannotWrite = errors.New("that layout cannot hold it")
)

// A Checkpoint is what another system recorded. Fields that its format does not
// have are zero.
type Checkpoint struct {
	Kind     Kind
	Ref      string // "" where several could keep it
	Commit   oid.ID
	Tree     oid.ID
	Time     time.Time
	Identity string // the committer, "Name <mail>"

	Session string
	Entry   string // the conversation's entry it is bound to
	Label   string // one line: the prompt or what was about to happen
	Trigger string
	Branch  string // without refs/heads/
	Turn    int
	Head    oid.ID // may be gone: nothing keeps it
	Index   oid.ID // tree of the index then; may be gone

	Limits Limits
	Err    error // why it cannot be used; then only Ref and perhaps Kind and Commit are to be trusted
}

// Limits say what a checkpoint could not have contained: a path that is not in
// it, and to which they apply, may have been there all the same.
type Limits struct {
	FreshIndex bool     // tracked files that the ignore rules exclude are not in it
	Incomplete bool     // it may be the last commit instead of the files: nothing is known to have been absent
	Names      []string // untracked paths with one of these names as a component were left out
	Paths      []string // these, and what lies below them, were there and may have been left out
}

// Options choose checkpoints; nil and the zero value are all.
type Options struct {
	Kinds []Kind // only these; empty: every one
	// Session returns the file of a session, "" if it is not known; tallow says
	// there more about its checkpoints than in git. May be nil. What cannot be
	// read there is as if it were not said.
	Session func(id string) string
}

// reader is one pass over a repository.
type reader struct {
	repo  *gitbridge.Repo
	alg   oid.Algorithm
	opt   Options
	turns map[string]map[string]tallowTurn // tallow's entries: by session, by ref
}

// places are where checkpoints lie, with the kinds that may lie there.
var places = []struct {
	prefix string
	kinds  []Kind
	read   func(r *reader, c *Checkpoint, raw gitbridge.RawCommit)
}{
	{sharedPrefix, []Kind{HookV1, PiRewind, CheckpointPi}, (*reader).shared},
	{tallowPrefix, []Kind{Tallow}, (*reader).tallow},
	{shPrefix, []Kind{CheckpointSh}, (*reader).checkpointSh},
}

// All yields every checkpoint of other systems: those of the store ref, newest
// link first, then the others by ref. One that cannot be used carries Err. The
// sequence ends with an error only where the repository itself cannot be read
// or the context ends.
func All(ctx context.Context, repo *gitbridge.Repo, opt *Options) iter.Seq2[Checkpoint, error] {
	r := &reader{repo: repo, alg: repo.Algorithm(), turns: map[string]map[string]tallowTurn{}}
	if opt != nil {
		r.opt = *opt
	}
	return func(yield func(Checkpoint, error) bool) {
		if r.wants(Hook) && !r.store(ctx, yield) {
			return
		}
		for _, p := range places {
			if !slices.ContainsFunc(p.kinds, r.wants) {
				continue
			}
			if !r.place(ctx, p.prefix, p.read, yield) {
				return
			}
		}
	}
}

func (r *reader) wants(k Kind) bool {
	return len(r.opt.Kinds) == 0 || slices.Contains(r.opt.Kinds, k)
}

// store yields pi-rewind-hook's snapshots; false: the caller wants no more.
func (r *reader) store(ctx context.Context, yield func(Checkpoint, error) bool) bool {
	for s, err := range r.repo.Snapshots(ctx) {
		c := Checkpoint{Kind: Hook, Ref: gitbridge.StoreRef, Commit: s.ID, Tree: s.Tree, Time: s.Time,
			Identity: s.Identity, Limits: Limits{FreshIndex: true}, Err: s.Err}
		switch {
		case ctx.Err() != nil:
			yield(Checkpoint{}, ctx.Err())
			return false
		case err != nil: // a broken chain hides what is behind it, and nothing else
			return yield(Checkpoint{Kind: Hook, Ref: gitbridge.StoreRef, Err: err}, nil)
		case s.Native:
			continue
		}
		if c.Err == nil {
			c.Err = r.missing(c.Tree)
		}
		if !yield(c, nil) {
			return false
		}
	}
	return true
}

// HookSnapshot returns the snapshot of pi-rewind-hook that a commit is, whether
// the store ref still keeps it or not.
func HookSnapshot(repo *gitbridge.Repo, commit oid.ID) (Checkpoint, bool) {
	raw, err := repo.ReadCommit(commit)
	if err != nil || raw.Native || len(raw.Parents) > 0 || raw.Message != hookSnapshotMessage {
		return Checkpoint{}, false
	}
	r := &reader{repo: repo, alg: repo.Algorithm()}
	c := Checkpoint{Kind: Hook, Ref: gitbridge.StoreRef, Commit: commit, Tree: raw.Tree, Time: raw.Time,
		Identity: raw.Identity, Limits: Limits{FreshIndex: true}}
	return c, r.missing(c.Tree) == nil
}

// place yields the checkpoints below a prefix; false: the caller wants no more.
func (r *reader) place(ctx context.Context, prefix string, read func(*reader, *Checkpoint, gitbridge.RawCommit), yield func(Checkpoint, error) bool) bool {
	refs, err := r.repo.Refs(ctx, prefix)
	if err != nil && len(refs) == 0 && !named(err) {
		yield(Checkpoint{}, err)
		return false
	}
	for _, broken := range each(err) {
		if !yield(Checkpoint{Ref: prefix, Err: broken}, nil) {
			return false
		}
	}
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			yield(Checkpoint{}, err)
			return false
		}
		c := r.checkpoint(ref, read)
		if c.Kind != "" && slices.Contains(Kinds(), c.Kind) && !r.wants(c.Kind) {
			continue
		}
		if !yield(c, nil) {
			return false
		}
	}
	return true
}

// checkpoint reads what one ref points to.
func (r *reader) checkpoint(ref gitbridge.Ref, read func(*reader, *Checkpoint, gitbridge.RawCommit)) Checkpoint {
	c := Checkpoint{Ref: ref.Name, Commit: ref.ID}
	if ref.ID.IsZero() {
		c.Err = fmt.Errorf("%w: it leads to %s, which does not exist", ErrForeign, ref.Target)
		return c
	}
	raw, err := r.repo.ReadCommit(ref.ID)
	if err != nil {
		c.Err = err
		return c
	}
	c.Tree, c.Time, c.Identity = raw.Tree, raw.Time, raw.Identity
	read(r, &c, raw)
	if c.Err == nil {
		c.Err = r.missing(c.Tree)
	}
	return c
}

// missing reports a tree that git does not have. The empty one need not lie in
// a file.
func (r *reader) missing(tree oid.ID) error {
	if r.repo.Has(tree) || tree == r.alg.Sum(oid.Tree, nil) {
		return nil
	}
	return fmt.Errorf("%w: its tree %v is gone", gitbridge.ErrMissing, tree)
}

// named reports whether an error is nothing but a list of refs that are broken.
func named(err error) bool {
	_, many := err.(interface{ Unwrap() []error })
	return many
}

// each splits the errors that were joined.
func each(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// oneLine keeps what comes from prompts from being more than a line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == ' ' }), " ")
}
