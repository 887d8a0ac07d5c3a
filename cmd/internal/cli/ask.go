package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/show"
)

// Interactive reports whether there is a person to ask.
func (a *App) Interactive() bool { return show.IsTerminal(a.In) && show.IsTerminal(a.Err) }

// ErrDeclined ends a command that somebody was asked about.
var ErrDeclined = errors.New("nothing was changed: the answer was not y")

// ErrNotAnswered ends a command that was interrupted before somebody had answered.
var ErrNotAnswered = errors.New("interrupted at the question; nothing was changed")

// SaysYes waits for an answer on the terminal. What is not yes is [ErrDeclined].
func (a *App) SaysYes(ctx context.Context) error {
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.In).ReadString('\n')
		answer <- line
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Err) // the question has no end of line
		return ErrNotAnswered
	case line := <-answer:
		if !strings.HasSuffix(line, "\n") {
			fmt.Fprintln(a.Err) // nobody has ended the line
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return ErrDeclined
	}
}
