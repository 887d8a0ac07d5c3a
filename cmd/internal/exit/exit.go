// Package exit says how a command ends: its exit code, and the sentence for a person.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/fork"
)

// The exit codes of docs/cli.md.
const (
	Done     = 0
	Failed   = 1
	BadUsage = 2
	Unknown  = 3
	Damaged  = 4
	Partial  = 5
)

// ErrPartial ends a command that did what it could and named the rest.
var ErrPartial = errors.New("done in part")

// ErrDamageFound ends a command that has named the damage it found.
var ErrDamageFound = errors.New("damage was found")

// ErrNoPath ends a command of which no path was found.
var ErrNoPath = errors.New("no snapshot has any of these paths")

// ErrNoStore ends a command that names no store, or more than one.
var ErrNoStore = errors.New("no such store")

// ErrWhichLabel ends a command that is to take away a label of several.
var ErrWhichLabel = errors.New("say which label")

// A UsageError is a mistake on the command line.
type UsageError struct{ Err error }

// Error says what is wrong.
func (u UsageError) Error() string { return u.Err.Error() }

// Usage makes an error a mistake on the command line.
func Usage(err error) error { return UsageError{err} }

// Usagef is a mistake on the command line.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Unwrap returns what is wrong.
func (u UsageError) Unwrap() error { return u.Err }

var exits = []struct {
	err  error
	code int
}{
	{ErrPartial, Partial},
	{ErrDamageFound, Damaged},
	{engine.ErrNoSnapshot, Unknown},
	{engine.ErrAmbiguous, Unknown},
	{ErrNoStore, Unknown},
	{ErrNoPath, Unknown},
	{ErrWhichLabel, Unknown},
	{fork.ErrNone, Unknown},
	{engine.ErrDamaged, Damaged},
	{away.ErrTampered, Damaged},
}

// Code is the exit code of a command that ends with an error, or without one.
func Code(err error) int {
	if err == nil {
		return Done
	}
	if exit := Status(0); errors.As(err, &exit) {
		return int(exit)
	}
	if errors.As(err, &UsageError{}) {
		return BadUsage
	}
	for _, e := range exits {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return Failed
}

// Silent reports errors of which the command has said all there is to say.
func Silent(err error) bool {
	exit := Status(0)
	return errors.Is(err, ErrPartial) || errors.Is(err, ErrDamageFound) || errors.As(err, &exit)
}

// storeFiles are what whoever changes something opens first.
var storeFiles = []string{"store.db.lock", "store.db", "operation.lock"}

// Full reports errors of a disk, or a share of it, that is full.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Sentence is what a person reads of an error.
func Sentence(ctx context.Context, err error) string {
	if Full(err) {
		return "make room on the disk, and try again: " + err.Error()
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && slices.Contains(storeFiles, filepath.Base(path.Path)) {
		if errors.Is(err, syscall.EROFS) {
			return err.Error() + ": the store may not be written: mount its file system for writing, or \"rewind --no-git\" records into your own state directory"
		}
		return err.Error() + ": the store may not be written: permit that (own it, or chmod u+w), or \"rewind --no-git\" keeps one in your own state directory"
	}
	switch {
	case errors.Is(err, engine.ErrUnfinished):
		text := strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
		return strings.ReplaceAll(text, context.DeadlineExceeded.Error(), "the deadline has passed")
	case errors.Is(err, context.DeadlineExceeded):
		return "the deadline has passed; nothing was recorded"
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return "interrupted; what was begun and not finished, the next command finishes or names"
	}
	return err.Error()
}

// The exit codes of run that are not the command's, as env(1) and timeout(1) have them.
const (
	NotBegun = 125 // the state before could not be recorded
	NotRun   = 126 // the command could not be run
	NotFound = 127 // there is no such command
)

// A Status ends run with the exit code of its command, which has said all there
// is to say.
type Status int

// Error names the code.
func (e Status) Error() string { return "exit " + strconv.Itoa(int(e)) }
