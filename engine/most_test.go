package engine

import (
	"context"
	"testing"
)

func TestADifferenceReadsNoMoreOfAFileThanIsWanted(t *testing.T) {
	p := newPlace(t, false)
	e, ctx := p.open(), context.Background()
	p.write("f", "0123456789")
	s := p.take(e)
	p.write("f", "abcdefghij")
	d := p.diff(e, s.Snapshot, nil)
	for most, want := range map[int][2]string{0: {"0123456789", "abcdefghij"}, 4: {"0123", "abcd"}, 10: {"0123456789", "abcdefghij"}} {
		d.Most = most
		for i, new := range []bool{false, true} {
			text, whole, err := d.Read(ctx, d.Changes[0], new)
			if p.must(err); string(text) != want[i] || whole != (most != 4) {
				t.Errorf("at most %d: %q, whole %v", most, text, whole)
			}
		}
	}
}
