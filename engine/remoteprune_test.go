package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/remote/depot"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// pruneAway prunes a remote.
func (p *place) pruneAway(e *Engine, m away.Remote, lim away.Limits) *away.Pruned {
	p.t.Helper()
	s, err := e.Remotes().Open(p.t.Context(), m, remotePassword)
	p.must(err)
	out, err := e.Remotes().Prune(p.t.Context(), s, &lim)
	p.must(err)
	return out
}

// foreign brings a snapshot there that is like one of ours, with tags, from another machine or without "rewind".
func (p *place) foreign(m away.Remote, of ID, change func(*restic.Snapshot)) {
	p.t.Helper()
	at, err := depot.Open(m.URL)
	p.must(err)
	repo, err := restic.Open(p.t.Context(), at, remotePassword, nil)
	p.must(err)
	list, err := repo.Snapshots(p.t.Context(), func(err error) { p.t.Error(err) })
	p.must(err)
	for _, s := range list {
		if d := (&away.Distant{Snapshot: s}); d.Has("id:", of.String()) {
			change(s)
			p.must(repo.PutSnapshot(p.t.Context(), s))
			return
		}
	}
	p.t.Fatalf("%v is not there", of)
}

func TestAPruneOfARemoteDropsWhatIsOursAndBeyondTheLimits(t *testing.T) {
	p := newPlace(t, true)
	e := p.open()
	var ids []ID
	for i := range 12 {
		label := ""
		if i == 2 {
			label = "keep"
		}
		p.write(fmt.Sprintf("d/f%d", i%4), fmt.Sprintf("%d %0*d", i, 3000, i))
		ids = append(ids, p.snap(e, fmt.Sprint(i), &SnapshotOptions{Label: label}).ID)
	}
	m := p.newRemote(e)
	p.wantPush(e, m, 12, 0, 0)
	p.restic(m, "backup", p.dir)
	p.foreign(m, ids[1], func(s *restic.Snapshot) { s.Tags = []string{"of another program"} })
	p.foreign(m, ids[3], func(s *restic.Snapshot) { s.Tags = append(s.Tags, "somebody wants it") })
	if out := p.pruneAway(e, m, away.Limits{Options: &PruneOptions{MaxSnapshots: 1}}); len(out.Dropped) != 0 {
		t.Errorf("what the store has is dropped: %+v", out)
	}
	p.prune(e, &PruneOptions{MaxSnapshots: 3, Grace: -1})
	have := p.records(e)
	dry := p.pruneAway(e, m, away.Limits{Options: &PruneOptions{MaxSnapshots: 3, DryRun: true}})
	if there := p.distant(e, m); len(there) != 12 {
		t.Errorf("a dry run has dropped some: %v", there)
	}
	out := p.pruneAway(e, m, away.Limits{Options: &PruneOptions{MaxSnapshots: 3}})
	there := p.distant(e, m)
	for i, id := range ids {
		if want := has(have, id) || i == 2 || i == 3; there[id.String()] != want {
			t.Errorf("snapshot %d: it is there: %v", i, !want)
		}
	}
	if len(out.Dropped) == 0 || len(out.Dropped) != len(dry.Dropped) || out.Packs == 0 || out.Bytes <= 0 || out.Packs != dry.Packs {
		t.Errorf("%+v, and a dry run said %+v", out, dry)
	}
	p.restic(m, "check", "--read-data")
	to := t.TempDir()
	p.restic(m, "restore", "latest", "--path", p.dir, "--tag", "", "--target", to)
	p.restic(m, "restore", "latest", "--tag", "of another program", "--target", to)
	p.write("d/f0", "after")
	p.snap(e, "after", nil)
	if out := p.mustPush(e, m); out.Snapshots != 1 || out.Contents != 1 {
		t.Errorf("a push after it brings %+v", out)
	}
	p.restic(m, "check", "--read-data")
	there = p.distant(e, m)
	again := newPlace(t, false)
	if r, err := resumed(again, filepath.Join(again.dir, "new"), m.URL, ""); err != nil || len(r.Fetched.Left) > 0 || len(r.Fetched.Snapshots) != len(there) {
		t.Errorf("%+v %v", r, err)
	}
}

func TestAPruneOfARemoteLeavesWhatOtherMachinesHaveBrought(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	var ids []ID
	for i := range 6 {
		p.write("f", fmt.Sprint(i))
		ids = append(ids, p.snap(e, fmt.Sprint(i), nil).ID)
	}
	m := p.newRemote(e)
	p.wantPush(e, m, 6, 0, 0)
	at, err := depot.Open(m.URL)
	p.must(err)
	repo, err := restic.Open(t.Context(), at, remotePassword, nil)
	p.must(err)
	list, err := repo.Snapshots(t.Context(), func(err error) { t.Error(err) })
	p.must(err)
	p.must(repo.Forget(t.Context(), []restic.ID{list[0].ID})) // it is brought by another one
	list[0].Hostname = "elsewhere"
	p.must(repo.PutSnapshot(t.Context(), list[0]))
	p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
	p.pruneAway(e, m, away.Limits{Options: &PruneOptions{MaxSnapshots: 1}})
	there := p.distant(e, m)
	if len(there) > 3 || !there[ids[5].String()] {
		t.Errorf("there are %v", there)
	}
	s, err := e.Remotes().Open(t.Context(), m, remotePassword)
	p.must(err)
	left, err := s.Snapshots(t.Context(), func(err error) { t.Error(err) })
	p.must(err)
	found := false
	for _, d := range left {
		found = found || d.Hostname == "elsewhere"
	}
	if !found {
		t.Errorf("what another machine has brought is dropped: %v", there)
	}
}

func TestNothingIsRemovedFromARemoteThatIsNotWhole(t *testing.T) {
	for _, folder := range []string{"data", "index", "snapshots"} {
		p := newPlace(t, false)
		e := p.open()
		m := p.newRemote(e)
		for i := range 4 {
			p.write("f", fmt.Sprint(i))
			p.snap(e, fmt.Sprint(i), nil)
			p.mustPush(e, m)
		}
		p.prune(e, &PruneOptions{MaxSnapshots: 1, Grace: -1})
		files := func() (all []string) {
			p.must(filepath.WalkDir(m.URL, func(path string, d os.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					all = append(all, path)
				}
				return err
			}))
			return all
		}
		var hurt string
		for _, path := range files() {
			if rel, _ := filepath.Rel(m.URL, path); strings.HasPrefix(rel, folder) {
				hurt = path
			}
		}
		if folder == "snapshots" {
			p.must(os.WriteFile(hurt, []byte("something else"), 0o600))
		} else {
			p.must(os.Remove(hurt))
		}
		was := files()
		s, err := e.Remotes().Open(t.Context(), m, remotePassword)
		p.must(err)
		_, err = e.Remotes().Prune(t.Context(), s, &away.Limits{Options: &PruneOptions{}})
		if now := files(); len(now) != len(was) {
			t.Errorf("with a file of %s lost %d of %d files are left: %v", folder, len(now), len(was), err)
		}
		if err != nil && !errors.Is(err, away.ErrTampered) && !errors.Is(err, restic.ErrUnknown) {
			t.Errorf("of %s it says %v", folder, err)
		}
	}
}
