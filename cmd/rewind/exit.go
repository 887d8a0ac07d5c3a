package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/fork"
)

// The exit codes of docs/cli.md.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitUnknown = 3
	exitDamaged = 4
	exitPartial = 5
)

// errPartial ends a command that did what it could and named the rest.
var errPartial = errors.New("done in part")

// errDamageFound ends a command that has named the damage it found.
var errDamageFound = errors.New("damage was found")

// errNoPath ends a command of which no path was found.
var errNoPath = errors.New("no snapshot has any of these paths")

// errWhichLabel ends a command that is to take away a label of several.
var errWhichLabel = errors.New("say which label")

// A usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (u usageError) Unwrap() error { return u.error }

var exits = []struct {
	err  error
	code int
}{
	{errPartial, exitPartial},
	{errDamageFound, exitDamaged},
	{engine.ErrNoSnapshot, exitUnknown},
	{engine.ErrAmbiguous, exitUnknown},
	{engine.ErrNoStore, exitUnknown},
	{errNoPath, exitUnknown},
	{errWhichLabel, exitUnknown},
	{fork.ErrNone, exitUnknown},
	{engine.ErrDamaged, exitDamaged},
}

func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if exit := exitError(0); errors.As(err, &exit) {
		return int(exit)
	}
	if errors.As(err, &usageError{}) {
		return exitUsage
	}
	for _, e := range exits {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return exitFailed
}

// isSilent reports errors of which the command has said all there is to say.
func isSilent(err error) bool {
	exit := exitError(0)
	return errors.Is(err, errPartial) || errors.Is(err, errDamageFound) || errors.As(err, &exit)
}

// storeFiles are what whoever changes something opens first.
var storeFiles = []string{"store.db.lock", "store.db", "operation.lock"}

// isFull reports errors of a disk, or a share of it, that is full.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// sentence is what a person reads of an error.
func sentence(ctx context.Context, err error) string {
	if isFull(err) {
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
