package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/s3test"
)

// newBucket makes a repository in a bucket, and adds it.
func (p *place) newBucket(e *Engine, server string) away.Remote {
	p.t.Helper()
	m := away.Remote{Name: "cloud", URL: "s3:" + server + "/" + s3test.Bucket + "/of/" + filepath.Base(filepath.Dir(p.dir))}
	p.must(e.Remotes().Make(context.Background(), m, remotePassword, true))
	return p.added(e, m)
}

func (p *place) pushBucket(e *Engine, m away.Remote) (*away.Pushed, error) {
	r := e.Remotes()
	s, err := r.OpenToPush(context.Background(), m, remotePassword)
	if err != nil {
		return nil, err
	}
	return r.Push(context.Background(), s)
}

func TestAHistoryLivesInABucket(t *testing.T) {
	for _, name := range s3test.Servers {
		t.Run(name, func(t *testing.T) {
			server := s3test.Start(t, name)
			p := newPlace(t, true)
			p.eachKind(true)
			e := p.open()
			p.snap(e, "1", &SnapshotOptions{Label: "first"})
			p.must(errors.Join(os.Remove(filepath.Join(p.dir, "large")), os.Chmod(filepath.Join(p.dir, "dir/deep"), 0o700)))
			second := p.snap(e, "2", nil)
			now := p.shown(p.dir)
			m := p.newBucket(e, server)
			out, err := p.pushBucket(e, m)
			p.must(err)
			if out.Snapshots != 2 || len(out.Left) > 0 {
				t.Fatalf("%+v", out)
			}
			if there := p.distant(e, m); len(there) != 2 {
				t.Errorf("there is %v", there)
			}
			there := newPlace(t, false)
			dir := filepath.Join(there.dir, "new")
			r, err := resumed(there, dir, m.URL, "")
			p.must(err)
			if r.Snapshot.ID != second.ID || len(r.Written.Conflicts)+len(r.Fetched.Left) > 0 {
				t.Fatalf("%v %+v %+v", r.Snapshot.ID, r.Written, r.Fetched)
			}
			p.wantShown(dir, now)

			p.restic(m, "check", "--read-data")
			to := t.TempDir()
			p.restic(m, "restore", "latest", "--target", to)
			link := "Lrwxrwxrwx \"odd \ufffd\"" // the tree of this version of restic holds no other
			now["oddlink"], now["oddlink2"] = link, link
			p.wantShown(filepath.Join(to, "files"), now)
		})
	}
}

// TestAPushOfATurnMakesEightRequests counts them: a lock and a list of the locks, a list of the index, two packs, the
// index, the snapshot, and the end of the lock.
func TestAPushOfATurnMakesEightRequests(t *testing.T) {
	front := s3test.NewFront(t, s3test.Start(t, "gofakes3"), nil)
	p := newPlace(t, false)
	p.eachKind(false)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newBucket(e, front.URL)
	_, err := p.pushBucket(e, m)
	p.must(err)
	for _, turn := range []string{"2", "3"} {
		kept, err := filepath.Glob(filepath.Join(e.dir, "remotes", "*", "index", "*"))
		p.must(err)
		if len(kept) == 0 {
			t.Error("no file of the index is kept here")
		}
		for _, path := range kept { // nor is one read here, where the index is as it was
			p.must(os.Remove(path))
		}
		p.write("dir/deep/f", turn)
		p.snap(e, turn, nil)
		front.Asked()
		out, err := p.pushBucket(e, m)
		p.must(err)
		asked := front.Asked()
		if len(asked) != 8 || out.Snapshots != 1 {
			t.Errorf("a push of one turn made %d requests: %s", len(asked), strings.Join(asked, "\n"))
		}
	}
	_, err = p.pushBucket(e, m)
	p.must(err)
	if asked := front.Asked(); len(asked) != 2 { // which snapshots and which files of the index are there
		t.Errorf("a push of nothing asked %s", asked)
	}
}

