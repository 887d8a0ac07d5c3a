package gitbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// git runs the git program in the repository; see [Repo.command].
func (r *Repo) git(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	if !r.hasProgram() {
		return "", fmt.Errorf("%w, which is not installed: %s", ErrUnsupportedRepository, r.peculiarity())
	}
	cmd, err := r.command(ctx, args...)
	if err != nil {
		return "", err
	}
	cmd.Stdin = stdin
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), &programError{verbOf(args), strings.Join(strings.Fields(complaint.String()), " "), err}
	}
	return strings.TrimSpace(out.String()), nil
}

// verbOf returns what git was asked to do, behind its settings.
func verbOf(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// A programError is what git said when it refused.
type programError struct {
	verb, complaint string
	err             error
}

// Error gives git's own words.
func (e *programError) Error() string {
	return fmt.Sprintf("git %s: %v: %s", e.verb, e.err, e.complaint)
}

// Unwrap gives how the program ended.
func (e *programError) Unwrap() error { return e.err }

// peculiarity says why the program is needed.
func (r *Repo) peculiarity() string {
	if l := r.layout; len(l.UnknownExtensions) > 0 {
		return "extensions " + strings.Join(l.UnknownExtensions, ", ")
	}
	return "its refs are kept as " + r.layout.RefStorage
}

// programRef reads a ref through the git program.
func (r *Repo) programRef(name string) (gitref.Ref, error) {
	ctx := context.Background() // short, and there is nobody to cancel it
	ref := gitref.Ref{Name: name}
	target, err := r.git(ctx, nil, "symbolic-ref", "-q", name)
	if err == nil {
		ref.Target = target
	} else if !ended(err, 1) {
		return ref, unsupported(err)
	}
	out, err := r.git(ctx, nil, "rev-parse", "-q", "--verify", name)
	switch {
	case err == nil:
		ref.ID, err = oid.Parse(out)
	case ended(err, 1) && ref.Target != "":
		err = nil
	case ended(err, 1):
		err = fmt.Errorf("%s: %w", name, gitref.ErrNotFound)
	default:
		err = unsupported(err)
	}
	return ref, err
}

// programTree lets the git program find the tree that a name leads to.
func (r *Repo) programTree(ctx context.Context, name string) (oid.ID, error) {
	if strings.HasPrefix(name, "-") {
		return oid.ID{}, fmt.Errorf("%q: %w", name, gitref.ErrInvalidName)
	}
	if !r.hasProgram() {
		return oid.ID{}, fmt.Errorf("%q: there is no git program to ask what it leads to", name)
	}
	out, err := r.git(ctx, nil, "rev-parse", "-q", "--verify", name)
	if err == nil { // in two steps, for what follows "REV:" is a path
		out, err = r.git(ctx, nil, "rev-parse", "-q", "--verify", out+"^{tree}")
	}
	if err != nil {
		return oid.ID{}, fmt.Errorf("%q leads to no tree: %w", name, err)
	}
	return oid.Parse(out)
}

// unsupported says that the program refuses too.
func unsupported(err error) error {
	if errors.Is(err, ErrUnsupportedRepository) {
		return err
	}
	return fmt.Errorf("%w, and that refuses: %w", ErrUnsupportedRepository, err)
}

// ended reports whether the program ended with a code of its own choice.
func ended(err error, code int) bool {
	e, ok := err.(*programError)
	if !ok {
		return false
	}
	exit, ok := e.err.(*exec.ExitError)
	return ok && exit.ExitCode() == code
}

// programSwap moves a ref through the git program. Git does not say whether
// the ref had moved or what else was wrong, so the ref is read again.
func (r *Repo) programSwap(ctx context.Context, u gitref.Update) error {
	alg := r.Algorithm()
	line := fmt.Sprintf("update %s %s %s\n", u.Name, alg.Digits(u.New), alg.Digits(u.Old))
	_, err := r.git(ctx, strings.NewReader(line), "update-ref", "-m", u.Message, "--stdin")
	if err == nil {
		return nil
	}
	ref, readErr := r.programRef(u.Name) // the time may be over, and git has said what it had to say
	switch {
	case ctx.Err() != nil && readErr == nil && ref.ID == u.New: // it was stopped when it had done so
		return nil
	case (readErr == nil || errors.Is(readErr, gitref.ErrNotFound)) && ref.ID != u.Old:
		return fmt.Errorf("%w: %w", gitref.ErrMoved, err)
	case ctx.Err() != nil:
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnsupportedRepository, err)
}

// programWrite lets the git program take over objects: they are written into a
// pack in a temporary place, which it reads.
func (r *Repo) programWrite(ctx context.Context, ids []oid.ID, source gitodb.Source) error {
	dir, err := os.MkdirTemp("", "rewind-objects-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := gitodb.Open(dir, r.Algorithm(), nil)
	if err != nil {
		return err
	}
	defer db.Close()
	name, err := db.WritePack(ctx, ids, source)
	if err != nil {
		return err
	}
	f, err := os.Open(name + ".pack")
	if err != nil {
		return err
	}
	defer f.Close()
	args := []string{"unpack-objects", "-q"}
	if len(ids) > looseMax {
		args = []string{"index-pack", "--stdin"}
	}
	if _, err := r.git(ctx, f, args...); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsupportedRepository, err)
	}
	return nil
}
