package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/bench/report"
	"github.com/seed-82afce7a/rewind/internal/seed"
)

// quick are the contenders that take no second each time.
func quick() (list []string) {
	for _, key := range Contenders() {
		if !slices.Contains([]string{"restic", "borg"}, key) {
			list = append(list, key)
		}
	}
	return list
}

func TestEveryWorkloadIsDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	some := []string{"rewind", "rewind-nogit", "rewind-beside-watch", "opencode", "git-status", "list-lstat"}
	if seed.Deep() {
		some = append(some, "rewind-watched-nogit", "git-stash")
	}
	timed := slices.DeleteFunc(Workloads(), func(name string) bool { return name == "situations" || strings.HasPrefix(name, "remote") })
	r, err := Run(context.Background(), Options{Binary: fakeRewind(t, ""), Files: 64, Rounds: 1, Turns: 4, History: 6, Contenders: some, Workloads: timed, Dir: dir, large: 3 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, res := range r.Results {
		got = append(got, res.Workload)
		if res.Files != 66 && res.Workload != "size" || res.Place == "" || res.About == "" {
			t.Errorf("%s: %d files on %q", res.Workload, res.Files, res.Place)
		}
		rounds := 1
		if res.Workload == "turns" {
			rounds = 4
		}
		for i, l := range res.Lines {
			if res.Workload == "sessions" && !strings.HasPrefix(l.Contender, "rewind") {
				continue // git's locks let some of them fail
			}
			if l.Left != "" || (len(l.Seconds) != rounds || l.Time.Median <= 0) && l.Contender != "rewind prune to half" {
				t.Errorf("%s, %s: %+v", res.Workload, l.Contender, l)
			}
			if i == 0 && !strings.HasPrefix(l.Contender, "rewind") {
				t.Errorf("%s is compared with %s", res.Workload, l.Contender)
			}
		}
	}
	if got = slices.Compact(got); !slices.Equal(got, timed) { // some have several
		t.Errorf("ran %v", got)
	}
	whoIsExact(t, r)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestEveryContenderRecordsAndRestores(t *testing.T) {
	t.Parallel()
	r, err := Run(context.Background(), Options{Binary: fakeRewind(t, ""), Files: 32, Rounds: 1, Contenders: quick(), Workloads: []string{"files", "restore-1"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Results[0].Lines {
		if len(l.Seconds) != 1 {
			t.Errorf("%+v", l)
		}
	}
	whoIsExact(t, r)
}

// whoIsExact checks what is known of the peers: these leave new files behind, or do
// not record untracked ones; the others are exact in every workload.
func whoIsExact(t *testing.T, r *report.Report) {
	t.Helper()
	for _, res := range r.Results {
		for _, l := range res.Lines {
			want := report.Exact
			switch {
			case res.Workload == "sessions" && !strings.HasPrefix(l.Contender, "rewind"):
				continue
			case strings.HasPrefix(l.Contender, "git status") || strings.HasSuffix(l.Contender, "lstat") ||
				res.Workload == "start" || res.Verb != "" && !slices.Contains([]string{"snapshot", "restore", "undo"}, res.Verb) || l.Contender == "rewind version" || res.Workload == "history" && !strings.HasPrefix(l.Contender, "rewind snapshot") || l.Contender == "git init, add -A":
				want = ""
			case (l.Contender == "Zed" || l.Contender == "git stash create") && res.Workload != "restore-1" && res.Workload != "rm-5000":
				want = report.NotExact
			}
			if l.Exact != want || (l.Inexact != "") != (want == report.NotExact) {
				t.Errorf("%s, %s: exact %q, want %q: %s", res.Workload, l.Contender, l.Exact, want, l.Inexact)
			}
		}
	}
}

func TestAnAnswerThatNamesNoChangeFails(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"rewind-watched", "rewind-beside-watch"} {
		_, err := Run(context.Background(), Options{Binary: fakeRewind(t, "plan"), Files: 64, Rounds: 1, Dir: t.TempDir(), Workloads: []string{"watched-questions"}, Contenders: []string{key}})
		if err == nil || !strings.Contains(err.Error(), "check: names 0 changes, not 2") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// An earlier program works in its own copy, and what it lacks is told of.
func TestAnEarlierProgramIsMeasuredBesideThisOne(t *testing.T) {
	t.Parallel()
	r, err := Run(context.Background(), Options{
		Binary: fakeRewind(t, ""), Before: fakeRewind(t, "plan"), Files: 64, Rounds: 1, Dir: t.TempDir(),
		Workloads: []string{"watched-questions"}, Contenders: []string{"rewind-watched", "before-watched", "git-status"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Results {
		var names []string
		for _, l := range res.Lines {
			names = append(names, l.Contender)
			if len(l.Seconds) != 1 || (l.Inexact != "") != (strings.HasPrefix(l.Contender, "before") && strings.HasPrefix(res.Verb, "plan")) {
				t.Errorf("%s: %+v", res.Verb, l)
			}
		}
		if want := []string{"rewind serve, watched", "before: rewind serve, watched", "rewind version", "git status"}; !slices.Equal(names, want) {
			t.Errorf("%s: %q", res.Verb, names)
		}
	}
}

func TestASnapshotThatRecordsNothingFails(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"rewind", "rewind-serve-nogit"} {
		_, err := Run(context.Background(), Options{Binary: fakeRewind(t, "snapshot"), Files: 64, Rounds: 1, Dir: t.TempDir(), Workloads: []string{"edit-1"}, Contenders: []string{key}})
		if err == nil || !strings.Contains(err.Error(), "check: snapshot") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestARestoreThatDoesNothingFails(t *testing.T) {
	t.Parallel()
	binary, dir := fakeRewind(t, "restore"), t.TempDir()
	r, err := Run(context.Background(), Options{Binary: binary, Files: 64, Rounds: 1, Dir: dir, Workloads: []string{"start", "restore-1"}, Contenders: []string{"rewind"}})
	if err == nil || !strings.Contains(err.Error(), "restore-1: rewind: check: ") {
		t.Errorf("got %v", err)
	}
	if r == nil || len(r.Results) != 1 || r.Results[0].Workload != "start" {
		t.Errorf("lost what was finished before: %+v", r)
	}
	if _, err := Run(context.Background(), Options{Binary: binary, Files: 64, Rounds: 1, Dir: dir, Workloads: []string{"edit-1"}, Contenders: []string{"rewind"}}); err == nil {
		t.Error("a snapshot that cannot be restored counts as one")
	}
}

// testStage makes a stage without rewind.
func testStage(t *testing.T, keys ...string) *stage {
	t.Helper()
	fakeRewind(t, "") // skips where the peers cannot be run
	o, err := Options{Files: 64, Contenders: keys}.filled()
	if err != nil {
		t.Fatal(err)
	}
	chosen, _ := o.contenders(context.Background())
	st, err := newStage(context.Background(), o, place{dir: t.TempDir()}, chosen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.close)
	return st
}

// broken is a peer whose restore fails.
type broken struct{ system }

func (broken) restore(context.Context, *lane, string) error { return os.ErrPermission }

func TestAPeerThatFailsIsNamedAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st := testStage(t, "opencode", "pi-rewind-hook")
	for i := range st.chosen {
		if st.chosen[i].key == "pi-rewind-hook" {
			st.chosen[i].make = func(l *lane) system { return broken{hook(l)} }
		}
	}
	for name, run := range map[string]func(context.Context, *stage, workload) ([]report.Result, error){"record": records(1, edit, true), "restore": restores(damaged(1))} {
		results, err := run(ctx, st, workload{name: "edit-1"})
		if err != nil {
			t.Fatal(err)
		}
		good, bad := results[0].Lines[0], results[0].Lines[1]
		if good.Exact != report.Exact || len(good.Seconds) != st.o.Rounds {
			t.Errorf("%s: %+v", name, good)
		}
		if bad.Exact == report.Exact || !strings.Contains(bad.Left+bad.Inexact, "permission") {
			t.Errorf("%s: %+v", name, bad)
		}
	}
}

func TestTheCorpusGivenIsOnlyRead(t *testing.T) {
	t.Parallel()
	binary := fakeRewind(t, "")
	corpus := t.TempDir()
	if err := generate(context.Background(), corpus, Options{Files: 40, Bytes: bytesMost, Seed: 7}); err != nil {
		t.Fatal(err)
	}
	before := listing(t, corpus)
	if _, err := Run(context.Background(), Options{Binary: binary, Corpus: corpus, Rounds: 1, Dir: t.TempDir(), Workloads: []string{"first", "first-nogit"}, Contenders: quick()}); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, corpus); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// listing gives names, modes, sizes and times of everything in a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, fi.Mode(), fi.Size(), fi.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheSameSeedMakesTheSameFiles(t *testing.T) {
	pictures := map[uint64]picture{}
	for _, seed := range []uint64{1, 1, 2} {
		dir := t.TempDir()
		if err := generate(context.Background(), dir, Options{Files: 20, Bytes: bytesMost, Seed: seed}); err != nil {
			t.Fatal(err)
		}
		if was := pictures[seed]; was != nil {
			if err := was.differs(dir, nil); err != nil {
				t.Error("seed 1 gave two corpora:", err)
			}
		}
		pictures[seed], _ = takePicture(dir, nil)
		if first := pictures[1]; seed == 2 && first.differs(dir, nil) == nil {
			t.Error("two seeds gave one corpus")
		}
	}
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	binary, dir := fakeRewind(t, ""), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := Run(ctx, Options{Binary: binary, Files: 64, Dir: dir, Contenders: quick(), Workloads: []string{"edit-1"}, Progress: func(line string) {
		if strings.HasPrefix(line, "edit-1, 66 files: round 2") {
			cancel()
		}
	}})
	if err == nil {
		t.Error("it went on")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestWhatDoesNotExistIsNamed(t *testing.T) {
	for _, o := range []Options{{Workloads: []string{"dance"}}, {Contenders: []string{"dance"}}} {
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "dance") {
			t.Errorf("danced: %v", err)
		}
	}
}

func TestWhoTakesTooLongEndsAndIsStillProved(t *testing.T) {
	t.Parallel()
	var notes []string
	r, err := Run(context.Background(), Options{
		Binary: fakeRewind(t, ""), Files: 64, Rounds: 3, Dir: t.TempDir(), longest: 1, Note: func(line string) { notes = append(notes, line) },
		Contenders: []string{"rewind", "git-stash", "git-status"}, Workloads: []string{"edit-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []report.Exactness{report.Exact, report.NotExact, ""} {
		l := r.Results[0].Lines[i]
		if len(l.Seconds) != 1 || !strings.HasPrefix(l.Left, "ended after 1 rounds, which took ") || l.Exact != want {
			t.Errorf("%+v", l)
		}
		if i >= len(notes) || !strings.HasPrefix(notes[i], "edit-1, 66 files: "+l.Contender+" takes ") {
			t.Errorf("notes: %q", notes)
		}
	}
}

func TestAFileIsReadAgainUnlessTheKernelSaysThatItIsTheSame(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: each file is read each time here")
	}
	dir, m := t.TempDir(), memory{}
	if err := generate(context.Background(), dir, Options{Files: 20, Bytes: bytesMost, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	want, err := takePicture(dir, m)
	if err != nil || len(m) != 0 {
		t.Fatalf("%d files are remembered that have just been written: %v", len(m), err)
	}
	const kept, changed = "part00/dir0000/file00003.go", "part00/dir0000/file00004.go"
	for _, name := range []string{kept, changed} {
		fi, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		m.keep(&looked{name, fi, "as remembered"}, fi.ModTime().Add(2*leftAlone))
	}
	path := filepath.Join(dir, changed)
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Repeat([]byte("x"), int(fi.Size()))
	if err := firstError(os.WriteFile(path, other, 0o644), os.Chtimes(path, fi.ModTime(), fi.ModTime())); err != nil {
		t.Fatal(err)
	}
	got, err := takePicture(dir, m)
	if err != nil || !strings.HasSuffix(got[kept], "as remembered") || strings.HasSuffix(got[changed], "as remembered") || got[changed] == want[changed] {
		t.Errorf("%q, %q: %v", got[kept], got[changed], err)
	}
}

func TestWhatIsStillToDoIsTold(t *testing.T) {
	st := &stage{o: Options{Rounds: 9, longest: 2 * time.Minute}}
	m := measurement{st: st, lines: make([]report.Line, 3), paces: []pace{{turn: time.Second, spent: 3 * time.Second}, {turn: time.Minute, spent: 119 * time.Second}, {turn: time.Hour}}}
	m.lines[0].Seconds, m.lines[1].Seconds = make([]float64, 3), make([]float64, 2)
	m.lines[2].Left = "failed"
	if got := m.toGo(); got != ", about 67 s to go" {
		t.Errorf("six turns of a second, and one of a minute: %q", got)
	}
}
