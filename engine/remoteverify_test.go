package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
)

// verified reads all of a remote.
func (p *place) verified(e *Engine, m away.Remote) error {
	p.t.Helper()
	s, err := e.Remotes().Open(context.Background(), m, remotePassword)
	p.must(err)
	defer s.Close()
	_, err = s.Verify(context.Background(), nil)
	return err
}

// What opens a repository is kept here, too; without the file there nobody else can read it.
func TestARepositoryWhoseKeyIsGoneOrChangedIsNotWhole(t *testing.T) {
	for what, harm := range map[string]func(path string) error{
		"gone":    os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 20) },
		"another": func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
	} {
		p := newPlace(t, false)
		e := p.open()
		p.snap(e, "1", nil)
		m := p.newRemote(e)
		p.mustPush(e, m)
		p.must(p.verified(e, m))
		keys, err := filepath.Glob(filepath.Join(m.URL, "keys/*"))
		if err != nil || len(keys) != 1 {
			t.Fatal(keys, err)
		}
		for i := range 40 { // more than are tried to open it
			text := fmt.Appendf(nil, `{"of":%d}`, i)
			p.must(os.WriteFile(filepath.Join(m.URL, "keys", fmt.Sprintf("%x", sha256.Sum256(text))), text, 0o600))
		}
		p.must(p.verified(e, m))
		p.must(errors.Join(os.Chmod(keys[0], 0o600), harm(keys[0])))
		if err := p.verified(e, m); !errors.Is(err, away.ErrTampered) || !strings.Contains(err.Error(), filepath.Base(keys[0])) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// This machine keeps what it has read and written; a verification reads what is there.
func TestARepositoryWhoseFilesAreChangedIsNotWhole(t *testing.T) {
	for _, name := range []string{"index", "snapshots"} {
		for what, text := range map[string]string{"empty": "", "another": "garbage"} {
			p := newPlace(t, false)
			e := p.open()
			p.snap(e, "1", nil)
			m := p.newRemote(e)
			p.mustPush(e, m)
			p.must(os.WriteFile(filepath.Join(m.URL, "keys", ".DS_Store"), []byte("of a file manager"), 0o600))
			p.must(p.verified(e, m))
			files, err := filepath.Glob(filepath.Join(m.URL, name, "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, file := range files {
				p.must(errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte(text), 0o600)))
			}
			if err := p.verified(e, m); !errors.Is(err, away.ErrTampered) || !strings.Contains(err.Error(), filepath.Base(files[0])) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
}

// Of a disk with the snapshots that is away, all else would look as if nobody needed it.
func TestWithoutSnapshotsNothingIsWholeAndNothingIsPruned(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	p.must(os.Rename(filepath.Join(m.URL, "snapshots"), filepath.Join(m.URL, "snapshots-away")))
	if err := p.verified(e, m); !errors.Is(err, away.ErrTampered) {
		t.Errorf("verified: %v", err)
	}
	s, err := e.Remotes().Open(t.Context(), m, remotePassword)
	p.must(err)
	_, err = e.Remotes().Prune(t.Context(), s, &away.Limits{Options: &PruneOptions{}, AnyHost: true})
	if p.must(s.Close()); !errors.Is(err, away.ErrTampered) {
		t.Errorf("pruned: %v", err)
	}
	p.must(os.Rename(filepath.Join(m.URL, "snapshots-away"), filepath.Join(m.URL, "snapshots")))
	p.must(p.verified(e, m))
}

// Nobody prunes beside a verification. Who may only read holds nobody off, and takes no prune for damage.
func TestAPruneBesideAVerificationIsNoDamage(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	locks := filepath.Join(m.URL, "locks")
	verify := func(meanwhile func()) error {
		s, err := e.Remotes().Open(t.Context(), m, remotePassword)
		p.must(err)
		defer s.Close()
		_, err = s.Verify(t.Context(), func(done, _ int) {
			if done == 1 {
				meanwhile()
			}
		})
		return err
	}
	count := func(want int) {
		t.Helper()
		if list, err := os.ReadDir(locks); err != nil || len(list) != want {
			t.Errorf("there are the locks %v, want %d: %v", list, want, err)
		}
	}
	p.must(verify(func() { count(1) }))
	count(0)
	p.must(errors.Join(os.Remove(locks), os.WriteFile(locks, nil, 0o600))) // as if it could not be written
	p.must(verify(func() {}))
	err := verify(func() {
		for _, name := range []string{"index", "data"} {
			p.must(os.RemoveAll(filepath.Join(m.URL, name)))
		}
	})
	if err == nil || errors.Is(err, away.ErrTampered) || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("beside a prune it says %v", err)
	}
	if err := p.verified(e, m); !errors.Is(err, away.ErrTampered) {
		t.Errorf("afterwards it says %v", err)
	}
}

// loosened makes loose objects of those in the packs of a git remote, which can be harmed each.
func (p *place) loosened(m away.Remote) {
	p.t.Helper()
	packs, err := filepath.Glob(filepath.Join(m.URL, "objects/pack/*.pack"))
	p.must(err)
	for _, pack := range packs {
		elsewhere := filepath.Join(p.t.TempDir(), "pack")
		p.must(os.Rename(pack, elsewhere))
		for _, beside := range []string{".idx", ".rev", ".keep"} {
			_ = os.Remove(strings.TrimSuffix(pack, ".pack") + beside)
		}
		text, err := os.ReadFile(elsewhere)
		p.must(err)
		p.gitReading(string(text), "--git-dir="+m.URL, "unpack-objects", "-q")
	}
}

// The git program does not say by its exit that it is the host's objects, and not the way there.
func TestWhatAGitHostCannotReadIsDamageAndAHostThatIsGoneIsNone(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	p.write("b", "only there\n")
	p.snap(e, "2", nil)
	p.mustPush(e, m)
	p.loosened(m)
	tip := strings.Fields(p.git("--git-dir="+m.URL, "for-each-ref", "--format=%(objectname)", "refs/pi-rewind"))[0]
	for _, id := range []string{strings.TrimSpace(p.git("hash-object", "b")), tip, strings.TrimSpace(p.git("--git-dir="+m.URL, "rev-parse", tip+"^{tree}"))} {
		name := filepath.Join(m.URL, "objects", id[:2], id[2:])
		whole, err := os.ReadFile(name)
		p.must(errors.Join(err, os.Chmod(name, 0o600)))
		for what, text := range map[string][]byte{"cut": whole[:len(whole)/2], "empty": {}, "changed": append(bytes.Repeat([]byte{0xff}, 8), whole[8:]...)} {
			p.must(os.WriteFile(name, text, 0o600))
			if err := p.verified(e, m); !errors.Is(err, away.ErrTampered) {
				t.Errorf("%s is %s: %v", id, what, err)
			}
		}
		p.must(os.WriteFile(name, whole, 0o600))
	}
	p.must(p.verified(e, m))
	s, err := e.Remotes().Open(context.Background(), m, "")
	p.must(err)
	defer s.Close()
	p.must(os.Rename(m.URL, m.URL+".away"))
	if _, err := s.Verify(context.Background(), nil); err == nil || errors.Is(err, away.ErrTampered) {
		t.Errorf("of a host that is gone it says %v", err)
	}
}

// What was pushed is here as well, and hides nothing that the host has lost.
func TestAVerificationOfAGitRemoteReadsWhatTheHostHas(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	p.write("b", "only there\n")
	p.snap(e, "2", nil)
	p.mustPush(e, m)
	p.must(p.verified(e, m))
	p.loosened(m)
	p.must(p.verified(e, m))
	id := strings.TrimSpace(p.git("hash-object", "b"))
	p.must(os.Remove(filepath.Join(m.URL, "objects", id[:2], id[2:])))
	if err := p.verified(e, m); !errors.Is(err, away.ErrTampered) {
		t.Errorf("of a repository that lacks an object it says %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".git", "rewind", "*", "*", "verify-*")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// What was pruned here and is in a remote is fetched again, from whichever kind.
func TestAFetchBringsBackWhatThisMachineHasPushedItself(t *testing.T) {
	for _, git := range []bool{false, true} {
		p := newPlace(t, true)
		e := p.open()
		for _, text := range []string{"1", "2", "3"} {
			p.snap(e, text, nil)
		}
		m := p.newRemote
		if git {
			m = p.newGitRemote
		}
		remote := m(e)
		p.mustPush(e, remote)
		before := p.records(e)
		_, err := e.Prune(context.Background(), &PruneOptions{MaxSnapshots: 1})
		p.must(err)
		if n := len(p.records(e)); n != 1 {
			t.Fatalf("%d snapshots are left", n)
		}
		f, err := p.fetched(e, remote)
		if err != nil || len(f.Snapshots) != 2 || f.There != 1 || len(p.records(e)) != len(before) {
			t.Errorf("git %v: %+v %v, has %v", git, f, err, p.records(e))
		}
		p.wantClean(e)
	}
}
