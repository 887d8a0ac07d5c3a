package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// fake is a program with the command line of rewind that keeps its snapshots
// with git. A word in $BREAK makes one of its verbs do nothing, and say it did.
const fake = `#!/bin/sh
set -e
dir=$2 verb=$3 what=$4
if [ -d "$dir/.git" ]; then store=$dir/.git/rewind; else store=$XDG_STATE_HOME/rewind; fi
g() { git --git-dir="$store" --work-tree="$dir" "$@"; }
cd "$dir"
[ -d "$store" ] || { mkdir -p "$store"; git init -q --bare "$store"; g config core.bare false; }
case "$verb" in
snapshot)
	if [ "$BREAK" = snapshot ] && [ -f "$store/last" ]; then printf '{"id":"%s"}\n' "$(cat "$store/last")"; exit; fi
	g add -A; tree=$(g write-tree); echo "$tree" >"$store/last"
	printf '{"id":"%s","reused":false,"skipped":[]}\n' "$tree" ;;
restore)
	[ "$4 $5 $6" = "$what --yes --json" ]
	if [ "$BREAK" != restore ]; then g add -A; g read-tree --reset -u "$what"; fi
	printf '{"id":"%s"}\n' "$what" ;;
cat) g cat-file blob "$what" ;;
list) echo '{"snapshots":[]}' ;;
status) echo '{}' ;;
*) exit 2 ;;
esac
`

// fakeRewind writes the program, and names the verb that it does not do.
func fakeRewind(t *testing.T, broken string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the program that stands for rewind is a shell script")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git, and every peer is run with it")
	}
	path := filepath.Join(t.TempDir(), "rewind")
	if err := os.WriteFile(path, []byte(strings.Replace(fake, "set -e", "set -e; BREAK="+broken, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryContenderDoesEveryWorkload(t *testing.T) {
	dir := t.TempDir()
	report, err := Run(context.Background(), Options{Binary: fakeRewind(t, ""), Files: 64, Rounds: 2, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range report.Results {
		got = append(got, r.Workload)
		if r.Files != 65 || r.Place == "" {
			t.Errorf("%s: %d files on %q", r.Workload, r.Files, r.Place)
		}
		for _, c := range r.Contenders {
			if len(c.Seconds) != 2 || c.Median <= 0 || c.Ratio <= 0 {
				t.Errorf("%s, %s: %+v", r.Workload, c.Name, c)
			}
		}
		if first := r.Contenders[0]; !strings.HasPrefix(first.Name, "rewind") || first.Ratio != 1 {
			t.Errorf("%s is compared with %s, ratio %v", r.Workload, first.Name, first.Ratio)
		}
	}
	if !slices.Equal(got, Workloads()) {
		t.Errorf("ran %v", got)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	readable(t, report)
}

// readable checks that each form of a report can be read again.
func readable(t *testing.T, report *Report) {
	t.Helper()
	var table, object bytes.Buffer
	if err := errors.Join(report.Print(&table), json.NewEncoder(&object).Encode(report)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"OpenCode", "pi-rewind-hook", "restore-1000", "git status", report.Results[len(report.Results)-1].Place} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in:\n%s", want, &table)
		}
	}
	var again Report
	if err := json.Unmarshal(object.Bytes(), &again); err != nil || len(again.Results) != len(report.Results) {
		t.Errorf("%v, %d results", err, len(again.Results))
	}
}

func TestASnapshotThatRecordsNothingFails(t *testing.T) {
	_, err := Run(context.Background(), Options{Binary: fakeRewind(t, "snapshot"), Files: 64, Rounds: 1, Dir: t.TempDir(), Workloads: []string{"edit-1"}})
	if err == nil || !strings.Contains(err.Error(), "edit-1: rewind: check: snapshot") {
		t.Errorf("got %v", err)
	}
}

func TestARestoreThatDoesNothingFails(t *testing.T) {
	report, err := Run(context.Background(), Options{Binary: fakeRewind(t, "restore"), Files: 64, Rounds: 1, Dir: t.TempDir(), Workloads: []string{"edit-1", "restore-1"}})
	if err == nil || !strings.Contains(err.Error(), "restore-1: rewind: check: ") {
		t.Errorf("got %v", err)
	}
	if report == nil || len(report.Results) != 1 || report.Results[0].Workload != "edit-1" {
		t.Errorf("lost what was finished before: %+v", report)
	}
}

// idle is a peer that does nothing: each must be caught, not only rewind.
type idle struct{ system }

func (idle) restore(context.Context, *stage, string) error { return nil }

func TestPeersThatRestoreNothingAreCaught(t *testing.T) {
	fakeRewind(t, "") // skips where the peers cannot be run
	ctx := context.Background()
	st, err := newStage(ctx, Options{Files: 64}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, sys := range st.systems() {
		id, err := sys.snapshot(ctx, st)
		if err != nil {
			t.Fatal(err)
		}
		d, err := st.damage(st.pick(20))
		if err != nil {
			t.Fatal(err)
		}
		if err := (idle{sys}).restore(ctx, st, id); err != nil || st.undamaged(ctx, d) == nil {
			t.Errorf("%s: an idle restore passes the check (%v)", sys.name(), err)
		}
		if err := sys.restore(ctx, st, id); err != nil {
			t.Errorf("%s: %v", sys.name(), err)
		}
		if err := st.undamaged(ctx, d); err != nil {
			t.Errorf("%s: %v", sys.name(), err)
		}
	}
}

func TestTheCorpusGivenIsOnlyRead(t *testing.T) {
	binary := fakeRewind(t, "")
	corpus := t.TempDir()
	if err := generate(corpus, 40, 7); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("part00", filepath.Join(corpus, "link")); err != nil {
		t.Fatal(err)
	}
	before := listing(t, corpus)
	if _, err := Run(context.Background(), Options{Binary: binary, Corpus: corpus, Rounds: 1, Dir: t.TempDir(), Workloads: []string{"first", "first-nogit"}}); err != nil {
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
	sums := map[uint64]string{}
	for _, seed := range []uint64{1, 1, 2} {
		dir := t.TempDir()
		if err := generate(dir, 20, seed); err != nil {
			t.Fatal(err)
		}
		var all bytes.Buffer
		for i := range 20 {
			data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("part%02d/dir%04d/file%05d.go", i/16, i/16, i)))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(data)
		}
		if was, seen := sums[seed]; seen && was != all.String() {
			t.Error("seed 1 gave two corpora")
		}
		sums[seed] = all.String()
	}
	if sums[1] == sums[2] {
		t.Error("two seeds gave one corpus")
	}
}

func TestRatiosAreTakenWithinRounds(t *testing.T) {
	r := Result{Contenders: []Contender{{Seconds: []float64{1, 10, 1}}, {Seconds: []float64{2, 20, 3}}}}
	r.compare()
	if c := r.Contenders[1]; c.Ratio != 2 || c.Median != 3 {
		t.Errorf("ratio %v, median %v", c.Ratio, c.Median)
	}
}

func TestAWorkloadThatDoesNotExistIsNamed(t *testing.T) {
	if _, err := Run(context.Background(), Options{Workloads: []string{"dance"}}); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("danced: %v", err)
	}
}
