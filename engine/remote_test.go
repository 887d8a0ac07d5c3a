package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func TestAHistoryComesBackWithItsIdsAndItsFiles(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		p.eachKind(git)
		e := p.open()
		first := p.snap(e, "1", &SnapshotOptions{Label: "first", Session: "s1"})
		was := p.shown(p.dir)
		p.must(errors.Join(os.Remove(filepath.Join(p.dir, "large")), os.Chmod(filepath.Join(p.dir, "dir/deep"), 0o700)))
		second := p.snap(e, "2", nil)
		now := p.shown(p.dir)
		m := p.newRemote(e)
		if out := p.mustPush(e, m); out.Snapshots != 2 || len(out.Left) > 0 {
			t.Fatalf("%+v", out)
		}
		there := newPlace(t, false)
		dir := filepath.Join(there.dir, "new")
		r, err := resumed(there, dir, m.URL, "")
		p.must(err)
		if r.Snapshot.ID != second.ID || len(r.Written.Conflicts) > 0 || len(r.Fetched.Left) > 0 {
			t.Fatalf("%v %+v %+v", r.Snapshot.ID, r.Written, r.Fetched)
		}
		p.wantShown(dir, now)
		n := there.openAt(dir)
		list := there.list(n, nil)
		if len(list) != 2 || list[0].ID != second.ID || list[1].ID != first.ID || list[1].Label() != "first" || !list[1].Time.Equal(first.Time) {
			t.Errorf("the history is %v", list)
		}
		if v, err := n.Verify(context.Background()); err != nil || len(v.Damaged) > 0 {
			t.Errorf("%+v %v", v, err)
		}
		if here, err := n.Here(context.Background()); err != nil || here == nil || here.ID != second.ID {
			t.Errorf("the files stand at %v, %v", here, err)
		}
		there.do(n, Op{To: first.ID})
		p.wantShown(dir, was)
		if again, err := resumed(there, filepath.Join(there.dir, "other"), m.URL, first.ID.String()[:12]); err != nil || again.Snapshot.ID != first.ID || len(again.Fetched.Snapshots) != 1 {
			t.Errorf("%v %v", again, err)
		}
		if _, err := resumed(there, dir, m.URL, ""); !errors.Is(err, ErrRefused) {
			t.Errorf("a directory with files is made another one: %v", err)
		}
	}
}

// A push reads contents where the worktree still has them, and whoever works there goes on meanwhile.
func TestAPushBringsWhatWasRecordedWhateverTheWorktreeHasNow(t *testing.T) {
	for _, git := range []bool{true, false} {
		p := newPlace(t, git)
		p.eachKind(git)
		p.write("same/length", "recorded")
		p.write("becomes/a/directory", "text")
		p.write("becomes/a/link", "text")
		p.write("goes", "text")
		e := p.open()
		p.snap(e, "1", nil)
		was := p.shown(p.dir)
		p.write("same/length", "changed!")
		for _, path := range []string{"becomes/a/directory", "becomes/a/link", "goes"} {
			p.must(os.Remove(filepath.Join(p.dir, path)))
		}
		p.write("becomes/a/directory/f", "other")
		p.write("elsewhere", "text")
		p.must(os.Symlink("../../elsewhere", filepath.Join(p.dir, "becomes/a/link")))
		m := p.newRemote(e)
		if out := p.mustPush(e, m); out.Snapshots != 1 || len(out.Left) > 0 {
			t.Fatalf("%+v", out)
		}
		there := newPlace(t, false)
		dir := filepath.Join(there.dir, "new")
		r, err := resumed(there, dir, m.URL, "")
		p.must(err)
		if len(r.Written.Conflicts)+len(r.Fetched.Left) > 0 {
			t.Errorf("%+v %+v", r.Written, r.Fetched)
		}
		p.wantShown(dir, was)
	}
}

