package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

var moment = time.UnixMilli(1772600767089).In(time.FixedZone("", 3600))

// scene makes a worktree with a staged, a changed and an untracked file, writes
// its checkpoint, and changes everything. It returns what was there before.
func (r *repo) scene(kind Kind) (ref string, was map[string]string) {
	r.T.Helper()
	r.Write("staged", "s\n")
	r.Git("add", "staged")
	r.Write("tracked", "two\n")
	r.Write("dir/untracked", "u\n")
	r.Write("build/left", "not in it\n")
	r.Git("rm", "-q", "--cached", "staged") // and again, so that the index has it alone
	r.Git("add", "staged")
	was = r.files()
	s := Snapshot{Tree: r.Parse(r.freshTree()), Time: moment, Session: session, Entry: "a1b2", Label: "fix\nbranch evil\r\nit", Turn: 2, Index: r.index(), Left: []string{"left.bin"}}
	ref, err := Write(context.Background(), r.open(), kind, s)
	if err != nil {
		r.T.Fatal(err)
	}
	r.Write("tracked", "three\n")
	r.Write("later", "l\n")
	r.remove("dir/untracked")
	return ref, was
}

func (r *repo) message(ref string) string {
	_, message, _ := strings.Cut(r.Git("cat-file", "commit", ref), "\n\n")
	return message
}

// TestPeersRestoreWhatWeWrite runs the commands by which each system restores.
func TestPeersRestoreWhatWeWrite(t *testing.T) { gittest.Both(t, testPeersRestore) }

func testPeersRestore(t *testing.T, alg oid.Algorithm) {
	restores := map[Kind]func(r *repo, ref string){
		HookV1: func(r *repo, ref string) { // an overlay: it deletes nothing
			r.Git("checkout", ref, "--", ".")
			r.remove("later")
		},
		PiRewind:     (*repo).restorePi,
		CheckpointPi: (*repo).restorePi,
		Tallow: func(r *repo, ref string) {
			r.Git("checkout", ref, "--", ".")
			inTree := strings.Fields(r.Git("ls-tree", "-r", "--name-only", ref))
			for _, name := range strings.Fields(r.Git("ls-files", "-co", "--exclude-standard")) {
				if !slices.Contains(inTree, name) {
					r.remove(name)
				}
			}
		},
		CheckpointSh: func(r *repo, ref string) {
			r.Git("checkout", r.Git("rev-parse", ref), "--", ".")
			r.Git("clean", "-fdq", "-e", ".claude/")
		},
	}
	refs := map[Kind]string{
		HookV1:       sharedPrefix + "checkpoint-" + session + "-1772600767089-a1b2",
		PiRewind:     sharedPrefix + "turn-" + session + "-2-1772600767089",
		CheckpointPi: sharedPrefix + session + "-turn-2-1772600767089",
		Tallow:       tallowPrefix + session + "/turn-0",
		CheckpointSh: "refs/checkpoints/main/1",
	}
	for kind, restore := range restores {
		t.Run(string(kind), func(t *testing.T) {
			r := newRepo(t, alg)
			ref, was := r.scene(kind)
			if ref != refs[kind] {
				t.Errorf("ref %s, want %s", ref, refs[kind])
			}
			c, ok := r.all(nil)[ref]
			if !ok || c.Err != nil || c.Kind != kind {
				t.Fatalf("read back: %v %+v", ok, c)
			}
			if out, err := r.Try("fsck", "--strict", "--full"); err != nil || strings.Contains(out, "missing") {
				t.Errorf("fsck: %v %s", err, out)
			}
			restore(r, ref)
			r.wantFiles(was)
		})
	}
}

// field reads metadata as pi-rewind does: the first line of a name.
func (r *repo) field(ref, key string) string {
	for line := range strings.Lines(r.message(ref)) {
		if v, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSuffix(v, "\n")
		}
	}
	r.T.Errorf("%s has no %s", ref, key)
	return ""
}

// restorePi is what pi-rewind and checkpoint-pi do.
func (r *repo) restorePi(ref string) {
	restorePiFiles(r, ref)
	r.Git("read-tree", "--reset", r.field(ref, "index-tree"))
	if got := r.Git("diff", "--cached", "--name-only"); got != "staged" {
		r.T.Errorf("in the index: %q, want staged", got)
	}
}

