package engine

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine/internal/locate"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// history makes a directory without git, with all that a snapshot can have.
func (p *place) history(e *Engine) (list []*Recorded) {
	p.t.Helper()
	ctx := context.Background()
	p.write(".gitignore", "ignored\n")
	p.write("sub/deep/a", "a")
	p.write("large", noise(7, 300<<10))
	p.write("run.sh", "run")
	p.must(os.Chmod(filepath.Join(p.dir, "run.sh"), 0o755))
	p.write("key.pem", "secret of before")
	p.must(os.Chmod(filepath.Join(p.dir, "key.pem"), 0o600))
	p.must(os.MkdirAll(filepath.Join(p.dir, "empty"), 0o700))
	p.must(os.Symlink("sub/deep/a", filepath.Join(p.dir, "link")))
	p.write("ignored", "never recorded")
	list = append(list, p.snap(e, "one", &SnapshotOptions{Label: "first", Session: "s", Entry: "e"}))
	p.remove("sub")
	p.write("large", noise(7, 200<<10)+"x"+noise(8, 100<<10))
	list = append(list, p.snap(e, "two", nil))
	p.must(e.Pin(ctx, "keep", list[0].ID))
	p.do(e, Op{To: list[0].ID})
	list = append(list, p.snap(e, "three", nil))
	return list
}

func (p *place) initGit() {
	p.t.Helper()
	p.git("init", "-q", "-b", "main")
	p.git("config", "gc.auto", "0")
	p.git("config", "user.name", "A")
	p.git("config", "user.email", "a@localhost")
}

func TestARepositoryInheritsTheHistoryOfItsDirectory(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"sha1", "sha256"} {
		newPlace(t, true) // skips without git
		p := newPlace(t, false)
		p.born()
		ctx := context.Background()
		before := p.history(p.open())
		wanted := map[oid.ID]map[string]string{}
		for _, r := range before {
			p.do(p.open(), Op{To: r.ID})
			wanted[r.ID] = p.picture()
		}
		count := len(p.records(p.open()))
		p.git("init", "-q", "-b", "main", "--object-format="+alg)
		p.initGit()
		e := p.open()
		if w := e.Warnings(); len(w) != 1 || !strings.Contains(w[0], "rewind stores --remove") {
			t.Errorf("%s: warnings %q", alg, w)
		}
		p.sync(e)
		for _, text := range []string{"two", "secret of before", noise(7, 300<<10)} {
			if p.gitHas(e, text) {
				t.Errorf("%s: git has what was recorded without it: %.20q", alg, text)
			}
		}
		p.wantClean(e)
		list, err := e.List(ctx, nil)
		if err != nil || len(list) != count {
			t.Fatalf("%s: %d listed of %d, %v", alg, len(list), count, err)
		}
		if i := slices.IndexFunc(list, func(s *Snapshot) bool { return s.Label() == "first" && s.InSession("s") }); i < 0 {
			t.Errorf("%s: the label and the session are lost", alg)
		}
		old := before[0].ID.String()
		for _, name := range []string{old, old[:12], "keep"} {
			if s, err := e.Find(ctx, name); err != nil || s.Label() != "first" {
				t.Errorf("%s: %q: %v", alg, name, err)
			}
		}
		now := p.picture()
		if _, err := e.Do(ctx, Op{Verb: Undo}); err != nil {
			t.Errorf("%s: undo: %v", alg, err)
		}
		if got := p.picture(); maps.Equal(got, now) {
			t.Errorf("%s: the undo changed nothing", alg)
		}
		e = p.open()
		if w := e.Warnings(); len(w) > 0 {
			t.Errorf("%s: said again: %q", alg, w)
		}
		p.wantInherited(before, wanted)
	}
}

// wantInherited checks that each snapshot comes back as it was, and what is left of
// the old store.
func (p *place) wantInherited(before []*Recorded, wanted map[oid.ID]map[string]string) {
	p.t.Helper()
	e, ctx := p.open(), context.Background()
	for id, want := range wanted {
		r, err := e.Do(ctx, Op{To: id})
		if err != nil || len(r.Conflicts) > 0 || !maps.Equal(p.picture(), want) {
			p.t.Errorf("%v did not come back: %v %+v\n%v\n%v", id, err, r, p.picture(), want)
		}
		if !p.exists("ignored") {
			p.t.Error("what the rules ignored was deleted")
		}
	}
	p.snap(p.open(), "after", nil)
	p.sync(e)
	p.wantClean(p.open())
	if st := p.stores()[p.dir]; st.State != locate.Passed || st.Snapshots < len(before) {
		p.t.Errorf("%+v", st)
	}
	out, err := e.Purge(ctx, []string{"key.pem"}, false)
	if err != nil || len(out.Left) != 1 || !strings.Contains(out.Left[0].Reason, "stores --remove") {
		p.t.Errorf("a purge says nothing of the old store: %+v, %v", out, err)
	}
	old := p.stores()[p.dir]
	p.must(old.Remove(false))
	p.wantContent(e, p.find(e, before[0].ID.String()).ID, "sub/deep/a", "a")
}