func TestResticReadsWhatWasPushedAndWritesBeside(t *testing.T) {
	p := newPlace(t, true)
	p.eachKind(true)
	e := p.open()
	p.snap(e, "1", &SnapshotOptions{Label: "a, b"})
	m := p.newRemote(e)
	p.restic(m, "backup", p.dir)
	p.mustPush(e, m)
	p.restic(m, "check", "--read-data")
	to := t.TempDir()
	p.restic(m, "restore", "latest", "--tag", "rewind", "--target", to)
	want := p.shown(p.dir)
	link := fmt.Sprintf("%v %q", os.ModeSymlink|0o777, "odd \ufffd") // the tree of this version of restic holds no other
	want["oddlink"], want["oddlink2"] = link, link
	p.wantShown(filepath.Join(to, "files"), want)
	p.snap(e, "2", nil)
	before, err := os.ReadDir(filepath.Join(m.URL, "snapshots"))
	p.must(err)
	if out := p.mustPush(e, m); out.Contents != 1 || out.Snapshots != 1 || out.There != 1 {
		t.Errorf("a push of one new file: %+v", out)
	}
	p.restic(m, "backup", p.dir)
	p.restic(m, "forget", "--keep-last", "1", "--prune", "--group-by", "")
	p.restic(m, "check", "--read-data")
	p.snap(e, "3", nil)
	if out := p.mustPush(e, m); out.Snapshots != 1 { // what was forgotten there stays forgotten
		t.Errorf("a push after a prune: %+v", out)
	}
	p.restic(m, "check", "--read-data")
	if len(p.distant(e, m)) != 1 || len(before) != 2 {
		t.Errorf("%d snapshots before, now %v", len(before), p.distant(e, m))
	}
}

func TestWhateverRequestAPushEndsAtTheNextOneFinishes(t *testing.T) {
	for _, late := range []bool{false, true} {
		for _, kills := range []bool{true, false} {
			for at := 1; ; at += everyRequest() {
				p := newPlace(t, false)
				p.write("f", "1")
				e := p.open()
				one := p.snap(e, "1", nil)
				m := p.newRemote(e)
				p.mustPush(e, m)
				p.write("dir/f", "2")
				two := p.snap(e, "2", nil)
				f := &failing{left: at, late: late, kills: kills}
				_, err := p.push(e, m, f)
				there := p.distant(e, m)
				if !there[one.ID.String()] || err == nil && !there[two.ID.String()] {
					t.Fatalf("after request %d (%v): %v", at, err, slices.Collect(maps.Keys(there)))
				}
				p.mustPush(e, m)
				if there = p.distant(e, m); !there[two.ID.String()] || len(there) != 2 {
					t.Fatalf("after request %d and another push: %v", at, there)
				}
				r, err := resumed(newPlace(t, false), filepath.Join(t.TempDir(), "x"), m.URL, "")
				if err != nil || r.Snapshot.ID != two.ID {
					t.Fatalf("after request %d: %v", at, err)
				}
				if f.calls < at {
					if at < 8 {
						t.Errorf("a push made %d requests", f.calls)
					}
					break
				}
			}
		}
	}
}

func TestWhateverRequestAFetchEndsAtTheNextOneFinishes(t *testing.T) {
	p, m := pushedPlace(t)
	e := p.open()
	there := newPlace(t, false)
	dir := filepath.Join(there.dir, "new")
	_, err := resumed(there, dir, m.URL, "")
	p.must(err)
	var ids []ID
	for i := range 3 {
		p.write(fmt.Sprintf("d%d/f", i), fmt.Sprint("text", i))
		ids = append(ids, p.snap(e, fmt.Sprint("t", i), nil).ID)
	}
	p.mustPush(e, m)
	n := there.openAt(dir)
	for at := 1; ; at++ {
		f := &failing{left: at, kills: true}
		r := n.Remotes()
		r.Place = f.open
		s, err := r.Open(context.Background(), away.Remote{Name: "origin", URL: m.URL}, remotePassword)
		if err == nil {
			_, err = r.Fetch(context.Background(), s)
		}
		if v, bad := n.Verify(context.Background()); bad != nil || len(v.Damaged) > 0 {
			t.Fatalf("after request %d: %+v %v", at, v, bad)
		}
		if err == nil {
			break
		}
		if at > 200 {
			t.Fatal("it never ends")
		}
	}
	have := there.records(n)
	for _, id := range ids {
		if !has(have, id) {
			t.Errorf("snapshot %v is not here", id)
		}
	}
	if here, err := n.Here(context.Background()); err != nil || has(ids, here.ID) {
		t.Errorf("what was fetched is taken for what the files are: %v %v", here, err)
	}
}

