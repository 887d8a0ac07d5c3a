package cli

import (
	"context"
	"errors"
	"io"
	"testing"
)

func TestWhoInterruptsAQuestionIsToldThatNothingWasChanged(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	in, out := io.Pipe()
	defer out.Close()
	a := &App{Stdio: Stdio{In: in, Err: io.Discard}}
	if err := a.SaysYes(ended); !errors.Is(err, ErrNotAnswered) {
		t.Errorf("it says %v", err)
	}
}
