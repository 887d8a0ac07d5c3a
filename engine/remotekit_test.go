package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/remote/depot"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

const remotePassword = "a password"

// errKilled is what a process meets that is killed: everything fails from then on.
var errKilled = errors.New("killed")

// everyRequest is how far apart the requests are at which a sweep fails: a short run has every
// sixth.
func everyRequest() int { return 6 / min(seed.Times(6), 6) }

// A failing place fails at one of its requests, and at all that follow if it kills.
type failing struct {
	depot.Place
	mu    sync.Mutex
	left  int  // requests until it fails; below 0: never
	late  bool // the request is carried out, and the answer is lost
	kills bool
	calls int
}

func (f *failing) fail() (before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.left--; f.left > 0 || f.left < 0 && !(f.kills && f.left > -1<<20) || f.left < -1<<20 {
		return nil, nil
	}
	if f.late && f.left == 0 {
		return nil, errKilled
	}
	return errKilled, nil
}

func (f *failing) Put(ctx context.Context, name string, data []byte) error {
	before, after := f.fail()
	if before != nil {
		return before
	}
	return errors.Join(f.Place.Put(ctx, name, data), after)
}

func (f *failing) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	before, after := f.fail()
	if err := errors.Join(before, after); err != nil {
		return nil, err
	}
	return f.Place.Get(ctx, name, offset, length)
}

func (f *failing) List(ctx context.Context, folder string) ([]depot.File, error) {
	before, after := f.fail()
	if err := errors.Join(before, after); err != nil {
		return nil, err
	}
	return f.Place.List(ctx, folder)
}

func (f *failing) Delete(ctx context.Context, name string) error {
	before, after := f.fail()
	if before != nil {
		return before
	}
	return errors.Join(f.Place.Delete(ctx, name), after)
}

// newRemote makes a repository and adds it to an engine's store.
func (p *place) newRemote(e *Engine) away.Remote {
	p.t.Helper()
	m := away.Remote{Name: "disk", URL: filepath.Join(p.t.TempDir(), "repo")}
	p.must(e.Remotes().Make(context.Background(), m, remotePassword, true))
	return p.added(e, m)
}

// added adds a remote as it is there now.
func (p *place) added(e *Engine, m away.Remote) away.Remote {
	p.t.Helper()
	r := e.Remotes()
	s, err := r.Open(context.Background(), m, remotePassword)
	p.must(err)
	p.t.Cleanup(func() { _ = s.Close() })
	p.must(r.Add(context.Background(), m, s))
	m, err = r.Find(m.Name)
	p.must(err)
	return m
}

// push brings everything to a remote, whose requests may fail.
func (p *place) push(e *Engine, m away.Remote, f *failing) (*away.Pushed, error) {
	p.t.Helper()
	r := e.Remotes()
	if f != nil {
		r.Place = f.open
	}
	s, err := r.Open(context.Background(), m, remotePassword)
	if err != nil {
		return nil, err
	}
	p.t.Cleanup(func() { _ = s.Close() })
	return r.Push(context.Background(), s)
}

func (f *failing) open(url string) (depot.Place, error) {
	var err error
	f.Place, err = depot.Open(url)
	return f, err
}

func (p *place) mustPush(e *Engine, m away.Remote) *away.Pushed {
	p.t.Helper()
	out, err := p.push(e, m, nil)
	p.must(err)
	return out
}

// distant lists what a remote has, which has to be whole.
func (p *place) distant(e *Engine, m away.Remote) map[string]bool {
	p.t.Helper()
	s, err := e.Remotes().Open(context.Background(), m, remotePassword)
	p.must(err)
	p.t.Cleanup(func() { _ = s.Close() })
	_, err = s.Verify(context.Background(), nil)
	p.must(err)
	list, err := s.Snapshots(context.Background(), func(err error) { p.t.Error(err) })
	p.must(err)
	ids := map[string]bool{}
	for _, d := range list {
		ids[d.Of.String()] = true
	}
	return ids
}

