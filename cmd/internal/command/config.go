package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
)

// A configured is what --json prints of config.
type configured struct {
	Settings []settingHere `json:"settings"`
	File     string        `json:"file,omitempty"` // that was changed
}

// A settingHere is a setting as it is in force in a directory.
type settingHere struct {
	Name     string      `json:"name"`
	Values   []valueHere `json:"values"`          // that count, the strongest last; none: it is not set
	Means    string      `json:"means"`           // in a sentence
	Words    []string    `json:"words,omitempty"` // what it may be; not there: a number or, with many, patterns
	Many     bool        `json:"many,omitempty"`  // it may have several values
	Variable string      `json:"variable"`        // of the environment
}

// A valueHere is one value of a setting.
type valueHere struct {
	Value  string `json:"value"`
	Origin string `json:"origin"` // the file where it was set, "environment", "default", or "without git"
}

// A configuring is one call of config.
type configuring struct {
	*app
	unset, global bool
}

func configCommand(a *app) *cobra.Command {
	g := configuring{app: a}
	c := cli.Command("config [NAME [VALUE...]]", "List the settings with value, origin and meaning; give one a value, or take it away", g.args, g.run)
	f := c.Flags()
	f.BoolVar(&g.unset, "unset", false, "take the setting away: config --unset NAME")
	f.BoolVar(&g.global, "global", false, "in your own file, for all repositories and directories")
	c.ValidArgsFunction = g.complete
	return a.JSONFlag(c)
}

func (g *configuring) args(_ *cobra.Command, args []string) error {
	if g.unset && len(args) != 1 {
		return errors.New("--unset takes the NAME alone, as in: rewind config --unset thin")
	}
	if g.global && !g.unset && len(args) < 2 {
		return errors.New("--global says where to set it, as in: rewind config --global thin 30")
	}
	return nil
}

func (g *configuring) run(c *cobra.Command, args []string) error {
	e, err := g.openSettings(c.Context())
	if err != nil {
		return err
	}
	name, file := "", ""
	if len(args) > 0 {
		if name, err = settingNamed(e, args[0]); err != nil {
			return err
		}
	}
	if len(args) > 1 || g.unset {
		file, err = e.Configure(c.Context(), name, args[1:], g.global)
		if errors.Is(err, engine.ErrRefused) {
			return exit.Usage(err)
		}
		if err != nil {
			return err
		}
		if e, err = g.openSettings(c.Context()); err != nil {
			return err
		}
	}
	g.PrintWarnings(e)
	g.tell(e, name, file)
	return nil
}

// openSettings opens a directory for its settings alone: they can be set where nothing may be recorded.
func (g *configuring) openSettings(ctx context.Context) (*engine.Engine, error) {
	g.Close()
	e, err := engine.Open(ctx, g.Dir, &engine.Options{Force: true, NoGit: g.NoGit, NoStore: true})
	g.Engine = e
	return e, err
}

// plainName is a setting's name however people write it: max-age-days, REWIND_MAX_AGE_DAYS.
func plainName(s string) string {
	return strings.TrimPrefix(strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(s)), "rewind")
}

// settingNamed returns the name of the setting that somebody means.
func settingNamed(e *engine.Engine, name string) (string, error) {
	near := &cobra.Command{SuggestionsMinimumDistance: 3} // it knows which names are near
	for _, t := range e.Settings() {
		if plainName(t.Name) == plainName(name) {
			return t.Name, nil
		}
		near.AddCommand(&cobra.Command{Use: strings.TrimPrefix(t.Name, "rewind."), Run: func(*cobra.Command, []string) {}})
	}
	if list := near.SuggestionsFor(plainName(name)); len(list) > 0 {
		return "", exit.Usagef("there is no setting %q; did you mean %s?", name, strings.Join(list, " or "))
	}
	return "", exit.Usagef("there is no setting %q; \"rewind config\" lists them", name)
}

// tell tells of a setting, or of all; file is where it was changed just now.
func (g *configuring) tell(e *engine.Engine, name, file string) {
	out := configured{Settings: []settingHere{}, File: file}
	for _, t := range e.Settings() {
		if name != "" && t.Name != name {
			continue
		}
		s := settingHere{t.Name, []valueHere{}, t.Means, t.Words, t.Many, t.Variable}
		for _, v := range t.Values {
			s.Values = append(s.Values, valueHere{v.Text, v.Origin})
		}
		out.Settings = append(out.Settings, s)
	}
	switch {
	case g.JSON:
		g.PrintJSON(out)
	case name == "":
		for _, s := range out.Settings {
			g.print(s)
			show.Say(g.Out, "    %s\n", s.Means)
		}
	case file == "":
		g.printOne(out.Settings[0])
	default:
		g.printChanged(out.Settings[0], file)
	}
}

func (g *configuring) print(s settingHere) {
	if len(s.Values) == 0 {
		show.Say(g.Out, "%s is not set\n", s.Name)
	}
	for _, v := range s.Values {
		show.Say(g.Out, "%s = %s  (%s)\n", s.Name, show.OneLine(v.Value), v.Origin)
	}
}

func (g *configuring) printOne(s settingHere) {
	g.print(s)
	show.Say(g.Out, "    %s\n", s.Means)
	switch {
	case s.Words != nil:
		show.Say(g.Out, "    it is one of %s; %s in the environment\n", strings.Join(s.Words, ", "), s.Variable)
	case s.Many:
		show.Say(g.Out, "    it may have several values; %s in the environment\n", s.Variable)
	default:
		show.Say(g.Out, "    it is a number, also with k, m or g behind it; %s in the environment\n", s.Variable)
	}
}

// printChanged tells what is so now, and where something else wins over what was set.
func (g *configuring) printChanged(s settingHere, file string) {
	show.Say(g.Out, "changed %s\n", file)
	g.print(s)
	if n := len(s.Values); !s.Many && n > 0 && s.Values[n-1].Origin != file && (!g.unset || s.Values[n-1].Origin != "default") {
		show.Say(g.Err, "rewind: note: %s is set elsewhere too, and that is what counts here: %s\n", s.Name, s.Values[n-1].Origin)
	}
}

// complete offers names of settings, and what one may be.
func (g *configuring) complete(c *cobra.Command, args []string, typed string) (out []string, _ cobra.ShellCompDirective) {
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	e, err := g.openSettings(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, t := range e.Settings() {
		name := strings.TrimPrefix(t.Name, "rewind.")
		switch {
		case len(args) == 0 && strings.HasPrefix(plainName(name), plainName(typed)):
			out = append(out, fmt.Sprintf("%s\t%s", name, t.Means))
		case len(args) == 1 && plainName(args[0]) == plainName(name) && !g.unset:
			for _, word := range t.Words {
				if strings.HasPrefix(word, typed) {
					out = append(out, word)
				}
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
