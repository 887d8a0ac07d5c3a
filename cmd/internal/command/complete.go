package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// momentsOffered is how many snapshots a shell is offered to complete an ID.
const momentsOffered = 20

// completeIDs lets the shell complete the IDs that a command takes, with what each
// one is. What lies behind them, and paths, are the shell's own matter.
func (a *app) completeIDs(c *cobra.Command) {
	words := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(c.Use, "[", ""), "]", ""))[1:]
	if !slices.ContainsFunc(words, isID) || c.ValidArgsFunction != nil {
		return
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if last := words[len(words)-1]; at >= len(words) && strings.HasSuffix(last, "...") {
			at = len(words) - 1
		}
		behind := c.ArgsLenAtDash() >= 0 && c.ArgsLenAtDash() < len(args) // cobra puts a -- at the end
		if behind || at >= len(words) || !isID(words[at]) {
			return nil, cobra.ShellCompDirectiveDefault
		}
		end, how := "", cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder
		if strings.Contains(words[at], ":") {
			end, how = ":", how|cobra.ShellCompDirectiveNoSpace
		}
		return a.offer(c.Context(), typed, end), how
	}
}

func isID(word string) bool {
	word, _, _ = strings.Cut(strings.TrimSuffix(word, "..."), ":")
	return word == "ID" || word == "FROM" || word == "TO"
}

// offer lists names that begin with what was typed, each with what it means.
func (a *app) offer(ctx context.Context, typed, end string) (out []string) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	e, err := engine.Open(ctx, a.Dir, &engine.Options{Force: a.Force, NoGit: a.NoGit})
	if err != nil {
		return nil
	}
	defer e.Close()
	add := func(name, what string) {
		if strings.HasPrefix(name, typed) && visible.Line(name) == name {
			out = append(out, name+end+"\t"+what)
		}
	}
	m, _ := show.MomentsOf(ctx, e)
	list, _ := e.List(ctx, &engine.ListOptions{OnPurpose: true, Limit: momentsOffered})
	said := func(s *engine.Snapshot) string {
		return strings.TrimSpace(show.Age(time.Since(s.Time)) + "  " + m.Describe(s))
	}
	for i, s := range list {
		name := "@"
		if i > 0 {
			name = fmt.Sprintf("@~%d", i)
		}
		add(name, said(s))
	}
	for i, op := range m.Ops[:min(len(m.Ops), 3)] {
		add(fmt.Sprintf("undo:%d", i+1), show.Age(time.Since(op.Started))+"  "+m.Replaced(i))
	}
	pins, _ := e.Pins(ctx)
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		add(name, "pinned "+pins[name].Short())
	}
	if len(typed) > 0 { // one that types a digit wants an id, not the others
		for _, s := range list {
			add(s.ID.Short(), said(s))
			if label := s.Label(); label != "" && !strings.Contains(label, ":") {
				add("label:"+label, said(s))
			}
		}
	}
	return out
}