// restic runs the other program that reads a remote.
func (p *place) restic(m away.Remote, args ...string) string {
	p.t.Helper()
	if _, err := exec.LookPath("restic"); err != nil {
		p.t.Skip("SKIPPED: restic is not installed, and nothing else can say what it reads")
	}
	cmd := exec.Command("restic", append([]string{"-r", m.URL, "--no-cache"}, args...)...)
	cmd.Env = append(os.Environ(), "RESTIC_PASSWORD="+remotePassword)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("restic %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// eachKind fills a worktree with everything that a snapshot can hold.
func (p *place) eachKind(git bool) {
	p.t.Helper()
	p.write("a", "one\n")
	p.write("dir/deep/f", "text\n")
	p.write("dir/same", "text\n")
	p.write("bytes \xff\xfe", "odd name\n")
	p.write("crlf", "a\r\nb\r\n")
	p.write(".gitattributes", "* text=auto\n")
	p.write(".gitignore", ".env\n*.o\n")
	p.write(".env", "SECRET=1\n")
	p.write("large", strings.Repeat("0123456789abcdef", 60_000)+"x")
	p.write("void", "")
	p.must(errors.Join(os.Mkdir(filepath.Join(p.dir, "empty"), 0o750), os.Chmod(filepath.Join(p.dir, "a"), 0o600), os.Chmod(filepath.Join(p.dir, "dir/same"), 0o4755),
		os.Symlink("dir/same", filepath.Join(p.dir, "link")), os.Symlink("odd \xff", filepath.Join(p.dir, "oddlink")), os.Symlink("odd \xff", filepath.Join(p.dir, "oddlink2"))))
	if git {
		p.write("nested/f", "in a repository below\n")
		p.git("init", "-q", "nested")
		p.write("sparse/f", "not on disk\n")
		p.git("add", "sparse")
		p.git("update-index", "--skip-worktree", "sparse/f")
		p.must(os.RemoveAll(filepath.Join(p.dir, "sparse")))
	}
}

// shown describes all files below a directory but git's: mode, and content or target.
func (p *place) shown(dir string) map[string]string {
	p.t.Helper()
	out := map[string]string{}
	p.must(filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			return filepath.SkipDir
		}
		rel, _ := filepath.Rel(dir, path)
		if rel == "." {
			return nil
		}
		info, err := e.Info()
		text := ""
		if err == nil && e.Type() == os.ModeSymlink {
			text, err = os.Readlink(path)
		} else if err == nil && e.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			text = string(data)
		}
		out[filepath.ToSlash(rel)] = fmt.Sprintf("%v %q", info.Mode(), text)
		return err
	}))
	return out
}

func (p *place) wantShown(dir string, want map[string]string) {
	p.t.Helper()
	got := p.shown(dir)
	for name := range want {
		if got[name] != want[name] {
			p.t.Errorf("%q is %.80s, want %.80s", name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			p.t.Errorf("%q is there", name)
		}
	}
}

func resumed(p *place, dir, url, want string) (*away.Resumed, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	e, err := Open(context.Background(), dir, &Options{Getenv: p.getenv, NoGit: true})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.Remotes().Resume(context.Background(), away.Remote{Name: "origin", URL: url}, remotePassword, want)
}

// resume makes the place what the newest snapshot of a remote is, by a process of its own that may be killed.
func (p *place) resume(url string, f *failing) error {
	p.t.Helper()
	n, err := p.tryOpen(p.dir)
	p.must(err)
	defer n.Close()
	r := n.Remotes()
	if f != nil {
		r.Place = f.open
	}
	_, err = r.Resume(context.Background(), away.Remote{Name: "origin", URL: url}, remotePassword, "")
	return err
}

// halve puts copies of snapshots into a remote that lack what rewind keeps beside the files, as another program may. It
// returns the files of the whole ones.
func (p *place) halve(m away.Remote, which func(*restic.Snapshot) bool) (whole []string) {
	p.t.Helper()
	ctx := context.Background()
	at, err := depot.Open(m.URL)
	p.must(err)
	repo, err := restic.Open(ctx, at, remotePassword, nil)
	p.must(err)
	_, err = repo.LoadIndex(ctx)
	p.must(err)
	list, err := repo.Snapshots(ctx, func(err error) { p.t.Error(err) })
	p.must(err)
	for _, snap := range list {
		if !which(snap) {
			continue
		}
		top, err := repo.GetTree(ctx, snap.Tree)
		p.must(err)
		other := *snap
		other.Tree, other.Tags = top[0].Subtree, append(slices.Clone(snap.Tags), "of another program")
		p.must(repo.PutSnapshot(ctx, &other))
		whole = append(whole, filepath.Join(m.URL, "snapshots", snap.ID.String()))
	}
	return whole
}

// pushedPlace is a place with a file of each kind, and a remote that has its only snapshot.
func pushedPlace(t *testing.T) (*place, away.Remote) {
	t.Helper()
	p := newPlace(t, false)
	p.eachKind(false)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newRemote(e)
	p.mustPush(e, m)
	return p, m
}
