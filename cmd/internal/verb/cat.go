package verb

import (
	"cmp"
	"context"
	"errors"
)

// partMax is how much of a file one answer has: in base64 it has to fit into a message.
const partMax = 8 << 20

func cat(ctx context.Context, c *Call, p *reading) (out part, err error) {
	s, err := c.Engine.Find(ctx, p.ID)
	if err != nil {
		return out, err
	}
	w := window{skip: max(0, p.Offset), most: min(partMax, cmp.Or(max(0, p.MaxBytes), partMax)), part: part{Data: []byte{}}}
	if err := c.Engine.Cat(ctx, s, cmp.Or(string(p.PathB64), p.Path), &w); err != nil && !errors.Is(err, errEnough) {
		return out, err
	}
	return w.part, nil
}

var errEnough = errors.New("that is enough")

// A window takes some of the bytes that are written to it, and ends the writing after them.
type window struct {
	skip, most int
	part
}

// Write takes what lies in the window.
func (w *window) Write(b []byte) (int, error) {
	n := len(b)
	gone := min(w.skip, n)
	w.skip -= gone
	b = b[gone:]
	if room := w.most - len(w.Data); len(b) > room {
		w.Data, w.More = append(w.Data, b[:room]...), true
		return n, errEnough
	}
	w.Data = append(w.Data, b...)
	return n, nil
}
