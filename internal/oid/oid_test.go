package oid

import (
	"testing"
)

func TestSumGivesGitsIDs(t *testing.T) {
	// From `git hash-object -t KIND --stdin` with and without --object-format=sha256.
	for _, c := range []struct {
		alg     Algorithm
		kind    Kind
		payload string
		want    string
	}{
		{SHA1, Blob, "", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"},
		{SHA1, Tree, "", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
		{SHA1, Blob, "hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"},
		{SHA256, Blob, "", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"},
		{SHA256, Tree, "", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"},
	} {
		if got := c.alg.Sum(c.kind, []byte(c.payload)).String(); got != c.want {
			t.Errorf("%v %v %q = %s, want %s", c.alg, c.kind, c.payload, got, c.want)
		}
	}
}

func TestAnIDSurvivesItsText(t *testing.T) {
	for _, a := range []Algorithm{SHA1, SHA256, BLAKE3} {
		id := a.Sum(Commit, []byte("x"))
		back, err := Parse(id.String())
		if err != nil || back != id {
			t.Errorf("%v: Parse(%s) = %v, %v", a, id, back, err)
		}
		raw, err := FromBytes(id.Bytes())
		if err != nil || raw != id || len(id.Bytes()) != a.Size() {
			t.Errorf("%v: FromBytes = %v, %v", a, raw, err)
		}
	}
}

func TestTheNullIDIsTheZeroID(t *testing.T) {
	id, err := Parse("0000000000000000000000000000000000000000")
	if err != nil || !id.IsZero() || id != (ID{}) {
		t.Errorf("null id = %v, %v", id, err)
	}
}

func TestBadTextIsRefused(t *testing.T) {
	for _, s := range []string{"", "ab", "zz", "4b825dc642cb6eb9a060e54bf8d69288fbee490", "4b825dc642cb6eb9a060e54bf8d69288fbee49041"} {
		if id, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", s, id)
		}
	}
}
