package change

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/process"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/bisect"
)

// The exit codes of a command that tells the verdict, as git has them.
const (
	verdictSkip = 125 // that cannot be told here
	verdictMost = 127 // the last one that is a failure; what is above calls the search off
)

// bisecting is what the verbs of bisect have in common.
type bisecting struct {
	*app
	good, bad string
	paths     []string
}

func bisectCommand(a *app) *cobra.Command {
	b := &bisecting{app: a}
	c := cli.Command("bisect --good ID --bad ID [--path PATH]... -- COMMAND [ARG...]", "Find the first snapshot at which a command fails, and put everything back", cobra.ArbitraryArgs, func(c *cobra.Command, args []string) error {
		return b.run(c, args)
	})
	b.flags(c)
	start := cli.Command("start --good ID --bad ID [--path PATH]...", "Begin a search in which you tell the verdicts", cli.Nothing, func(c *cobra.Command, _ []string) error {
		return b.start(c)
	})
	b.flags(start)
	reset := cli.Command("reset", "Put back what was there before the search, and end it; --force ends it also where that fails", cli.Nothing, func(c *cobra.Command, _ []string) error {
		return b.reset(c)
	})
	c.AddCommand(start,
		b.verdictCommand("good", bisect.Good, "It works here, or at ID"), b.verdictCommand("bad", bisect.Bad, "It fails here, or at ID"),
		b.verdictCommand("skip", bisect.Skipped, "That cannot be told here, or at ID"), a.JSONFlag(reset))
	for _, sub := range c.Commands() {
		sub.Long = cli.Longer(sub)
	}
	return c
}

func (b *bisecting) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&b.good, "good", "", "a snapshot at which it works, by its `ID`")
	f.StringVar(&b.bad, "bad", "", "a later snapshot at which it fails, by its `ID`")
	f.StringArrayVar(&b.paths, "path", nil, "search only among the snapshots that changed this `PATH` (may be said more than once)")
	b.JSONFlag(c)
}

func (b *bisecting) verdictCommand(name string, v bisect.Verdict, short string) *cobra.Command {
	c := cli.Command(name+" [ID]", short, cli.Takes(0, 1, "rewind bisect "+name), func(c *cobra.Command, args []string) error {
		return b.mark(c, v, args)
	})
	return b.JSONFlag(c)
}

// options resolves what the flags say.
func (b *bisecting) options(ctx context.Context, e *engine.Engine) (opt bisect.Options, err error) {
	if b.good == "" || b.bad == "" {
		return opt, exit.Usagef("bisect: --good and --bad are both needed, as in: rewind bisect --good @~9 --bad @ -- make test")
	}
	if opt.Good, err = e.Find(ctx, b.good); err != nil {
		return opt, err
	}
	if opt.Bad, err = e.Find(ctx, b.bad); err != nil {
		return opt, err
	}
	opt.Paths, err = b.Inside(b.paths)
	return opt, err
}

// mistaken makes ends that are none a mistake on the command line.
func mistaken(err error) error {
	if errors.Is(err, bisect.ErrRange) {
		return exit.Usagef("bisect: %w", err)
	}
	if errors.Is(err, bisect.ErrOpen) {
		return fmt.Errorf("%w: \"rewind bisect reset\" ends it, and puts back what was there before", err)
	}
	return err
}

// run searches with a command that tells the verdicts. Whatever happens then, the
// present is put back.
func (b *bisecting) run(c *cobra.Command, args []string) error {
	switch at := c.ArgsLenAtDash(); {
	case at > 0 || at < 0 && len(args) > 0:
		return exit.Usagef("bisect: %q stands before --; the command comes behind it, as in: rewind bisect --good @~9 --bad @ -- make test", args[0])
	case len(args) == 0 && b.good == "" && b.bad == "":
		return exit.Usagef("bisect: --good and --bad are both needed, as in: rewind bisect --good @~9 --bad @ -- make test; \"rewind help bisect\" has more")
	case len(args) == 0:
		return exit.Usagef("bisect: the command is missing behind --, as in: rewind bisect --good @~9 --bad @ -- make test; \"rewind bisect start\" lets you tell the verdicts")
	}
	if !strings.ContainsRune(args[0], os.PathSeparator) {
		if _, err := exec.LookPath(args[0]); err != nil {
			return exit.Usagef("bisect: there is no command %q", args[0])
		}
	}
	ctx, calls, stop := process.CalledOff(c.Context())
	defer stop()
	c.SetContext(ctx)
	ctx, e, err := b.Open(c)
	if err != nil {
		return err
	}
	opt, err := b.options(ctx, e)
	if err != nil {
		return err
	}
	opt.Command = args
	s, err := bisect.Start(ctx, e, &opt)
	if err != nil {
		return mistaken(err)
	}
	defer s.Release()
	why := b.search(ctx, s, args)
	ctx, stop = calls.Again(ctx)
	defer stop()
	if b.EndAfter != nil {
		defer b.EndAfter(ctx, b.Err)()
	}
	return b.end(ctx, s, why)
}

