package merge

import (
	"testing"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// TestABitThatOneSideChangedIsChanged goes through all permissions of a file that three
// states can have, a third at a time.
func TestABitThatOneSideChangedIsChanged(t *testing.T) {
	for n := range tree.Mode(1 << 9) {
		for shift := tree.Mode(0); shift < 9; shift += 3 {
			base, ours, theirs := n&7<<shift, n>>3&7<<shift, n>>6&7<<shift
			want := tree.Mode(0)
			for bit := tree.Mode(1); bit < 1<<9; bit <<= 1 {
				side := ours
				if ours&bit == base&bit {
					side = theirs
				}
				want |= side & bit
			}
			if got := bits(base, ours, theirs); got != want {
				t.Fatalf("base %o, ours %o, theirs %o: %o, want %o", base, ours, theirs, got, want)
			}
		}
	}
}