func restorePiFiles(r *repo, ref string) {
	r.Git("reset", "-q", "--hard", r.field(ref, "head"))
	r.Git("read-tree", "--reset", "-u", r.field(ref, "worktree-tree"))
	for _, name := range strings.Fields(r.Git("ls-files", "--others", "--exclude-standard")) {
		if !strings.Contains(r.field(ref, "untracked"), `"`+name+`"`) && !r.inLargeDir(ref, name) {
			r.Git("clean", "-fq", "--", name)
		}
	}
}

// inLargeDir is what pi-rewind takes for a part of a directory that is too large.
func (r *repo) inLargeDir(ref, name string) bool {
	var dirs []string
	if err := json.Unmarshal([]byte(r.field(ref, "largeDirs")), &dirs); err != nil {
		r.T.Error(err)
	}
	return slices.ContainsFunc(dirs, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

func TestPiRewindKeepsWhatLiesInADirectoryThatWasLeftOut(t *testing.T) {
	for _, kind := range []Kind{PiRewind, CheckpointPi} {
		r := newRepo(t, oid.SHA1)
		r.Write("kept", "k\n")
		s := Snapshot{Tree: r.Parse(r.freshTree()), Time: moment, Session: session, Index: r.index(), Left: []string{"data"}}
		ref, err := Write(context.Background(), r.open(), kind, s)
		if err != nil {
			t.Fatal(err)
		}
		r.Write("data/below/one", "1\n")
		r.Write("database", "made since\n")
		restorePiFiles(r, ref)
		if got := strings.Join(strings.Fields(r.Git("ls-files", "--others")), " "); !strings.Contains(got, "data/below/one") || strings.Contains(got, "database") {
			t.Errorf("%s: %s is left", kind, got)
		}
	}
}

func TestPiRewindsMetadataAreExact(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	ref, _ := r.scene(PiRewind)
	want := `pi-rewind:turn-` + session + `-2-1772600767089
sessionId ` + session + `
trigger turn
turn 2
description fix branch evil it
branch main
head ` + r.Git("rev-parse", "HEAD") + `
index-tree ` + r.Git("write-tree") + `
worktree-tree ` + r.Git("rev-parse", ref+"^{tree}") + `
created 2026-03-04T05:06:07.089Z
untracked ["build/left","dir/untracked","left.bin"]
largeFiles []
largeDirs ["left.bin"]`
	if got := r.message(ref); got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
	if got := r.Git("log", "-1", "--format=%an <%ae> %cn <%ce> %P %ct", ref); got != "pi-rewind <rewind@pi> pi-rewind <rewind@pi>  1772600767" {
		t.Errorf("commit %q", got)
	}
}

func TestNothingThatExistsIsReplaced(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	tree := r.Parse(r.freshTree())
	repo := r.open()
	var wg sync.WaitGroup
	for range 8 {
		for _, kind := range Kinds() {
			wg.Go(func() {
				if _, err := Write(context.Background(), repo, kind, Snapshot{Tree: tree, Time: moment, Session: session}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	counts := map[Kind]int{}
	for _, c := range r.all(nil) {
		if c.Err != nil {
			t.Errorf("%s: %v", c.Ref, c.Err)
		}
		counts[c.Kind]++
	}
	for _, kind := range Kinds()[1:] {
		if counts[kind] != 8 {
			t.Errorf("%d of %s, want 8", counts[kind], kind)
		}
	}
}

// checkpoint.sh itself counts its refs, so that a number is given out twice
// after a deletion.
func TestNumbersGoOnAfterTheHighest(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	for _, ref := range []string{"3", "9", "20/1"} { // the last belongs to a branch main/20
		r.Git("update-ref", "refs/checkpoints/main/"+ref, "HEAD")
	}
	ref, err := Write(context.Background(), r.open(), CheckpointSh, Snapshot{Tree: r.Parse(r.freshTree()), Time: moment})
	if err != nil || ref != "refs/checkpoints/main/21" {
		t.Errorf("%s, %v", ref, err)
	}
}

func TestWhatALayoutCannotHoldIsRefused(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	tree := r.Parse(r.freshTree())
	write := func(kind Kind, s Snapshot) error {
		if s.Time = moment; s.Tree.IsZero() {
			s.Tree = tree
		}
		_, err := Write(context.Background(), r.open(), kind, s)
		return err
	}
	r.Git("update-ref", "refs/checkpoints/rel/1", "HEAD")
	r.Git("update-ref", "refs/tallow/rewind", "HEAD")
	before := r.refs()
	r.Git("checkout", "-q", "-b", "rel/1")
	for name, c := range map[string]struct{ err, want error }{
		"directory and file":     {write(CheckpointSh, Snapshot{}), gitref.ErrConflict},
		"file and directory":     {write(Tallow, Snapshot{Session: "s"}), gitref.ErrConflict},
		"no session":             {write(PiRewind, Snapshot{}), ErrCannotWrite},
		"a session of others":    {write(CheckpointPi, Snapshot{Session: "../x"}), ErrCannotWrite},
		"a session with a slash": {write(Tallow, Snapshot{Session: "a/b"}), ErrCannotWrite},
		"a session no ref has":   {write(Tallow, Snapshot{Session: "a..b"}), ErrCannotWrite},
		"a tree that git lacks":  {write(HookV1, Snapshot{Tree: r.Parse(strings.Repeat("ab", 20))}), gitbridge.ErrMissing},
		"a kind only recognised": {write(LetsCode, Snapshot{}), ErrKind},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	r.Git("checkout", "-q", "--detach")
	if err := write(CheckpointSh, Snapshot{}); !errors.Is(err, ErrCannotWrite) {
		t.Errorf("detached: %v", err)
	}
	r.Git("checkout", "-q", "--orphan", "fresh")
	if err := write(CheckpointSh, Snapshot{}); !errors.Is(err, ErrCannotWrite) {
		t.Errorf("no commit: %v", err)
	}
	if err := write(PiRewind, Snapshot{Session: session, Trigger: "undo"}); err != nil {
		t.Errorf("pi-rewind without a commit: %v", err)
	}
	r.Git("update-ref", "-d", sharedPrefix+"before-restore-"+session+"-1772600767089")
	r.Git("symbolic-ref", "HEAD", "refs/heads/main")
	r.Git("branch", "-D", "-q", "rel/1")
	if now := r.refs(); now != before {
		t.Errorf("refs\n%s\nwere\n%s", now, before)
	}
}

func TestAnIndexIsWrittenAsGitWritesIt(t *testing.T) { gittest.Both(t, testIndexTree) }

func testIndexTree(t *testing.T, alg oid.Algorithm) {
	r := newRepo(t, alg)
	r.Write("a/b/c", "1\n")
	r.Write("a.b", "1\n")
	r.Write("only/meant", "1\n")
	r.Git("add", "a", "a.b")
	r.Git("add", "-N", "only")
	x, err := newIndexTree(r.open(), r.index())
	if err != nil || x.tree.String() != r.Git("write-tree") {
		t.Errorf("%v, %v, want %s", x.tree, err, r.Git("write-tree"))
	}
	r.Give("0 "+strings.Repeat("0", 2*alg.Size())+"\ta.b\n100644 "+r.Git("hash-object", "-w", "a.b")+" 1\ta.b\n", "update-index", "--index-info")
	if _, err := newIndexTree(r.open(), r.index()); !errors.Is(err, ErrCannotWrite) || !strings.Contains(err.Error(), "a.b") {
		t.Errorf("unmerged: %v", err)
	}
	if x, err := newIndexTree(r.open(), nil); err != nil || x.tree != alg.Sum(oid.Tree, nil) {
		t.Errorf("no index: %v, %v", x, err)
	}
}

// In a repository whose refs are no files the git program reads and moves them.
func TestTheProgramWritesWhereItMust(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	tree := r.freshTree()
	r.commit(sharedPrefix+"checkpoint-1772600767089", tree, "rewind backup\n")
	l, err := gitconf.Discover(r.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	l.RefStorage = "reftable" // it is not, but then the program is asked
	repo, err := gitbridge.Open(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer repo.Close()
	ref, err := Write(context.Background(), repo, HookV1, Snapshot{Tree: r.Parse(tree), Time: moment})
	if err != nil || ref != sharedPrefix+"checkpoint-1772600767090" {
		t.Errorf("%s, %v", ref, err)
	}
	n := 0
	for c, err := range All(context.Background(), repo, nil) {
		if n++; err != nil || c.Err != nil || c.Kind != HookV1 {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if n != 2 {
		t.Errorf("%d checkpoints, want 2", n)
	}
}
