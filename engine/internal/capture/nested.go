package capture

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/rules"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/trust"
	"github.com/seed-82afce7a/rewind/internal/worktree"
)

// nestedRepository returns the function by which the scan learns about a
// directory that has a `.git`: its HEAD, its index, its own rules. Nil means
// that it is no repository, and the directory an ordinary one. With an error
// comes what can be known all the same.
func (c *capture) nestedRepository(texts *rules.Texts) func(context.Context, string) (*worktree.Repo, error) {
	return func(ctx context.Context, rel string) (*worktree.Repo, error) {
		dir := filepath.Join(c.Root, filepath.FromSlash(rel))
		layout, err := gitconf.Nested(dir, &gitconf.Options{Env: c.Rules.Env})
		switch {
		case errors.Is(err, gitconf.ErrNotRepository):
			return nil, nil
		case errors.Is(err, trust.ErrForeign) && c.Objects.Git == nil: // nothing is asked of it
			return &worktree.Repo{Ignore: texts.Chain(texts.Inside(nil))}, c.keepNested(ctx, rel, texts.Inside(nil))
		case err != nil:
			if err := c.keepNested(ctx, rel, texts.Inside(nil)); err != nil {
				return nil, err
			}
			return &worktree.Repo{Ignore: texts.Chain(texts.Inside(nil))}, inWords(err)
		}
		exclude := texts.Inside(layout)
		if err := c.keepNested(ctx, rel, exclude); err != nil {
			return nil, err
		}
		out := &worktree.Repo{Ignore: texts.Chain(exclude)}
		out.Around = c.Objects.Git != nil && dirfd.SameDir(filepath.Join(dir, ".git"), c.Rules.Layout.GitDir)
		out.Head, out.HeadErr = nestedHead(layout)
		index, err := rules.OpenIndex(layout, rel)
		if c.broken[path.Join(rel, ".git")] != nil {
			index, err = rules.NoIndex(), nil
		}
		out.Index, out.IndexStat = index.Read, index.Stat
		return out, err
	}
}

// nestedHead returns the commit that a nested repository is on.
func nestedHead(l *gitconf.Layout) (oid.ID, error) {
	repo, err := gitbridge.Open(l, nil)
	if err != nil {
		return oid.ID{}, err
	}
	defer repo.Close()
	head, err := repo.Head()
	if err != nil {
		err = inWords(err)
	}
	return head.Commit, err
}

// inWords keeps the text of an error and drops what it wraps. The path in that
// is the repository's, and the scan would take it for a file to leave out.
func inWords(err error) error { return errors.New(err.Error()) }

// nestedOnes are the nested repositories that were met. The scan may ask for
// them from several goroutines.
type nestedOnes struct {
	mu   sync.Mutex
	list []records.NestedAt
}

func (n *nestedOnes) add(at records.NestedAt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = slices.DeleteFunc(n.list, func(known records.NestedAt) bool { return known.Path == at.Path }) // of a scan that was begun anew
	n.list = append(n.list, at)
}

func (n *nestedOnes) forget() { n.list = nil }

// among returns those that were repositories: it was asked for plain directories
// too. Their order does not depend on who was asked first.
func (n *nestedOnes) among(paths []string) []records.NestedAt {
	list := slices.DeleteFunc(n.list, func(at records.NestedAt) bool { return !slices.Contains(paths, string(at.Path)) })
	slices.SortFunc(list, func(a, b records.NestedAt) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return list
}

// keepNested notes a nested repository, and stages its own ignore rules.
func (c *capture) keepNested(ctx context.Context, rel string, exclude []byte) error {
	at := records.NestedAt{Path: records.Path(rel)}
	if len(exclude) > 0 {
		at.Exclude = c.Objects.Algorithm.Sum(oid.Blob, exclude)
	}
	c.nested.add(at)
	if c.stage == nil || len(exclude) == 0 {
		return nil
	}
	_, err := c.stage.Put(ctx, oid.Blob, exclude, oid.ID{})
	return objects.StoreError(err)
}
