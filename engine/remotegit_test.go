package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/gittest"
)

// newGitRemote makes a bare repository with the branch of the worktree, and adds it.
func (p *place) newGitRemote(e *Engine) away.Remote {
	p.t.Helper()
	dir := filepath.Join(p.t.TempDir(), "there.git")
	p.git("init", "-q", "--bare", dir)
	m := away.Remote{Name: "host", URL: dir, Git: true}
	return p.added(e, m)
}

func (p *place) resumedGit(dir, url, want string) *away.Resumed {
	p.t.Helper()
	p.must(os.MkdirAll(dir, 0o755))
	e, err := Open(context.Background(), dir, &Options{Getenv: p.getenv, NoGit: true})
	p.must(err)
	defer e.Close()
	r, err := e.Remotes().Resume(context.Background(), away.Remote{Name: "origin", URL: url, Git: true}, "", want)
	p.must(err)
	return r
}

// atHome takes away what a git remote does not get: what git's trees do not have.
func atHome(shown map[string]string) map[string]string {
	out := maps.Clone(shown)
	for name := range out {
		if name == ".env" || name == "nested" || strings.HasPrefix(name, "nested/") {
			delete(out, name)
		}
	}
	return out
}

func TestAGitRemoteGivesBackEverythingButWhatStaysAtHome(t *testing.T) {
	p := newPlace(t, true)
	p.eachKind(true)
	e := p.open()
	first := p.snap(e, "1", &SnapshotOptions{Label: "first", Session: "s1"})
	was := atHome(p.shown(p.dir))
	p.must(errors.Join(os.Remove(filepath.Join(p.dir, "large")), os.Chmod(filepath.Join(p.dir, "dir/deep"), 0o700)))
	p.snap(e, "2", nil)
	now := atHome(p.shown(p.dir))
	m := p.newGitRemote(e)
	before := p.git("for-each-ref") + p.git("config", "--list", "--local")
	if out := p.mustPush(e, m); out.Snapshots != 2 || len(out.Left) > 0 {
		t.Fatalf("%+v", out)
	}
	if after := p.git("for-each-ref") + p.git("config", "--list", "--local"); after != before {
		t.Errorf("a push has changed the user's repository:\n%s\n%s", before, after)
	}
	if out := p.mustPush(e, m); out.Snapshots != 0 || out.There != 2 {
		t.Errorf("a second push: %+v", out)
	}
	if out := p.git("--git-dir="+m.URL, "fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") || strings.Contains(out, "warning") {
		t.Errorf("git says of what is there: %s", out)
	}
	for _, text := range []string{"SECRET=1", "in a repository below"} {
		for line := range strings.Lines(p.git("--git-dir="+m.URL, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")) {
			id := strings.TrimSpace(line)
			if got, _ := p.tryGit("--git-dir="+m.URL, "cat-file", "-p", id); strings.Contains(got, text) {
				t.Errorf("%q went there, in %s", text, id)
			}
		}
	}
	there := newPlace(t, false)
	dir := filepath.Join(there.dir, "new")
	r := there.resumedGit(dir, m.URL, "")
	if len(r.Written.Conflicts) > 0 || len(r.Fetched.Left) > 0 {
		t.Fatalf("%+v %+v", r.Written, r.Fetched)
	}
	p.wantShown(dir, now)
	n := there.openAt(dir)
	list := there.list(n, nil)
	if len(list) != 2 || list[1].Label() != "first" || !list[1].Time.Equal(first.Time) {
		t.Fatalf("the history is %v", list)
	}
	if v, err := n.Verify(context.Background()); err != nil || len(v.Damaged) > 0 {
		t.Errorf("%+v %v", v, err)
	}
	there.write("new/.env", "MINE=1\n")
	was[".env"] = there.shown(dir)[".env"]
	there.do(n, Op{To: list[1].ID})
	p.wantShown(dir, was)
	var told bool
	for _, s := range list[1].Skipped {
		told = told || s.Path == ".env" && strings.Contains(s.Reason, "stays on the machine")
	}
	if !told {
		t.Errorf("nobody says that .env stayed at home: %v", list[1].Skipped)
	}
}

func TestWhatGitHoldsWhollyHasTheSameIdOnAnotherMachine(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "one\n")
	p.must(os.Chmod(filepath.Join(p.dir, "a"), 0o600)) // an overlay
	e := p.open()
	s := p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	p.mustPush(e, m)
	other := newPlace(t, true)
	o := other.open()
	other.snap(o, "its own", nil)
	om := other.added(o, away.Remote{Name: "host", URL: m.URL, Git: true})
	f, err := other.fetched(o, om)
	other.must(err)
	if len(f.Snapshots) != 1 || f.Snapshots[0].ID != s.ID || f.Bridge != nil {
		t.Fatalf("%+v", f)
	}
	if again, err := other.fetched(o, om); err != nil || len(again.Snapshots) != 0 || again.There != 1 {
		t.Errorf("%+v %v", again, err)
	}
	other.mustPush(o, om)
	back, err := p.fetched(e, m)
	p.must(err)
	if len(back.Snapshots) != 1 {
		t.Errorf("the first machine gets of the other one %+v", back)
	}
	if refs := p.git("--git-dir="+m.URL, "for-each-ref"); strings.Count(refs, "refs/pi-rewind/remote/") != 2 {
		t.Errorf("each machine has a ref: %s", refs)
	}
	other.wantClean(o)
	p.wantClean(e)
}

