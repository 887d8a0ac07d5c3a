package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// gitHas reports whether any object of the repository has these bytes.
func (p *place) gitHas(e *Engine, text string) bool {
	p.t.Helper()
	id := e.alg.Sum(oid.Blob, []byte(text)).String()
	listed := strings.Contains(p.git("rev-list", "--objects", "--all"), id)
	_, err := p.tryGit("cat-file", "-e", id)
	return listed || err == nil
}

func TestIncludedIgnoredFilesAndSecretsAreRestoredAndNeverInGit(t *testing.T) {
	p := newPlace(t, true)
	p.write(".gitignore", "*.db\n.env\nout/\n")
	p.write("file", "tracked")
	p.commit("one")
	p.git("config", "--add", "rewind.include", ".env")
	p.git("config", "--add", "rewind.include", "out/fixtures/")
	p.git("config", "rewind.secrets", "builtin")
	files := map[string]string{
		".env": "TOKEN=1", "out/fixtures/a/b.json": "fixture", "keys/server.pem": "-----BEGIN", "deep/er/.env.local": "LOCAL=1",
	}
	for name, text := range files {
		p.write(name, text)
	}
	p.write("out/build.o", "not included")
	p.write("local.db", "not included either")
	p.must(os.Chmod(filepath.Join(p.dir, "keys/server.pem"), 0o600))
	e := p.open()
	first := p.snap(e, "one", nil)
	if len(first.Skipped) > 0 || len(first.Exposed) > 0 {
		t.Errorf("%+v, %v", first.Skipped, first.Exposed)
	}
	for name := range files {
		p.write(name, "changed "+name)
	}
	p.remove("out")
	second := p.snap(e, "two", nil)
	if second.Changed < 5 {
		t.Errorf("%d paths changed", second.Changed)
	}
	p.do(e, Op{To: first.ID})
	for name, text := range files {
		if p.read(name) != text {
			t.Errorf("%s is %q after the restore", name, p.read(name))
		}
	}
	if info, _ := os.Stat(filepath.Join(p.dir, "keys/server.pem")); info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("the key's mode is %v", info.Mode())
	}
	if _, err := e.Do(context.Background(), Op{Verb: Undo}); err != nil || p.read(".env") != "changed .env" || p.exists("out/fixtures/a/b.json") {
		t.Errorf("%v after the undo: %q", err, p.read(".env"))
	}
	if _, err := e.Do(context.Background(), Op{Verb: Redo}); err != nil || p.read("out/fixtures/a/b.json") != "fixture" {
		t.Errorf("%v after the redo", err)
	}
	for name, text := range files {
		if p.gitHas(e, text) || p.gitHas(e, "changed "+name) {
			t.Errorf("%s is in git", name)
		}
	}
	if strings.Contains(p.git("ls-tree", "-r", "--name-only", first.Tree.String()), "server.pem") {
		t.Error("the git tree names the key")
	}
	p.wantClean(e)
}

func TestWhatTheSettingsLeaveOutIsNamedAndNeverDeleted(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.exclude", "data/")
	p.git("config", "rewind.maxFileSize", "1k")
	e := p.open()
	p.write("small", "before")
	first := p.snap(e, "one", nil)
	p.write("data/set.csv", "1,2,3")
	p.write("big", strings.Repeat("x", 2000))
	p.write("small", "after")
	p.write("new", "n")
	r := p.snap(e, "two", nil)
	var named []string
	for _, s := range r.Skipped {
		named = append(named, string(s.Path))
	}
	if !slices.Equal(named, []string{"big", "data"}) {
		t.Errorf("named %v", r.Skipped)
	}
	for _, id := range []oid.ID{first.ID, r.ID} {
		p.do(e, Op{To: id})
		if !p.exists("data/set.csv") || len(p.read("big")) != 2000 {
			t.Error("a path that was left out was touched")
		}
	}
	if p.read("small") != "after" || !p.exists("new") {
		t.Error("the rest was not restored")
	}
	if p.gitHas(e, "1,2,3") || p.gitHas(e, strings.Repeat("x", 2000)) {
		t.Error("git has what was left out")
	}
}

