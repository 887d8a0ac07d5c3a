package engine

import (
	"encoding/json"
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