func TestWhatIsNotTheDirectorysOwnIsNotInherited(t *testing.T) {
	newPlace(t, true) // skips without git
	for what, change := range map[string]func(p *place){
		"made again": func(p *place) {
			p.must(os.RemoveAll(p.dir))
			time.Sleep(10 * time.Millisecond) // so that its birth is another one for certain
			p.must(os.Mkdir(p.dir, 0o755))
		},
		"wanted beside git": func(p *place) {
			e, err := Open(context.Background(), p.dir, &Options{NoGit: true, Getenv: p.getenv})
			p.must(err)
			p.snap(e, "apart", nil)
			p.must(e.Close())
		},
		"no note": func(p *place) { p.must(os.Remove(filepath.Join(p.folder(), "directory"))) },
	} {
		p := newPlace(t, false)
		p.born()
		p.snap(p.open(), "one", nil)
		change(p)
		p.initGit()
		e := p.open()
		if p.storeOf(e) != nil || len(e.Warnings()) > 0 {
			t.Errorf("%s: the history was inherited: %q", what, e.Warnings())
		}
	}
}

func TestAnUnfinishedRestoreIsNotInherited(t *testing.T) {
	newPlace(t, true) // skips without git
	p := newPlace(t, false)
	p.born()
	e, ctx := p.open(), context.Background()
	one := p.snap(e, "one", nil)
	p.snap(e, "two", nil)
	p.must(e.update(ctx, func(u *records.Update) error {
		return u.Begin(&Operation{Kind: records.KindRestore, Where: e.key, From: one.ID, To: one.ID, Plan: one.Tree, Started: time.Now()})
	}))
	p.initGit()
	g := p.open()
	if w := g.Warnings(); len(w) != 1 || !strings.Contains(w[0], "rewind --no-git sync") || p.storeOf(g) != nil && len(p.records(g)) > 0 {
		t.Errorf("warnings %q", w)
	}
}

func TestADamagedHistoryIsToldAndHindersNothing(t *testing.T) {
	newPlace(t, true) // skips without git
	p := newPlace(t, false)
	p.born()
	p.snap(p.open(), "one", nil)
	path := filepath.Join(p.folder(), storeFile)
	p.must(os.Truncate(path, 5000))
	p.initGit()
	e := p.open()
	if w := e.Warnings(); len(w) != 1 || !strings.Contains(w[0], "from before this was a git repository") {
		t.Errorf("warnings %q", w)
	}
	p.snap(e, "two", nil)
	if w := p.open().Warnings(); len(w) > 0 {
		t.Errorf("a store with snapshots looks for others: %q", w)
	}
}