// TestAResumeAsksForManyDirectoriesAtOnce counts requests, where directories, snapshots and large contents are many: one
// for each would be hundreds.
func TestAResumeAsksForManyDirectoriesAtOnce(t *testing.T) {
	front := s3test.NewFront(t, s3test.Start(t, "gofakes3"), nil)
	p := newPlace(t, false)
	p.eachKind(false)
	for i := range 300 {
		p.write(fmt.Sprintf("many/d%d/e%d/f", i%20, i), fmt.Sprint(i))
	}
	var large strings.Builder
	for i := range 1 << 17 {
		fmt.Fprintf(&large, "%d\n", i*i)
	}
	p.write("large one", large.String())
	e := p.open()
	p.snap(e, "first", nil)
	m := p.newBucket(e, front.URL)
	for i := range 12 {
		p.write("many/d1/e1/f", fmt.Sprint("turn ", i))
		p.snap(e, fmt.Sprint(i), nil)
		_, err := p.pushBucket(e, m)
		p.must(err)
	}
	now := p.shown(p.dir)
	front.Asked()
	there := newPlace(t, false)
	dir := filepath.Join(there.dir, "new")
	r, err := resumed(there, dir, m.URL, "")
	p.must(err)
	if n := len(r.Fetched.Snapshots); n != 13 {
		t.Errorf("%d snapshots came", n)
	}
	p.wantShown(dir, now)
	asked := map[string]int{}
	for _, a := range front.Asked() {
		a, _, _ = strings.Cut(strings.TrimPrefix(a, "GET /"+s3test.Bucket+"/of/"+filepath.Base(filepath.Dir(p.dir))+"/"), "/")
		asked[a]++
	}
	if asked["data"] > 100 { // of 24 packs of turns each once, of the few large ones by levels of directories
		t.Errorf("asked %v", asked)
	}
}

// TestABucketThatIsAnotherOneIsNotWrittenTo has a repository made anew at the same URL, and one that is gone.
func TestABucketThatIsAnotherOneIsNotWrittenTo(t *testing.T) {
	server := s3test.Start(t, "gofakes3")
	p := newPlace(t, false)
	p.write("f", "1")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newBucket(e, server)
	_, err := p.pushBucket(e, m)
	p.must(err)
	p.write("f", "2")
	p.snap(e, "2", nil)
	at, err := e.Remotes().Place(m.URL)
	p.must(err)
	ctx := context.Background()
	for _, folder := range []string{"index", "snapshots", "keys", "data"} {
		list, err := at.List(ctx, folder)
		p.must(err)
		for _, f := range list {
			p.must(at.Delete(ctx, folder+"/"+f.Name))
		}
	}
	p.must(at.Delete(ctx, "config"))
	if _, err := p.pushBucket(e, m); err == nil || !strings.Contains(err.Error(), "there is no repository") {
		t.Errorf("where there is none a push says %v", err)
	}
	p.must(e.Remotes().Make(ctx, m, remotePassword, true))
	if _, err := p.pushBucket(e, m); !errors.Is(err, away.ErrTampered) {
		t.Errorf("where another one is a push says %v", err)
	}
	for _, folder := range []string{"index", "snapshots", "data", "locks"} {
		if list, err := at.List(ctx, folder); err != nil || len(list) > 0 {
			t.Errorf("%s has %v, %v", folder, list, err)
		}
	}
}

// TestAPushThroughABadNetworkIsWhole has a server of which every third answer is an error, cut, or lost.
func TestAPushThroughABadNetworkIsWhole(t *testing.T) {
	var mu sync.Mutex
	n := 0
	front := s3test.NewFront(t, s3test.Start(t, "gofakes3"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		n++
		now := n
		mu.Unlock()
		switch now % 9 {
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 5:
			panic(http.ErrAbortHandler)
		case 8:
			next.ServeHTTP(dropped{w}, r)
			panic(http.ErrAbortHandler)
		default:
			next.ServeHTTP(w, r)
		}
	})
	p := newPlace(t, false)
	p.eachKind(false)
	e := p.open()
	m := p.newBucket(e, front.URL)
	var ids []string
	for _, turn := range []string{"1", "2", "3"} {
		p.write("dir/deep/f", turn)
		ids = append(ids, p.snap(e, turn, nil).ID.String())
		out, err := p.pushBucket(e, m)
		p.must(err)
		if out.Snapshots != 1 {
			t.Errorf("%+v", out)
		}
	}
	there := p.distant(e, m)
	if len(there) != 3 || slices.ContainsFunc(ids, func(id string) bool { return !there[id] }) {
		t.Errorf("there is %v, want %v", there, ids)
	}
}

// dropped is an answer that does not arrive.
type dropped struct{ http.ResponseWriter }

func (dropped) WriteHeader(int)             {}
func (dropped) Write(p []byte) (int, error) { return len(p), nil }