// search runs the command at one snapshot after the other. The error says why the
// search was called off.
func (b *bisecting) search(ctx context.Context, s *bisect.Bisect, args []string) error {
	out := show.BehindWriter(b.Out)
	if b.JSON { // standard output is for the one object
		out = b.Err
	}
	for {
		at, err := s.Next(ctx)
		if ctx.Err() != nil {
			return errCalledOff
		}
		if err != nil || at == nil {
			return err
		}
		b.Progress.Clear()
		show.Say(b.Err, "rewind: %s; testing %s\n", leftText(s), show.LineOf(at))
		code, err := b.verdict(args, out)
		if ctx.Err() != nil {
			return errCalledOff
		}
		if err != nil {
			return err
		}
		t := bisect.Tested{ID: at.ID, Verdict: bisect.Bad, Exit: &code}
		switch code {
		case 0:
			t.Verdict = bisect.Good
		case verdictSkip:
			t.Verdict = bisect.Skipped
		}
		show.Say(b.Err, "rewind: %s is %s (exit %d)\n", at.ID.Short(), t.Verdict, code)
		if err := s.Mark(ctx, t); err != nil {
			return err
		}
	}
}

// errCalledOff ends a search that was interrupted.
var errCalledOff = errors.New("interrupted")

// verdict runs the command and returns its exit code.
func (b *bisecting) verdict(args []string, out io.Writer) (int, error) {
	state, err := b.RunProgram(args, out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.NotFound, nil
	case errors.Is(err, fs.ErrPermission):
		return exit.NotRun, nil
	case err != nil:
		return 0, err
	}
	switch code := state.ExitCode(); {
	case code < 0:
		return 0, fmt.Errorf("the command ended by a signal (%v), which says nothing of the snapshot", state)
	case code > verdictMost:
		return 0, fmt.Errorf("the command ended with %d; above %d calls the search off", code, verdictMost)
	default:
		return code, nil
	}
}

// end puts the present back, and tells what the search came to. Why is the reason
// for which it was called off, nil if it ended by itself.
func (b *bisecting) end(ctx context.Context, s *bisect.Bisect, why error) error {
	b.Progress.Clear()
	if errors.Is(why, context.Canceled) { // the command had ended before Ctrl-C was heard here
		why = errCalledOff
	}
	if errors.Is(why, errCalledOff) {
		show.Say(b.Err, "rewind: interrupted; the files are being put back\n")
	}
	back, err := s.Close(ctx, b.Force)
	if err != nil {
		return fmt.Errorf("the files are not all as they were before the bisect (%s is what was there): \"rewind bisect reset\" puts them back: %w", s.Home().Short(), err)
	}
	if len(back.Conflicts) > 0 {
		return b.notBack(s, back)
	}
	if why != nil {
		b.printLeft(s, back)
		return fmt.Errorf("bisect: %w; the files are as they were before", why)
	}
	return b.printFound(ctx, s)
}

// notBack names what could not be put back. The bisect stands open.
func (b *bisecting) notBack(s *bisect.Bisect, back *engine.Restored) error {
	b.Note("conflict", back.Conflicts)
	show.Say(b.Err, "rewind: the paths above could not be put back (%s has them); \"rewind bisect reset\" tries again, and with --force leaves them as they are\n", s.Home().Short())
	if b.JSON {
		b.PrintJSON(newBisected(s, bisect.Found{}, back))
	}
	return exit.ErrPartial
}