func TestAFileThatGrewBeyondTheLimitIsNotOverwrittenUnseen(t *testing.T) {
	// The target has a small version of a file that is now too large to be
	// taken in: what is overwritten must be in the undo all the same.
	p := newPlace(t, true)
	p.git("config", "rewind.maxFileSize", "1k")
	e := p.open()
	p.write("f", "small")
	first := p.snap(e, "one", nil)
	large := strings.Repeat("precious", 1000)
	p.write("f", large)
	r := p.do(e, Op{To: first.ID})
	if p.read("f") == "small" {
		if _, err := e.Do(context.Background(), Op{Verb: Undo}); err != nil || p.read("f") != large {
			t.Errorf("%v: the large version is lost", err)
		}
	} else if p.read("f") != large || len(r.Conflicts)+len(r.Kept) == 0 {
		t.Errorf("neither restored nor named: %+v", r)
	}
}

func TestAFullStoreTakesInNoNewFilesButEveryTrackedOne(t *testing.T) {
	p := newPlace(t, true)
	p.write("tracked", "one")
	p.commit("one")
	p.git("config", "rewind.maxStoreSize", "300k")
	e := p.open()
	p.snap(e, "one", nil)
	p.write("huge", strings.Repeat("y", 1<<20))
	p.write("tiny", "tiny")
	p.write("tracked", strings.Repeat("z", 1<<20))
	r := p.snap(p.open(), "two", nil)
	if len(r.Skipped) != 1 || r.Skipped[0].Path != "huge" || !strings.Contains(r.Skipped[0].Reason, "rewind.maxStoreSize") {
		t.Errorf("skipped %+v", r.Skipped)
	}
	p.git("config", "--unset", "rewind.maxStoreSize")
	if r = p.snap(p.open(), "three", nil); len(r.Skipped) != 0 {
		t.Errorf("skipped %+v without the limit", r.Skipped)
	}
}

func TestARestoreNamesWhatStaysBecauseItCouldNotBeRecorded(t *testing.T) {
	p := newPlace(t, true)
	p.write("f", "one")
	p.write("taken", "a file")
	first := p.snap(p.open(), "one", nil)
	p.git("config", "rewind.maxStoreSize", "300k")
	p.git("config", "rewind.exclude", "out")
	p.write("f", "two")
	p.write("huge", strings.Repeat("y", 1<<20))
	p.write("out", "left out by a setting")
	second := p.snap(p.open(), "two", nil)
	p.write("f", "three")
	stays := func(r *Restored, want ...string) {
		t.Helper()
		if got := pathsOf(r.Kept); !slices.Equal(got, want) || len(r.Conflicts) > 0 || len(p.read("huge")) != 1<<20 || p.read("out") == "" {
			t.Errorf("kept %+v, conflicts %+v, want %q kept", r.Kept, r.Conflicts, want)
		}
	}
	r := p.do(p.open(), Op{To: second.ID})
	stays(r) // that snapshot left it out too
	r = p.do(p.open(), Op{To: first.ID})
	stays(r, "huge")
	if r = p.do(p.open(), Op{To: first.ID}); !r.Undo.IsZero() {
		t.Fatalf("%+v: nothing had to change", r)
	}
	stays(r, "huge")
	r = p.do(p.open(), Op{To: first.ID, Paths: []string{"f"}})
	stays(r) // it was not asked for
}

func TestFilesThatLookLikeSecretsAreNamedOnce(t *testing.T) {
	p := newPlace(t, true)
	p.write("tracked.pem", "public")
	p.commit("one")
	e := p.open()
	p.write("tracked.pem", "changed")
	if r := p.snap(e, "one", nil); len(r.Exposed) > 0 {
		t.Errorf("%v: tracked files are in git by the user's own will", r.Exposed)
	}
	p.write(".env", "TOKEN=1")
	p.write("sub/id_rsa", "-----BEGIN")
	p.write(".env.example", "TOKEN=")
	p.write("venv/lib/python3/site-packages/certifi/cacert.pem", "# nothing but names")
	p.write("deploy/ca.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n")
	p.write("deploy/both.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----BEGIN RSA PRIVATE KEY-----\nBBBB\n")
	if r := p.snap(e, "two", nil); !slices.Equal(r.Exposed, []Path{".env", "deploy/both.pem", "sub/id_rsa"}) {
		t.Errorf("%v", r.Exposed)
	}
	if !p.gitHas(e, "TOKEN=1") {
		t.Error("the notice was for nothing")
	}
	p.write(".env", "TOKEN=2")
	if r := p.snap(p.open(), "three", nil); len(r.Exposed) > 0 {
		t.Errorf("%v was said a second time", r.Exposed)
	}
	st, err := p.open().Status(context.Background())
	if err != nil || len(st.Exposed) != 3 {
		t.Errorf("%v, %v", err, st.Exposed)
	}
	p.git("config", "rewind.secrets", "builtin")
	if r := p.snap(p.open(), "four", nil); len(r.Exposed) > 0 {
		t.Errorf("%v was said although rewind.secrets is set", r.Exposed)
	}
	if st, _ = p.open().Status(context.Background()); len(st.Exposed) != 3 {
		t.Errorf("git has them still, and status names only %v", st.Exposed)
	}
}

