package gitbridge

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestASnapshotsCommitIsReadBackWithEveryHash(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256, oid.BLAKE3} {
		for _, c := range []Commit{
			{Tree: alg.Sum(oid.Tree, []byte("t")), Overlay: alg.Sum(oid.Tree, []byte("o")), Time: epoch, Identity: "A <b@c>"},
			{Tree: alg.Sum(oid.Tree, nil), Time: time.Unix(0, 0).UTC(), Identity: "rewind <rewind@localhost>"},
			{Tree: alg.Sum(oid.Tree, nil), Time: time.Unix(-5, 7).UTC(), Identity: "before <the@epoch>"},
			{Tree: alg.Sum(oid.Tree, nil), Time: epoch, Identity: "A <b@c>", From: "tallow " + alg.Sum(oid.Blob, nil).String()},
		} {
			p := EncodeSnapshot(c, alg)
			got, err := DecodeSnapshot(p, alg)
			if err != nil || got.Tree != c.Tree || got.Overlay != c.Overlay || !got.Time.Equal(c.Time) || got.Identity != c.Identity || got.From != c.From {
				t.Errorf("%v: %+v, %v, want %+v", alg, got, err, c)
			}
			if again := EncodeSnapshot(got, alg); string(again) != string(p) {
				t.Errorf("encoded again:\n%s\nwas\n%s", again, p)
			}
		}
	}
}

func TestTheFormOfTheCommitNeverChanges(t *testing.T) {
	got := string(EncodeSnapshot(Commit{Time: epoch, Identity: "A <b@c>", Overlay: oid.SHA1.Sum(oid.Tree, []byte("o"))}, oid.SHA1))
	want := `tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904
author A <b@c> 1700000000 -0330
committer A <b@c> 1700000000 -0330
rewind 1700000000123456789 ` + oid.SHA1.Sum(oid.Tree, []byte("o")).String() + `

pi rewind snapshot
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCommitsThatAreNotSnapshotsAreRefused(t *testing.T) {
	good := string(EncodeSnapshot(Commit{Time: epoch, Identity: "A <b@c>"}, oid.SHA1))
	for name, p := range map[string]string{
		"empty":          "",
		"no tree":        strings.TrimPrefix(good, "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"),
		"short tree":     strings.Replace(good, "4904", "49", 1),
		"no header":      strings.Replace(good, "rewind ", "other ", 1),
		"another time":   strings.Replace(good, "rewind 17", "rewind 16", 1),
		"no number":      strings.Replace(good, "rewind 17", "rewind x7", 1),
		"no overlay":     strings.Replace(good, "789 -", "789", 1),
		"short overlay":  strings.Replace(good, "789 -", "789 1234", 1),
		"another kind":   strings.Replace(good, "pi rewind snapshot", "pi rewind store", 1),
		"a parent":       strings.Replace(good, "author", "parent 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor", 1),
		"no committer":   strings.Replace(good, "committer", "commuter", 1),
		"a broken time":  strings.Replace(good, "committer A <b@c> 1700000000", "committer A <b@c> never", 1),
		"another hash's": string(EncodeSnapshot(Commit{Time: epoch, Identity: "A <b@c>"}, oid.SHA256)),
	} {
		if c, err := DecodeSnapshot([]byte(p), oid.SHA1); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v, want ErrMalformed", name, c, err)
		}
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add(EncodeSnapshot(Commit{Time: epoch, Identity: "A <b@c>"}, oid.SHA1))
	f.Fuzz(func(t *testing.T, p []byte) {
		c, err := DecodeSnapshot(p, oid.SHA1)
		if err != nil {
			return
		}
		again, err := DecodeSnapshot(EncodeSnapshot(c, oid.SHA1), oid.SHA1)
		if err != nil || again.Tree != c.Tree || again.Overlay != c.Overlay || !again.Time.Equal(c.Time) {
			t.Errorf("%q: %+v, then %+v, %v", p, c, again, err)
		}
	})
}

func TestTheIdentityIsTheUsersOrRewinds(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	t.Setenv("GIT_AUTHOR_NAME", "An Agent")
	t.Setenv("GIT_COMMITTER_EMAIL", "agent@example.org")
	for _, c := range []struct{ name, mail, want string }{
		{"A. User", "user@example.org", "A. User <user@example.org>"},
		{"", "", "rewind <rewind@localhost>"},
		{"Ünï <Codé>\n", " x@y> ", "Ünï Codé <x@y>"},
		{"...", "m", "rewind <m>"},
	} {
		r.Git("config", "user.name", c.name)
		r.Git("config", "user.email", c.mail)
		if got := r.open().Identity(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	r.Git("config", "--remove-section", "user")
	b := r.open()
	if got := b.Identity(); got != "rewind <rewind@localhost>" {
		t.Errorf("unset: %q", got)
	}
	r.bridge(b, r.snapshot(b, 1, many(2)))
	r.Clean()
}

func TestPermissionsAreThoseOfASharedRepository(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: permissions of Unix")
	}
	for _, value := range []string{"umask", "group", "all", "0640", "0666", "2", "false"} {
		r := newRepo(t, oid.SHA1)
		r.Git("config", "core.sharedRepository", value)
		r.Git("config", "core.logAllRefUpdates", "always")
		// One object by git and one by us, in directories made by each.
		r.Write("in", "git's")
		theirs := r.Git("hash-object", "-w", "in")
		commit := r.commitTree(epoch, "m", r.Git("hash-object", "-w", "-t", "tree", "/dev/null"))
		r.Git("update-ref", "refs/theirs/x", commit)
		b := r.open()
		job := r.snapshot(b, 1, map[string]string{"f": "ours"})
		r.bridge(b, job)
		ours := job.Snapshot.String()
		for _, pair := range [][2]string{
			{"objects/" + theirs[:2], "objects/" + ours[:2]},
			{"objects/" + theirs[:2] + "/" + theirs[2:], "objects/" + ours[:2] + "/" + ours[2:]},
			{"refs/theirs", "refs/pi-rewind"},
			{"refs/theirs/x", StoreRef},
			{"logs/refs/theirs", "logs/refs/pi-rewind"},
			{"logs/refs/theirs/x", "logs/" + StoreRef},
		} {
			want, err := os.Stat(r.Path(".git", pair[0]))
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.Stat(r.Path(".git", pair[1]))
			if err != nil {
				t.Fatal(err)
			}
			if got.Mode() != want.Mode() {
				t.Errorf("%s: %s is %v, git's %s is %v", value, pair[1], got.Mode(), pair[0], want.Mode())
			}
		}
	}
}

func TestSyncingFollowsCoreFsync(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	for value, want := range map[string]bool{
		"": false, "all": true, "committed,loose-object": true, "all,-loose-object": false, "reference": false, "all,none": false,
	} {
		r.Git("config", "core.fsync", value)
		h, err := r.open().habits()
		if err != nil || h.syncLoose != want {
			t.Errorf("%q: %v, %v, want %v", value, h.syncLoose, err, want)
		}
	}
}
