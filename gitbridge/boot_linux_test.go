package gitbridge

import (
	"os"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/alive"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// zero leaves of the files of objects only their sizes, as a loss of power does where the
// disk had not got the bytes yet.
func (r *repo) zero(ids ...oid.ID) {
	r.T.Helper()
	for _, id := range ids {
		s := id.String()
		path := r.Path(".git", "objects", s[:2], s[2:])
		st, err := os.Stat(path)
		if err == nil {
			err = os.Chmod(path, 0o644)
		}
		if err == nil {
			err = os.WriteFile(path, make([]byte, st.Size()), 0o644)
		}
		if err != nil {
			r.T.Fatal(err)
		}
	}
}

// restart lets the notes say that they were made in another run of the system.
func (r *repo) restart(b *Repo) *Repo {
	r.T.Helper()
	path := b.own + ".loose"
	notes := string(readNotes(path))
	if !strings.Contains(notes, alive.Boot()) {
		r.T.Fatalf("the notes do not name the run of the system:\n%s", notes)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(notes, alive.Boot(), "another")), 0o600); err != nil {
		r.T.Fatal(err)
	}
	return r.openNoted()
}

func TestObjectsThatALossOfPowerLeftFullOfZerosAreWrittenAgain(t *testing.T) {
	if alive.Boot() == "" {
		t.Skip("SKIPPED: this system does not tell when it was started")
	}
	for _, later := range []bool{false, true} {
		r := newRepo(t, oid.SHA1)
		b := r.openNoted()
		files := many(4)
		for name, text := range files {
			r.Write(name, text)
		}
		r.Git("add", "-A")
		first := r.snapshot(b, 1, files)
		r.bridge(b, first)

		files["next"] = "added by the user, and in no snapshot yet"
		r.Write("next", files["next"])
		r.Git("add", "-A")
		c, err := DecodeSnapshot(first.Commit, r.alg)
		if err != nil {
			t.Fatal(err)
		}
		link, err := b.tip()
		if err != nil {
			t.Fatal(err)
		}
		found, next := r.alg.Sum(oid.Blob, []byte(files["d0/e/f0"])), r.alg.Sum(oid.Blob, []byte(files["next"]))
		r.zero(found, next, c.Tree)
		if later {
			r.zero(first.Snapshot)
		} else {
			r.zero(link)
		}

		b = r.restart(b)
		second := r.snapshot(b, 2, files)
		second.Later = later
		if later {
			if err := b.Upkeep(t.Context(), func(id oid.ID) (oid.Kind, []byte, error) {
				if id == first.Snapshot {
					return oid.Commit, first.Commit, nil
				}
				return r.load(id)
			}); err != nil {
				t.Fatal(err)
			}
			b = r.restart(b)
		}
		r.bridge(b, second)
		r.wantChain(b, first, second)
		r.Clean()
	}
}

func TestNothingIsReadBackTwiceInOneRunOfTheSystem(t *testing.T) {
	if alive.Boot() == "" {
		t.Skip("SKIPPED: this system does not tell when it was started")
	}
	r := newRepo(t, oid.SHA1)
	b := r.openNoted()
	r.bridge(b, r.snapshot(b, 1, many(4)))
	if r.openNoted().doubtful() {
		t.Error("what was just written is in doubt")
	}
	if b = r.restart(b); !b.doubtful() {
		t.Error("after another start nothing is in doubt")
	}
	r.bridge(b, r.snapshot(b, 2, many(5)))
	if b.doubtful() || r.openNoted().doubtful() {
		t.Error("what was read back is in doubt")
	}
}