func TestWhatWasChangedInARemoteIsNeverRestored(t *testing.T) {
	p := newPlace(t, true)
	p.eachKind(true)
	e := p.open()
	s := p.snap(e, "1", nil)
	want := p.shown(p.dir)
	m := p.newRemote(e)
	p.mustPush(e, m)
	var files []string
	p.must(filepath.WalkDir(m.URL, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	for _, path := range files {
		was, err := os.ReadFile(path)
		p.must(err)
		for at := range 12 {
			now := slices.Clone(was)
			if now[at*(len(was)-1)/11] ^= 1; at == 0 {
				now = was[:len(was)*2/3]
			}
			p.must(os.WriteFile(path, now, 0o600))
			there := newPlace(t, false)
			dir := filepath.Join(there.dir, "new")
			if r, err := resumed(there, dir, m.URL, ""); err == nil {
				if r.Snapshot.ID != s.ID {
					t.Fatalf("%s, %d: another snapshot", path, at)
				}
				p.wantShown(dir, want) // of a byte that nothing needs
			} else if there.exists("new") {
				if n := len(there.shown(dir)); n > 0 && !strings.Contains(err.Error(), dir) {
					t.Errorf("%s, %d: %d files are there, and the error does not say so: %v", path, at, n, err)
				}
				for name, has := range there.shown(dir) { // what came before the damage was met
					if file := strings.HasPrefix(has, "-"); file && has != want[name] {
						t.Errorf("%s, %d: %s is %.100s, not %.100s: %v", path, at, name, has, want[name], err)
					}
				}
			}
		}
		p.must(os.WriteFile(path, was, 0o600))
	}
}

// What comes is written as it comes. To read it back from the store would cost more than all else.
func TestAResumeReadsNoContentBackThatCameInOnePiece(t *testing.T) {
	p := newPlace(t, false)
	for i := range 300 {
		p.write(fmt.Sprintf("d%d/f%d", i%20, i), strings.Repeat(fmt.Sprint(i, " "), 100*(i%50)))
	}
	p.write("twice", "the same")
	p.write("d1/again", "the same")
	e := p.open()
	p.snap(e, "1", nil)
	want := p.shown(p.dir)
	m := p.newRemote(e)
	p.mustPush(e, m)
	there := newPlace(t, false)
	n, err := there.tryOpen(there.dir)
	p.must(err)
	defer n.Close()
	r := n.Remotes()
	decoded := func() int64 {
		s, err := n.needStore(context.Background())
		p.must(err)
		st, err := s.Stats(context.Background())
		p.must(err)
		return st.Decoded
	}
	fill, came, before, after := r.Fill, 0, int64(0), int64(0)
	r.Fill = func(ctx context.Context, s *Snapshot, trees tree.Loader) (away.Filling, error) {
		f, err := fill(ctx, s, trees)
		before = decoded()
		return &counting{Filling: f, came: func() { came++ }, ended: func() { after = decoded() }}, err
	}
	_, err = r.Resume(context.Background(), away.Remote{Name: "origin", URL: m.URL}, remotePassword, "")
	p.must(err)
	if came != 297 || after != before { // of 303 files six are empty, and two have the same
		t.Errorf("%d contents came, %d frames were read back", came, after-before)
	}
	p.wantShown(there.dir, want)
}

// A counting tells what comes, and when all is written.
type counting struct {
	away.Filling
	mu          sync.Mutex
	came, ended func()
}

func (c *counting) Arrive(ctx context.Context, id oid.ID, payload []byte) error {
	c.mu.Lock()
	c.came()
	c.mu.Unlock()
	return c.Filling.Arrive(ctx, id, payload)
}

func (c *counting) Finish(ctx context.Context) (*away.Written, error) {
	out, err := c.Filling.Finish(ctx)
	c.ended()
	return out, err
}

func TestAResumeThatWasInterruptedIsTakenUp(t *testing.T) {
	p := newPlace(t, false)
	p.eachKind(false)
	e := p.open()
	p.snap(e, "1", nil)
	p.write("dir/more", "2")
	two := p.snap(e, "2", nil)
	want := p.shown(p.dir)
	m := p.newRemote(e)
	p.mustPush(e, m)
	for at := 1; ; at += everyRequest() {
		there := newPlace(t, false)
		err := there.resume(m.URL, &failing{left: at, kills: true})
		if err == nil {
			break
		}
		if at%4 < 2 && there.exists("a") { // half of the files are gone again
			p.must(errors.Join(os.Remove(filepath.Join(there.dir, "a")), os.RemoveAll(filepath.Join(there.dir, "dir"))))
		}
		if err := there.resume(m.URL, nil); err != nil {
			t.Fatalf("after request %d: %v", at, err)
		}
		p.wantShown(there.dir, want)
		n := there.openAt(there.dir)
		if here, err := n.Here(context.Background()); err != nil || here.ID != two.ID {
			t.Errorf("after request %d the files stand at %v, %v", at, here, err)
		}
		if v, err := n.Verify(context.Background()); err != nil || len(v.Damaged) > 0 {
			t.Errorf("%+v %v", v, err)
		}
		if at > 100 {
			t.Fatal("it never ends")
		}
	}
}