func (p *place) fetched(e *Engine, m away.Remote) (*away.Fetched, error) {
	s, err := e.Remotes().Open(context.Background(), m, remotePassword)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return e.Remotes().Fetch(context.Background(), s)
}

func TestAPushToAGitRemoteThatIsKilledOrRefusedIsDoneByTheNext(t *testing.T) {
	gittest.Programs(t)
	p := newPlace(t, true)
	p.write("a", "one\n")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	hook := filepath.Join(m.URL, "hooks", "pre-receive")
	p.must(os.MkdirAll(filepath.Dir(hook), 0o755))
	p.must(os.WriteFile(hook, []byte("#!/bin/sh\necho 'files above 1 MB are not welcome' >&2\nexit 1\n"), 0o755))
	_, err := p.push(e, m, nil)
	if err == nil || !strings.Contains(err.Error(), "the host refuses what is pushed") || !strings.Contains(err.Error(), "not welcome") {
		t.Fatalf("a refused push: %v", err)
	}
	p.must(os.WriteFile(hook, []byte("#!/bin/sh\nsleep 60\n"), 0o755))
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	s, err := e.Remotes().Open(context.Background(), m, "")
	p.must(err)
	if _, err := e.Remotes().Push(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a push that was interrupted: %v", err)
	}
	p.must(os.Remove(hook))
	if out := p.mustPush(e, m); out.Snapshots != 1 {
		t.Errorf("%+v", out)
	}
	if len(p.distant(e, m)) != 1 {
		t.Error("it is not there")
	}
}

func TestWhatSomebodyRemovedFromAGitRemoteStaysAway(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "one\n")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	p.mustPush(e, m)
	p.git("--git-dir="+m.URL, "update-ref", "-d", strings.Fields(p.git("--git-dir="+m.URL, "for-each-ref", "--format=%(refname)"))[0])
	if out := p.mustPush(e, m); out.Snapshots != 0 || out.Forgotten != 1 {
		t.Errorf("%+v", out)
	}
	p.snap(e, "2", nil)
	if out := p.mustPush(e, m); out.Snapshots != 1 || out.Forgotten != 1 {
		t.Errorf("%+v", out)
	}
}

func TestAPurgeAndAPruneTakeAContentOutOfAGitRemote(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "one\n")
	p.write("key", "PRIVATE\n")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	p.mustPush(e, m)
	p.purge(e, "key")
	s, err := e.Remotes().Open(context.Background(), m, "")
	p.must(err)
	defer s.Close()
	out, err := e.Remotes().Prune(context.Background(), s, &away.Limits{Options: &PruneOptions{}})
	p.must(err)
	if len(out.Dropped) != 1 || len(p.distant(e, m)) != 1 {
		t.Fatalf("%+v", out)
	}
	p.git("--git-dir="+m.URL, "gc", "-q", "--prune=now")
	if left, err := p.tryGit("--git-dir="+m.URL, "grep", "-q", "PRIVATE", strings.Fields(p.git("--git-dir="+m.URL, "rev-list", "--all"))[0]); err == nil {
		t.Errorf("the content is there: %s", left)
	}
}

