package objects

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestTreesAreRememberedUpToABound(t *testing.T) {
	first, second := &Objects{Algorithm: oid.SHA1}, &Objects{Algorithm: oid.SHA1}
	if _, ok := first.Recent(oid.ID{}); ok {
		t.Error("something is remembered before it begins")
	}
	first.Remember(nil)
	payload := func(n int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("%08d", n)), recentBytes/8/100) }
	id := func(n int) oid.ID { return oid.SHA1.Sum(oid.Tree, payload(n)) }
	const many = 1000
	for n := range many {
		first.recent.put(id(n), payload(n))
		if p, ok := first.Recent(id(0)); !ok || !bytes.Equal(p, payload(0)) {
			t.Fatalf("after %d more, what was asked for all the time is forgotten: %v", n, ok)
		}
	}
	kept := 0
	for _, m := range []map[oid.ID][]byte{first.recent.young, first.recent.old} {
		for _, p := range m {
			kept += len(p)
		}
	}
	if kept > 2*recentBytes {
		t.Errorf("%d bytes are remembered", kept)
	}
	second.Remember(first)
	if p, ok := second.Recent(id(many - 1)); !ok || !bytes.Equal(p, payload(many-1)) {
		t.Error("the next one does not know what the one before knew")
	}
	other := &Objects{Algorithm: oid.SHA256}
	other.Remember(first)
	if _, ok := other.Recent(id(0)); ok {
		t.Error("ids of another algorithm are known")
	}
}
