package engine

import (
	"context"
	"fmt"

	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/rules"
	"github.com/seed-82afce7a/rewind/gitbridge/foreign"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// layoutKind checks the name of the system whose format is asked for, "" for none.
func (e *Engine) layoutKind(name string) (foreign.Kind, error) {
	if name == "" {
		return "", nil
	}
	if e.repo == nil {
		return "", fmt.Errorf("%w: the layout of %s needs a git repository", ErrRefused, name)
	}
	k, err := foreign.ParseKind(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return k, nil
}

// writeLayout writes a snapshot, which git has, in the format of another system,
// and returns the ref that keeps it there.
func (e *Engine) writeLayout(ctx context.Context, kind foreign.Kind, s *Snapshot, p Point) (string, error) {
	found, err := rules.OpenIndex(e.repo.Layout(), "")
	if err != nil {
		return "", err
	}
	index, err := found.Read()
	if err != nil {
		return "", err
	}
	left, err := e.leftOut(ctx, s)
	if err != nil {
		return "", err
	}
	return foreign.Write(ctx, e.repo, kind, foreign.Snapshot{
		Tree: s.Tree, Time: e.now(), Session: p.Session, Entry: p.Entry, Label: p.Label, Trigger: p.Trigger,
		Index: index, Left: left,
	})
}

// leftOut lists the files that were there and are not in the snapshot's git
// tree: those that were skipped, and those that are in the overlay alone. A
// system that reads the checkpoint must not take them for made since.
func (e *Engine) leftOut(ctx context.Context, s *Snapshot) (paths []string, err error) {
	for _, n := range s.Skipped {
		paths = append(paths, string(n.Path))
	}
	if s.Overlay.IsZero() {
		return paths, nil
	}
	git := tree.State{Tree: s.Tree, Umask: s.Umask}
	for c, err := range tree.Diff(git, s.State(), e.alg, e.objects.Trees(ctx, objects.Reading{})) {
		if err != nil {
			return nil, err
		}
		if c.To.Mode.Type() == tree.File && c.To.Git.Name == "" {
			paths = append(paths, c.Path)
		}
	}
	return paths, nil
}