func TestWhatAGitRemoteSaysWronglyIsNamedAndNotRecorded(t *testing.T) {
	p := newPlace(t, true)
	p.write("a", "one\n")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	p.mustPush(e, m)
	there := func(args ...string) string { return p.git(append([]string{"--git-dir=" + m.URL}, args...)...) }
	tip := strings.Fields(there("for-each-ref", "--format=%(objectname)"))[0]
	tree := func(lines string) string {
		return strings.TrimSpace(p.gitReading(lines, "--git-dir="+m.URL, "mktree", "--missing"))
	}
	blob := func(text string) string {
		return strings.TrimSpace(p.gitReading(text, "--git-dir="+m.URL, "hash-object", "-w", "--stdin"))
	}
	path := strings.Fields(there("ls-tree", "-r", "--name-only", tip, "snapshots/"))[0]
	fan, rest := path[len("snapshots/"):len("snapshots/")+2], strings.Split(path, "/")[2]
	record := there("show", tip+":"+path)
	for name, dir := range map[string]string{
		"no record":        tree(""),
		"no JSON":          tree("100644 blob " + blob("{") + "\trecord\n"),
		"another state":    tree("100644 blob " + blob(strings.Replace(record, `"snapshot":{`, `"snapshot":{"overlay":"`+strings.Repeat("2", 40)+`",`, 1)) + "\trecord\n"),
		"a missing object": tree("100644 blob " + strings.Repeat("1", 40) + "\trecord\n"),
		"an odd umask":     tree("100644 blob " + blob(strings.Replace(record, `"umask":18`, `"umask":99999`, 1)) + "\trecord\n"),
	} {
		snaps := tree("040000 tree " + tree("040000 tree "+dir+"\t"+rest+"\n") + "\t" + fan + "\n")
		top := tree("100644 blob " + blob("host") + "\thost\n040000 tree " + snaps + "\tsnapshots\n")
		commit := strings.TrimSpace(there("commit-tree", top, "-p", tip, "-m", "x"))
		there("update-ref", "refs/pi-rewind/remote/"+strings.Repeat("a", 32), commit)
		q := newPlace(t, true)
		n := q.open()
		q.snap(n, "mine", nil)
		s, err := n.Remotes().Open(context.Background(), away.Remote{Name: "host", URL: m.URL, Git: true}, "")
		q.must(err)
		f, err := n.Remotes().Fetch(context.Background(), s)
		q.must(s.Close())
		if err == nil && len(f.Left) == 0 {
			t.Errorf("%s: %+v", name, f)
		}
		if err != nil && name != "a missing object" {
			t.Errorf("%s: %v", name, err)
		}
		if v, err := n.Verify(context.Background()); err != nil || len(v.Damaged) > 0 {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
}

func TestAGitRemoteIsReachedAsGitReachesIt(t *testing.T) {
	gittest.Programs(t)
	p := newPlace(t, true)
	p.write("a", "one\n")
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	base := filepath.Dir(m.URL)
	ssh := filepath.Join(base, "ssh")
	p.must(os.WriteFile(ssh, []byte("#!/bin/sh\nwhile [ \"$1\" != somewhere ]; do shift; done\nshift\nexec sh -c \"$*\"\n"), 0o755))
	t.Setenv("GIT_SSH_COMMAND", filepath.ToSlash(ssh))
	t.Setenv("GIT_SSH_VARIANT", "simple")
	p.mustPush(e, p.added(e, away.Remote{Name: "ssh", URL: "somewhere:" + m.URL, Git: true}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	port := l.Addr().(*net.TCPAddr).Port
	p.must(l.Close())
	// Not "git daemon": that is the parent of what would be left when it is killed.
	daemon := exec.Command(filepath.Join(strings.TrimSpace(p.git("--exec-path")), "git-daemon"), "--reuseaddr", "--listen=127.0.0.1", "--export-all", "--enable=receive-pack", "--port="+fmt.Sprint(port), "--base-path="+base, base)
	if err := daemon.Start(); err != nil {
		t.Skip("SKIPPED: git daemon cannot be started:", err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	url := "git://127.0.0.1:" + fmt.Sprint(port) + "/there.git"
	r := e.Remotes()
	for tries := 0; ; tries++ {
		if _, err = r.Exists(context.Background(), away.Remote{URL: url, Git: true}); err == nil {
			break
		}
		if tries == 100 {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.snap(e, "2", nil)
	p.mustPush(e, p.added(e, away.Remote{Name: "daemon", URL: url, Git: true}))
	if n := len(p.distant(e, m)); n != 2 {
		t.Errorf("%d snapshots are there", n)
	}
	if _, err := r.Exists(context.Background(), away.Remote{URL: "git://127.0.0.1:" + fmt.Sprint(port) + "/none.git", Git: true}); err == nil {
		t.Error("a repository that is not there is there")
	}
}

// It has no git, and the store all that git has elsewhere.
func TestADirectoryThatAGitRemoteMadeIsPushedThereAgain(t *testing.T) {
	p := newPlace(t, true)
	p.eachKind(true)
	e := p.open()
	p.snap(e, "1", nil)
	m := p.newGitRemote(e)
	p.mustPush(e, m)
	q := newPlace(t, false)
	dir := filepath.Join(q.dir, "work")
	q.resumedGit(dir, m.URL, "")
	n, err := Open(t.Context(), dir, &Options{Getenv: q.getenv, NoGit: true})
	p.must(err)
	defer n.Close()
	om, err := n.Remotes().Find("")
	p.must(err)
	q.must(errors.Join(os.MkdirAll(filepath.Join(dir, "new/er"), 0o755), os.WriteFile(filepath.Join(dir, "new/er/tool"), []byte("#!/bin/sh\n"), 0o755), os.Symlink("er", filepath.Join(dir, "new/link")),
		os.WriteFile(filepath.Join(dir, ".env"), []byte("SECRET=2\n"), 0o600), os.Mkdir(filepath.Join(dir, "hollow"), 0o700)))
	q.snap(n, "2", nil)
	if out := q.mustPush(n, om); out.Snapshots != 1 || len(out.Left) > 0 {
		t.Errorf("%+v", out)
	}
	if out := q.mustPush(n, om); out.Snapshots != 0 || out.There != 2 {
		t.Errorf("again: %+v", out)
	}
	p.git("--git-dir="+m.URL, "fsck", "--strict", "--connectivity-only")
	if objects := p.git("--git-dir="+m.URL, "cat-file", "--batch-all-objects", "--batch"); strings.Contains(objects, "SECRET") {
		t.Error("what git does not keep went to a git remote")
	}
	f, err := p.fetched(e, m)
	p.must(err)
	if len(f.Snapshots) != 1 || f.Bridge != nil {
		t.Fatalf("%+v", f)
	}
	p.do(e, Op{To: f.Snapshots[0].ID})
	want, got := atHome(q.shown(dir)), atHome(p.shown(p.dir))
	for name := range want {
		if want[name] != got[name] {
			t.Errorf("%q is %.80s, want %.80s", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d paths came of %d", len(got), len(want))
	}
}

// A sparse checkout has a file that was never on disk, and that a remote of restic does not get.
func TestWhatNobodyHasIsNamedByAPushToAGitRemote(t *testing.T) {
	p := newPlace(t, true)
	p.eachKind(true)
	from := filepath.Join(p.t.TempDir(), "from")
	p.git("commit", "-qm", "all")
	p.git("clone", "-q", "--bare", ".", from)
	p.git("--git-dir="+from, "config", "uploadpack.allowFilter", "true")
	p.dir = t.TempDir()
	p.git("clone", "-q", "--no-local", "--filter=blob:none", "--sparse", from, ".")
	blob := strings.TrimSpace(p.git("rev-parse", "HEAD:sparse/f"))
	e := p.open()
	first := p.snap(e, "1", nil).ID
	m := p.newRemote(e)
	p.mustPush(e, m)
	q := newPlace(t, true)
	dir := filepath.Join(q.dir, "work")
	_, err := resumed(q, dir, m.URL, "")
	p.must(err)
	n, err := Open(t.Context(), dir, &Options{Getenv: q.getenv, NoGit: true})
	p.must(err)
	defer n.Close()
	second := q.snap(n, "2", nil).ID
	out := q.mustPush(n, q.newGitRemote(n))
	if out.Snapshots != 1 || len(out.Left) != 1 || string(out.Left[0].Path) != first.String() || !strings.Contains(out.Left[0].Reason, blob+" is missing") {
		t.Errorf("%v and %v: %+v", first, second, out)
	}
}