func (b *bisecting) start(c *cobra.Command) error {
	if b.good == "" || b.bad == "" {
		return exit.Usagef("bisect start: --good and --bad are both needed, as in: rewind bisect start --good @~9 --bad @")
	}
	ctx, e, err := b.Open(c)
	if err != nil {
		return err
	}
	opt, err := b.options(ctx, e)
	if err != nil {
		return err
	}
	s, err := bisect.Start(ctx, e, &opt)
	if err != nil {
		return mistaken(err)
	}
	defer s.Release()
	return b.goOn(ctx, s)
}

// standing returns the bisect that stands open; none says what that means where there
// is none.
func (b *bisecting) standing(c *cobra.Command, none string) (context.Context, *engine.Engine, *bisect.Bisect, error) {
	ctx, e, err := b.Open(c)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err := bisect.Open(ctx, e)
	if errors.Is(err, bisect.ErrNone) {
		err = fmt.Errorf("%w: %s", err, none)
	}
	return ctx, e, s, err
}

func (b *bisecting) mark(c *cobra.Command, v bisect.Verdict, args []string) error {
	ctx, e, s, err := b.standing(c, "\"rewind bisect start\" begins one")
	if err != nil {
		return err
	}
	defer s.Release()
	if err := s.Load(ctx); err != nil {
		return mistaken(fmt.Errorf("%w (\"rewind bisect reset\" puts back what was there before)", err))
	}
	t := bisect.Tested{ID: s.At(), Verdict: v}
	if len(args) > 0 {
		named, err := e.Find(ctx, args[0])
		if err != nil {
			return err
		}
		t.ID = named.ID
	}
	if t.ID.IsZero() {
		return exit.Usagef("bisect: nothing is being tested at this moment; write the ID")
	}
	if err := s.Mark(ctx, t); err != nil {
		return mistaken(err)
	}
	return b.goOn(ctx, s)
}

// goOn puts the next snapshot in place, for a person to look at, or ends the search.
func (b *bisecting) goOn(ctx context.Context, s *bisect.Bisect) error {
	at, err := s.Next(ctx)
	b.Progress.Clear()
	if err != nil {
		return fmt.Errorf("%w (\"rewind bisect reset\" puts back what was there before)", err)
	}
	if at == nil {
		return b.end(ctx, s, nil)
	}
	if b.JSON {
		b.PrintJSON(newBisecting(s, at))
		return nil
	}
	show.Say(b.Out, "the files are those of %s\n", show.LineOf(at))
	show.Say(b.Out, "%s; now say: rewind bisect good, bad or skip (reset ends it)\n", leftText(s))
	return nil
}

func (b *bisecting) reset(c *cobra.Command) error {
	ctx, _, s, err := b.standing(c, "there is nothing to put back")
	if err != nil {
		return err
	}
	defer s.Release()
	back, err := s.Close(ctx, b.Force)
	b.Progress.Clear()
	if err != nil {
		if b.Force {
			return fmt.Errorf("the bisect is ended, and the files stay as they are: %w", err)
		}
		return err
	}
	if len(back.Conflicts) > 0 && !b.Force {
		return b.notBack(s, back)
	}
	b.Note("conflict", back.Conflicts)
	b.printLeft(s, back)
	if b.JSON {
		b.PrintJSON(newBisected(s, bisect.Found{}, back))
	} else {
		show.Say(b.Out, "the files are as they were before the bisect (%s)\n", s.Home().Short())
	}
	return cli.Outcome(back)
}

// leftText says how much is still to be tested.
func leftText(s *bisect.Bisect) string {
	left, tests := s.Left()
	return fmt.Sprintf("%s to tell of, about %s", show.Count(left, "snapshot"), show.Count(tests, "test"))
}

// printLeft names the snapshot of what the last test had changed.
func (b *bisecting) printLeft(s *bisect.Bisect, back *engine.Restored) {
	for _, t := range s.Tested() {
		if t.Why != "" {
			show.Say(b.Err, "rewind: %s could not be tested: %s\n", t.ID.Short(), t.Why)
		}
		if !t.Left.IsZero() {
			show.Say(b.Err, "rewind: what was changed while %s was tested is in %s\n", t.ID.Short(), t.Left.Short())
		}
	}
	if !back.Undo.IsZero() {
		show.Say(b.Err, "rewind: what was there until now is in %s\n", back.Undo.Short())
	}
}
