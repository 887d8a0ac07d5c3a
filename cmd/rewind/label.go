package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/engine"
)

func labelCommand(a *app) *cobra.Command {
	var remove bool
	args := func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 2 || remove && len(args) == 1:
			return nil
		case len(args) > 2:
			return fmt.Errorf("%q is too much: a TEXT of several words stands in quotes, as in: rewind label @ \"before the merge\"", args[2])
		}
		return fmt.Errorf("it takes an ID and a TEXT, as in: rewind label @ \"before the merge\"")
	}
	c := verb("label ID TEXT", "Give a snapshot that is there a label, by which it is found; with --remove, take it away", args, func(c *cobra.Command, args []string) error {
		ctx, e, err := a.open(c)
		if err != nil {
			return err
		}
		s, err := e.Resolve(ctx, args[0])
		if err != nil {
			return err
		}
		text := ""
		if len(args) == 2 {
			text = strings.TrimSpace(args[1])
		} else if text, err = onlyLabel(s); err != nil {
			return err
		}
		if text == "" {
			return usagef("label: the TEXT is empty (--remove takes a label away)")
		}
		if err := e.Label(ctx, s.ID, text, remove); err != nil {
			return err
		}
		return a.labelled(ctx, e, s, text, remove)
	})
	c.Flags().BoolVar(&remove, "remove", false, "take a label away: label --remove ID [TEXT]")
	return a.jsonFlag(c)
}

// onlyLabel returns the one label of a snapshot.
func onlyLabel(s *engine.Snapshot) (string, error) {
	list := labelsOf(s)
	switch len(list) {
	case 0:
		return "", fmt.Errorf("%w: %s has no label", engine.ErrNoSnapshot, short(s.ID))
	case 1:
		return list[0], nil
	}
	return "", fmt.Errorf("%w: %s has %d (%s), as in: rewind label --remove %[2]s TEXT", errWhichLabel, short(s.ID), len(list), oneLine(strings.Join(list, ", ")))
}

// labelsOf returns the labels of a snapshot, the newest first.
func labelsOf(s *engine.Snapshot) (labels []string) {
	for _, p := range slices.Backward(s.Points) {
		if p.Label != "" && !slices.Contains(labels, p.Label) {
			labels = append(labels, p.Label)
		}
	}
	return labels
}

// labelled tells what became of a label.
func (a *app) labelled(ctx context.Context, e *engine.Engine, s *engine.Snapshot, text string, removed bool) error {
	switch {
	case a.json:
		now, err := e.Find(ctx, s.ID)
		if err != nil {
			return err
		}
		a.printJSON(map[string]any{"id": idText(now.ID), "labels": append([]string{}, labelsOf(now)...)})
	case removed:
		say(a.out, "%s has the label %q no more\n", short(s.ID), oneLine(text))
	default:
		say(a.out, "%s has the label %q: no prune drops it\n", short(s.ID), oneLine(text))
	}
	return nil
}
