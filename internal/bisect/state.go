package bisect

import (
	"encoding/json"
	"errors"

	"github.com/seed-82afce7a/rewind/engine"
)

// A written is a state as it is kept: with every byte of what need not be UTF-8.
type written struct {
	*state
	Paths   []engine.Path `json:"paths,omitempty"`
	Command []engine.Path `json:"command,omitempty"`
}

func (b *Bisect) decode(text []byte) error {
	w := written{state: &b.state}
	if err := json.Unmarshal(text, &w); err != nil || !b.state.Bisect {
		return errors.Join(errKind, err)
	}
	b.state.Paths, b.state.Command = convert[string](w.Paths), convert[string](w.Command)
	return nil
}

func convert[To, From ~string](list []From) (out []To) {
	for _, v := range list {
		out = append(out, To(v))
	}
	return out
}

func (b *Bisect) encode() []byte {
	text, err := json.Marshal(written{&b.state, convert[engine.Path](b.state.Paths), convert[engine.Path](b.state.Command)})
	if err != nil {
		panic(err) // ids and texts always encode
	}
	return text
}
