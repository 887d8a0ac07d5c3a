package oid

import (
	"encoding/binary"
	"testing"
)

// numbered is an id that no other number has, and that no hash made.
func numbered(n int) ID {
	id, err := FromBytes(binary.BigEndian.AppendUint64(make([]byte, 12), uint64(n+1)))
	if err != nil {
		panic(err)
	}
	return id
}

func TestAnIndexFindsWhatAMapFinds(t *testing.T) {
	var list []ID
	first := map[ID]int{}
	var grown Index
	for i := range 3000 {
		id := numbered(i * 7919 % 1000) // each of them three times
		if _, there := first[id]; !there {
			first[id] = len(list)
		}
		list = append(list, id)
		grown.Add(id)
		if grown.Len() != len(first) {
			t.Fatalf("%d ids after %d, want %d", grown.Len(), i+1, len(first))
		}
	}
	whole := NewIndex(list)
	for n := range 2000 {
		want, there := first[numbered(n)]
		got, ok := whole.Place(numbered(n))
		also, added := grown.Place(numbered(n))
		if ok != there || added != there || there && (got != want || grown.ids[also] != numbered(n)) {
			t.Errorf("%d is at %d (%v) and %d (%v), want %d (%v)", n, got, ok, also, added, want, there)
		}
	}
	if whole.Len() != 1000 || len(grown.ids) != 1000 {
		t.Errorf("%d and %d ids", whole.Len(), len(grown.ids))
	}
	var empty Index
	if _, ok := empty.Place(numbered(1)); ok || NewIndex(nil).Len() != 0 {
		t.Error("an empty index has something")
	}
}

func TestAnIndexTakesFewBytesForAnID(t *testing.T) {
	var list []ID
	for i := range 100_000 {
		list = append(list, numbered(i))
	}
	if n := 4 * len(NewIndex(list).slots); n > 12*len(list) {
		t.Errorf("%d bytes for %d ids", n, len(list))
	}
}