// TestAProgramThatBeganBeforeTheRepositoryLosesNothing lets one go on without git,
// while others have taken the history over.
func TestAProgramThatBeganBeforeTheRepositoryLosesNothing(t *testing.T) {
	newPlace(t, true) // skips without git
	p := newPlace(t, false)
	p.born()
	old, ctx := p.open(), context.Background()
	one := p.snap(old, "one", nil)
	p.initGit()
	var all sync.WaitGroup
	for range 4 { // at once, and yet once
		all.Go(func() {
			e, err := p.tryOpen(p.dir)
			if err != nil {
				t.Error(err)
				return
			}
			if list, err := e.List(ctx, nil); err != nil || len(list) != 1 {
				t.Errorf("%d listed, %v", len(list), err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	git := p.snap(p.open(), "in git", nil)
	two := p.snap(old, "two", nil)
	if st := p.stores()[p.dir]; st.State != locate.Stands {
		t.Errorf("a store that has more than the repository's: %+v", st)
	}
	e := p.open()
	list, err := e.List(ctx, nil)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d listed, %v", len(list), err)
	}
	if last, err := e.Find(ctx, "@"); err != nil || last.ID != p.find(e, two.ID.String()).ID {
		t.Errorf("the last is %v, %v", last, err)
	}
	for id, text := range map[oid.ID]string{one.ID: "one", git.ID: "in git", two.ID: "two"} {
		if _, err := e.Do(ctx, Op{To: id}); err != nil || p.read("file") != text {
			t.Errorf("%v: %v, %q", id, err, p.read("file"))
		}
	}
	if st := p.stores()[p.dir]; st.State != locate.Passed {
		t.Errorf("%+v", st)
	}
	p.wantClean(e)

	// The repository goes, and comes again.
	p.remove(".git")
	if got := p.records(p.open()); len(got) != 2 {
		t.Errorf("without the repository there are %v", got)
	}
	p.initGit()
	if got := p.records(p.open()); len(got) != 2 {
		t.Errorf("the new repository has %v", got)
	}
}

// TestARepositoryThatLostItsStoreInheritsAnew loses what took the history over. The
// ref keeps commits of inherited snapshots, without anything in them.
func TestARepositoryThatLostItsStoreInheritsAnew(t *testing.T) {
	newPlace(t, true) // skips without git
	p := newPlace(t, false)
	p.born()
	one := p.snap(p.open(), "one", nil)
	p.initGit()
	p.snap(p.open(), "two", nil)
	p.sync(p.open())
	if st := p.stores()[p.dir]; st.State != locate.Passed {
		t.Fatalf("%+v", st)
	}
	p.must(os.RemoveAll(filepath.Join(p.dir, ".git", "rewind")))
	if st := p.stores()[p.dir]; st.State != locate.Stands || st.Remove(false) == nil {
		t.Errorf("what has the history is gone, and the old store may go too: %+v", st)
	}
	p.snap(p.open(), "three", nil)
	e := p.open()
	if _, err := e.Do(context.Background(), Op{To: one.ID}); err != nil || p.read("file") != "one" {
		t.Errorf("%v, %q", err, p.read("file"))
	}
	if st := p.stores()[p.dir]; st.State != locate.Passed {
		t.Errorf("%+v", st)
	}
	p.remove(".git")
	if st := p.stores()[p.dir]; st.State != locate.Stands {
		t.Errorf("there is no repository any more: %+v", st)
	}
}

func TestAnUndoAfterGitInitKnowsWhatTheRestoreMade(t *testing.T) {
	newPlace(t, true) // skips without git
	p := newPlace(t, false)
	p.born()
	p.write(".gitignore", ".env\n")
	p.write(".env", "small")
	one := p.snap(p.open(), "one", nil)
	p.must(os.Remove(filepath.Join(p.dir, ".env")))
	p.write("file", "two")
	if _, err := p.open().Do(context.Background(), Op{To: one.ID}); err != nil || p.read(".env") != "small" {
		t.Fatal(err)
	}
	p.initGit()
	r, err := p.open().Do(context.Background(), Op{Verb: Undo})
	if err != nil || p.exists(".env") || p.read("file") != "two" {
		t.Errorf("an ignored file that the restore brought back, and nobody changed: %+v, %v", r, err)
	}
}

func TestARepositoryInheritsWhatItsDirectoryWasResumedFrom(t *testing.T) {
	for _, git := range []bool{false, true} {
		newPlace(t, true) // skips without git
		p := newPlace(t, git)
		p.born()
		p.env["REWIND_SECRETS"], p.env["REWIND_REMOTE_SECRETS"] = "*.pem", "false"
		p.write("key.pem", "PRIVATE KEY\n")
		e := p.open()
		p.snap(e, "one", &SnapshotOptions{Label: "first"})
		m := p.newRemote(e)
		p.mustPush(e, m)
		there, _, r := elsewhere(t, m.URL, "")
		there.initGit()
		n := there.open()
		if w := n.Warnings(); len(w) != 2 || !strings.Contains(w[0], "(snapshots: 1)") || !strings.Contains(w[1], m.URL) {
			t.Errorf("git %v: warnings %q", git, w)
		}
		for _, s := range []*Snapshot{there.find(n, r.Snapshot.ID.String()), there.find(n, there.snap(n, "two", nil).ID.String())} {
			if len(s.Skipped) != 1 || s.Skipped[0] != r.AtHome[0] {
				t.Errorf("git %v: what stays at home is forgotten: %+v", git, s.Skipped)
			}
		}
		if list := there.list(n, nil); len(list) != 2 || list[1].Label() != "first" {
			t.Errorf("git %v: %+v", git, list)
		}
	}
}

func TestAResumeThatHasNotEndedIsInheritedWhenItHas(t *testing.T) {
	newPlace(t, true) // skips without git
	p, m := pushedPlace(t)
	there := newPlace(t, false)
	there.born()
	there.resumeSome(m.URL)
	there.initGit()
	e := there.open()
	if w := e.Warnings(); len(w) != 1 || !strings.Contains(w[0], "a resume of "+m.URL+" has not ended") || len(there.list(e, nil)) > 0 {
		t.Errorf("warnings %q", w)
	}
	_, err := resumed(there, there.dir, m.URL, "")
	p.must(err)
	p.wantShown(there.dir, p.shown(p.dir))
	e = there.open()
	if w := e.Warnings(); len(w) != 2 || there.storeOf(e) == nil {
		t.Errorf("warnings %q", w)
	}
	there.wantClean(e)
}
