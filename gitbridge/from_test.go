package gitbridge

import (
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// An import is told from another of the same files and the same moment, and
// git finds nothing wrong with it.
func TestAnImportSaysWhereItComesFrom(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg)
		b := r.open()
		c := Commit{Tree: r.tree(map[string]string{"a": "1"}), Time: epoch, Identity: b.Identity(), From: "tallow " + alg.Sum(oid.Blob, nil).String()}
		other := c
		other.From = "tallow " + alg.Sum(oid.Tree, nil).String()
		for _, c := range []Commit{c, other} {
			p := EncodeSnapshot(c, alg)
			got, err := DecodeSnapshot(p, alg)
			if err != nil || got.From != c.From || !got.Time.Equal(c.Time) || got.Tree != c.Tree {
				t.Errorf("%+v, %v, want %+v", got, err, c)
			}
			r.bridge(b, Job{Snapshot: alg.Sum(oid.Commit, p), Commit: p, Load: r.load})
		}
		r.Clean()
		n := 0
		for s, err := range b.Snapshots(t.Context()) {
			if n++; err != nil || !s.Native || s.From != []string{other.From, c.From}[n-1] {
				t.Errorf("%+v, %v", s, err)
			}
		}
		if n != 2 {
			t.Errorf("%d snapshots, want 2", n)
		}
	})
}
