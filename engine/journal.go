package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/apply"
)

// A journal is the plan of an operation as it is kept: with a version, because
// it may be read by another build than the one that wrote it.
type journal struct {
	Version int          `json:"version"`
	Steps   []apply.Step `json:"steps"`
}

const journalVersion = 1

func encodeSteps(steps []apply.Step) ([]byte, error) {
	return json.Marshal(journal{Version: journalVersion, Steps: steps})
}

func decodeSteps(data []byte) ([]apply.Step, error) {
	var j journal
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%w: the journal: %w", ErrDamaged, err)
	}
	if j.Version != journalVersion {
		return nil, fmt.Errorf("%w: a journal of version %d", ErrNewerFormat, j.Version)
	}
	return j.Steps, nil
}

// steps returns the plan of an operation.
func (e *Engine) steps(ctx context.Context, op *Operation) ([]apply.Step, error) {
	_, journal, err := e.objects.Read(ctx, op.Plan)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	steps, err := decodeSteps(journal)
	if err != nil {
		return nil, fmt.Errorf("the plan of the last %s: %w", op.Kind, err)
	}
	return steps, nil
}

// isLost reports whether something is not to be had any more, or not by this
// version.
func isLost(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewerFormat) }
