package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/depot"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// A forger writes trees of snapshots that no scan has made.
type forger struct {
	*place
	alg  oid.Algorithm
	repo *restic.Repo
	w    *restic.Writer
}

// A forged is a directory: of git, and of "files".
type forged struct {
	git   oid.ID
	files restic.ID
}

func (f *forger) file(name string, text []byte) restic.Node {
	id, err := f.w.Put(restic.Data, text)
	f.must(err)
	return restic.Node{Name: name, Type: "file", Mode: 0o644, Size: int64(len(text)), Content: []restic.ID{id}}
}

func (f *forger) dir(name string, of restic.ID) restic.Node {
	return restic.Node{Name: name, Type: "dir", Mode: fs.ModeDir | 0o755, Subtree: of}
}

func (f *forger) put(nodes ...restic.Node) restic.ID {
	id, err := f.w.PutTree(nodes)
	f.must(err)
	return id
}

// around puts a directory into another one.
func (f *forger) around(name string, in *forged) *forged {
	if in == nil {
		return &forged{f.alg.Sum(oid.Tree, nil), f.put()}
	}
	payload := append([]byte("40000 "+name+"\x00"), in.git.Bytes()...)
	n := f.dir(name, in.files)
	n.Target = in.git.String()
	return &forged{f.alg.Sum(oid.Tree, payload), f.put(n)}
}

// snapshot brings a snapshot of a directory to a remote, made of the only one that is there.
func (f *forger) snapshot(of *forged) {
	all, err := f.repo.Snapshots(context.Background(), func(err error) { f.t.Error(err) })
	f.must(err)
	s := *all[0]
	read := func(id restic.ID) map[string]restic.Node {
		nodes, err := f.repo.GetTree(context.Background(), id)
		f.must(err)
		out := map[string]restic.Node{}
		for _, n := range nodes {
			out[n.Name] = n
		}
		return out
	}
	beside := read(read(s.Tree)["rewind"].Subtree)
	n := beside["record"]
	text, err := f.repo.Content(context.Background(), &n, 1<<20)
	f.must(err)
	text, commit, _ := bytes.Cut(text, []byte("\n"))
	c, err := gitbridge.DecodeSnapshot(commit, f.alg)
	f.must(err)
	c.Tree, c.Overlay = of.git, oid.ID{}
	commit = gitbridge.EncodeSnapshot(c, f.alg)
	id := f.alg.Sum(oid.Commit, commit)
	var record map[string]any
	f.must(json.Unmarshal(text, &record))
	snap := record["snapshot"].(map[string]any)
	snap["id"], snap["tree"] = id.String(), of.git.String()
	delete(snap, "overlay")
	line, err := json.Marshal(record)
	f.must(err)
	delete(beside, "state")
	beside["record"] = f.file("record", slices.Concat(line, []byte("\n"), commit))
	var nodes []restic.Node
	for _, n := range beside {
		nodes = append(nodes, n)
	}
	s.Tree = f.put(f.dir("files", of.files), f.dir("rewind", f.put(nodes...)))
	f.must(f.w.Flush())
	s.Time = s.Time.Add(time.Second)
	for i, tag := range s.Tags {
		if strings.HasPrefix(tag, "id:") {
			s.Tags[i] = "id:" + id.String()
		}
	}
	f.must(f.repo.PutSnapshot(context.Background(), &s))
}

func (p *place) forger(e *Engine, m away.Remote) *forger {
	at, err := depot.Open(m.URL)
	p.must(err)
	repo, err := restic.Open(context.Background(), at, remotePassword, nil)
	p.must(err)
	_, err = repo.LoadIndex(context.Background())
	p.must(err)
	f := &forger{p, e.alg, repo, repo.Writer(context.Background())}
	p.t.Cleanup(f.w.Close)
	return f
}

// newForger has a remote with one snapshot, of a place without git.
func newForger(t *testing.T) (*forger, *Engine, away.Remote) {
	t.Helper()
	p := newPlace(t, false)
	p.write("f", "1")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	return p.forger(e, m), e, m
}

// No scan records such a path, so that nothing here follows one: a prune would fail for ever.
func TestASnapshotOfPathsThatAreTooLongDoesNotCome(t *testing.T) {
	for levels, comes := range map[int]bool{60: true, 70: false} {
		f, e, m := newForger(t)
		var at *forged
		for range levels {
			at = f.around(strings.Repeat("n", 250), at)
		}
		f.snapshot(at)
		got, err := f.fetched(e, m)
		if err != nil || len(got.Snapshots) == 1 != comes || len(got.Left) == 0 != comes || !comes && !strings.Contains(got.Left[0].Reason, "a path of more than") {
			t.Errorf("%d levels: %+v %v", levels, got, err)
		}
		if v, err := e.Verify(t.Context()); err != nil || len(v.Damaged) > 0 {
			t.Errorf("%d levels: %+v %v", levels, v, err)
		}
		if _, err := e.Prune(t.Context(), &PruneOptions{MaxSnapshots: 5}); err != nil {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}
