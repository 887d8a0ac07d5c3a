// Package journal is the form in which the plan of an operation is kept, so that it can
// be finished, or taken back, by whoever comes after a crash.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/apply"
)

// ErrUnfinished is reported of an operation that has begun and has not ended.
var ErrUnfinished = errors.New("stopped half-way")

// A kept plan has a version, because it may be read by another build than the one
// that wrote it.
type kept struct {
	Version int          `json:"version"`
	Steps   []apply.Step `json:"steps"`
}

const version = 1

// stepBytes is about what a step takes.
const stepBytes = 256

// Encode encodes the steps of a plan one by one: of a million all at once the package
// json would hold the text three times.
func Encode(steps []apply.Step) ([]byte, error) {
	if len(steps) == 0 {
		return json.Marshal(kept{Version: version, Steps: steps})
	}
	out := fmt.Appendf(make([]byte, 0, stepBytes*len(steps)+64), `{"version":%d,"steps":[`, version)
	for i := range steps {
		text, err := json.Marshal(&steps[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	return append(out, "]}"...), nil
}

// Decode reads what [Encode] gives.
func Decode(data []byte) ([]apply.Step, error) {
	var j kept
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%w: the journal: %w", records.ErrDamaged, err)
	}
	if j.Version != version {
		return nil, fmt.Errorf("%w: a journal of version %d", cas.ErrNewerFormat, j.Version)
	}
	return j.Steps, nil
}