func TestEachSecretIsNamedWhenItComesIntoGit(t *testing.T) {
	p := newPlace(t, true)
	p.write(".env", "K=1")
	e := p.open()
	wants := func(text string, said, status []Path) {
		t.Helper()
		if r := p.snap(e, text, nil); !slices.Equal(r.Exposed, said) {
			t.Errorf("%s: said %v, want %v", text, r.Exposed, said)
		}
		if st, err := e.Status(t.Context()); err != nil || !slices.Equal(st.Exposed, status) {
			t.Errorf("%s: %v: status has %v, want %v", text, err, st.Exposed, status)
		}
	}
	wants("one", []Path{".env"}, []Path{".env"})
	p.write(".env", "K=2")
	p.write("server.key", "k")
	wants("two", []Path{"server.key"}, []Path{".env", "server.key"})
	p.purge(e, ".env", "server.key")
	p.write("other.key", "o")
	wants("three", []Path{".env", "other.key", "server.key"}, []Path{".env", "other.key", "server.key"})
}

func TestManySkippedPathsAreStoredOnce(t *testing.T) {
	p := newPlace(t, false)
	p.write(".rewind-test", "")
	p.env["XDG_CONFIG_HOME"] = p.home
	p.must(os.MkdirAll(p.home+"/rewind", 0o755))
	p.must(os.WriteFile(p.home+"/rewind/config", []byte("[rewind]\n\texclude = *.out\n"), 0o644))
	const many = 2560 // far more than stand in a record itself
	for i := range many {
		p.write(fmt.Sprint("d/", i, ".out"), "left out")
	}
	e, ctx := p.open(), context.Background()
	one := p.snap(e, "one", nil)
	if len(one.Skipped) != many {
		t.Fatalf("%d paths were skipped", len(one.Skipped))
	}
	two := p.snap(e, "two", nil)
	most := 0
	p.must(e.view(ctx, func(v *records.View) error {
		for _, value := range v.Table("snapshots").All() {
			most = max(most, len(value))
		}
		return nil
	}))
	if most > 2000 {
		t.Errorf("a record has %d bytes", most)
	}
	e = p.open()
	for _, id := range []*Recorded{one, two} {
		s, err := e.Find(ctx, id.ID.String())
		if err != nil || len(s.Skipped) != many {
			t.Errorf("%d skipped paths, %v", len(s.Skipped), err)
		}
	}
	list := p.list(e, nil)
	st := p.status(e)
	if len(list) != 2 || len(list[1].Skipped) != many || len(st.Skipped) != many {
		t.Errorf("%d snapshots, %d skipped paths in the status", len(list), len(st.Skipped))
	}
	again, err := e.Snapshot(ctx, &SnapshotOptions{Label: "again"})
	if err != nil || !again.Reused || len(again.Skipped) != many {
		t.Errorf("reused %v, %d skipped paths, %v", again.Reused, len(again.Skipped), err)
	}
	// A restore does not delete what was left out then, and a prune keeps the list.
	p.prune(e, &PruneOptions{MaxSnapshots: 2, Grace: -1})
	r, err := e.Do(ctx, Op{To: one.ID})
	if err != nil || r.Deleted != 0 || !p.exists("d/7.out") {
		t.Errorf("%+v, %v", r, err)
	}
	p.wantClean(e)
}
