package foreign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

func TestEverySystemsCheckpointsAreRead(t *testing.T) { gittest.Both(t, testEverySystem) }

func testEverySystem(t *testing.T, alg oid.Algorithm) {
	r := newRepo(t, alg)
	r.Write("new", "two\n")
	r.hook()
	head, tree := r.Git("rev-parse", "HEAD"), r.freshTree()
	turn := "turn-" + session + "-7-1772600767089"
	r.piRewind(turn, "toolName write\ndescription fix the parser\n", "new")
	r.checkpointPi(session + "-turn-3-1772600767089")
	r.commit(sharedPrefix+"checkpoint-"+session+"-1772600767089-a1b2c3d4", tree, "rewind backup\n")
	r.commit(sharedPrefix+"checkpoint-1772600767089", tree, "rewind backup\n")
	r.commit(sharedPrefix+"checkpoint-resume-"+session+"-1772600767089", tree, "rewind backup\n")
	r.commit(sharedPrefix+"before-restore-1772600767089", tree, "rewind backup\n")
	r.commit("refs/tallow/rewind/s1/turn-4", tree, "tallow rewind: turn 4\n", head)
	r.Git("update-ref", "refs/tallow/rewind/s1/turn-5", head)
	r.commit("refs/checkpoints/feature/x/12", r.copiedTree(), "checkpoint:1772600767:before:a:b.go\n", head)
	r.commit(sharedPrefix+"main/20260304-050607.089", tree, "whatever\n")

	before := r.refs()
	sessions := filepath.Join(t.TempDir(), "s.jsonl")
	lines := `{"type":"custom","customType":"rewind-snapshot","data":{"turnIndex":4,"ref":"refs/tallow/rewind/s1/turn-4","files":["old"],"timestamp":1}}
not JSON "rewind-snapshot"
{"type":"custom","customType":"rewind-snapshot","data":{"turnIndex":4,"ref":"refs/tallow/rewind/s1/turn-4","files":["a","b","c","d"],"timestamp":1772600767089}}
{"type":"custom","customType":"rewind-snapshot","data":{"turnIndex":5,"ref":"refs/tallow/rewind/s1/turn-5","files":[],"timestamp":1772600768000,"headFallback":true}}`
	if err := os.WriteFile(sessions, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1772600767089).UTC()
	want := []Checkpoint{
		{Ref: gitbridge.StoreRef, Kind: Hook, Limits: Limits{FreshIndex: true}},
		{Ref: sharedPrefix + turn, Kind: PiRewind, Session: session, Label: "fix the parser", Trigger: "turn", Turn: 7, Branch: "main",
			Limits: Limits{Names: filteredNames, Paths: []string{"big.bin", "data", "new"}}},
		{Ref: sharedPrefix + session + "-turn-3-1772600767089", Kind: CheckpointPi, Session: session, Trigger: "turn", Turn: 3, Limits: Limits{Names: filteredNames}},
		{Ref: sharedPrefix + "checkpoint-" + session + "-1772600767089-a1b2c3d4", Kind: HookV1, Session: session, Entry: "a1b2c3d4", Trigger: "turn", Time: at, Limits: Limits{FreshIndex: true}},
		{Ref: sharedPrefix + "checkpoint-1772600767089", Kind: HookV1, Trigger: "turn", Time: at, Limits: Limits{FreshIndex: true}},
		{Ref: sharedPrefix + "checkpoint-resume-" + session + "-1772600767089", Kind: HookV1, Session: session, Trigger: "resume", Time: at, Limits: Limits{FreshIndex: true}},
		{Ref: sharedPrefix + "before-restore-1772600767089", Kind: HookV1, Trigger: "before-restore", Time: at, Limits: Limits{FreshIndex: true}},
		{Ref: "refs/tallow/rewind/s1/turn-4", Kind: Tallow, Session: "s1", Trigger: "turn", Turn: 4, Label: "a, b, c, +1 more", Limits: Limits{FreshIndex: true}},
		{Ref: "refs/tallow/rewind/s1/turn-5", Kind: Tallow, Session: "s1", Trigger: "turn", Turn: 5, Time: time.UnixMilli(1772600768000).UTC(), Limits: Limits{FreshIndex: true, Incomplete: true}},
		{Ref: "refs/checkpoints/feature/x/12", Kind: CheckpointSh, Branch: "feature/x", Turn: 12, Trigger: "write", Label: "before modifying a:b.go", Time: at.Truncate(time.Second)},
		{Ref: sharedPrefix + "main/20260304-050607.089", Kind: LetsCode, Err: ErrForeign},
	}
	got := r.all(&Options{Session: func(id string) string { return map[string]string{"s1": sessions}[id] }})
	if len(got) != len(want) {
		t.Errorf("%d checkpoints, want %d: %v", len(got), len(want), got)
	}
	for _, w := range want {
		wantCheckpoint(t, got[w.Ref], w)
	}
	if c := got[sharedPrefix+turn]; c.Head != r.ID("HEAD") || c.Index != r.ID("HEAD^{tree}") || !c.Time.Equal(at) || c.Tree.String() != tree || c.Identity != "pi-rewind <rewind@pi>" {
		t.Errorf("pi-rewind: %+v", c)
	}
	if r.refs() != before {
		t.Error("reading changed a ref")
	}
	if only := r.all(&Options{Kinds: []Kind{Tallow}}); len(only) != 2 {
		t.Errorf("of tallow alone: %v", only)
	}
}

// wantCheckpoint compares what the wanted checkpoint says.
func wantCheckpoint(t *testing.T, got, want Checkpoint) {
	t.Helper()
	if want.Err != nil || got.Err != nil {
		if !errors.Is(got.Err, want.Err) || got.Kind != want.Kind {
			t.Errorf("%s: %s, error %v, want %s, %v", want.Ref, got.Kind, got.Err, want.Kind, want.Err)
		}
		return
	}
	if !want.Time.IsZero() && !want.Time.Equal(got.Time) {
		t.Errorf("%s: time %v, want %v", want.Ref, got.Time, want.Time)
	}
	g, w := got.Limits, want.Limits
	if g.FreshIndex != w.FreshIndex || g.Incomplete != w.Incomplete || !slices.Equal(g.Names, w.Names) || !slices.Equal(g.Paths, w.Paths) {
		t.Errorf("%s: limits %+v, want %+v", want.Ref, g, w)
	}
	type said struct {
		kind                                   Kind
		session, entry, label, trigger, branch string
		turn                                   int
	}
	of := func(c Checkpoint) said { return said{c.Kind, c.Session, c.Entry, c.Label, c.Trigger, c.Branch, c.Turn} }
	if of(got) != of(want) {
		t.Errorf("%s: %+v, want %+v", want.Ref, of(got), of(want))
	}
}

// A prompt may have any lines; pi-rewind writes it into its metadata as it is.
func TestADescriptionForgesNoMetadata(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	zeros, other := strings.Repeat("0", 40), strings.Repeat("12", 20)
	r.piRewind("turn-x-1-1", "description please\nbranch evil\nhead "+zeros+"\nindex-tree "+other+"\nworktree-tree "+other+
		"\ncreated 1999-01-01T00:00:00.000Z\nuntracked []\nlargeFiles []\nlargeDirs []\nsessionId evil\n\nthanks\n")
	c := r.all(nil)[sharedPrefix+"turn-x-1-1"]
	if c.Err != nil || c.Branch != "main" || c.Head != r.ID("HEAD") || c.Session != session || c.Tree != r.ID("HEAD^{tree}") || c.Time.Year() != 2026 {
		t.Errorf("forged: %+v", c)
	}
	if !strings.HasPrefix(c.Label, "please branch evil head "+zeros) || !strings.HasSuffix(c.Label, "thanks") {
		t.Errorf("label %q", c.Label)
	}
}

func TestHostileRefsAreNamedAndTheRestIsRead(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	tree := r.freshTree()
	good := sharedPrefix + "checkpoint-1772600767089"
	r.commit(good, tree, "rewind backup\n")
	r.Git("tag", "-a", "-m", "a tag", "v1")
	put := func(name, text string) {
		r.Write(".git/"+name, text+"\n")
	}
	gone := strings.Repeat("ab", 20)
	put(sharedPrefix+"tree", tree)
	put(sharedPrefix+"tag", r.Git("rev-parse", "v1"))
	put(sharedPrefix+"gone", gone)
	put(sharedPrefix+"nothing", "ref: refs/heads/nowhere")
	put(sharedPrefix+"half", "abcdef")
	put(sharedPrefix+"empty", "")
	put(sharedPrefix+"loop", "ref: "+sharedPrefix+"loop")
	put("refs/tallow/rewind/s/turn-x", r.Git("rev-parse", "HEAD"))
	put("refs/tallow/rewind/a/b/turn-1", r.Git("rev-parse", "HEAD"))
	put("refs/checkpoints/main/1", r.Git("rev-parse", "HEAD"))
	put("refs/checkpoints/main/über\U0001F600", r.Git("rev-parse", "HEAD"))
	put("refs/checkpoints/main/odd name", r.Git("rev-parse", "HEAD")) // git ignores it
	r.commit(sharedPrefix+"cut", tree, "pi-rewind:cut\nsessionId x\n")
	r.commit(sharedPrefix+"other-tree", tree, "pi-rewind:x\nsessionId "+session+"\ntrigger turn\nturn 1\nbranch main\nhead "+gone+"\nindex-tree "+gone+"\nworktree-tree "+gone+"\ncreated x\nuntracked []\nlargeFiles []\nlargeDirs []")
	r.commit(sharedPrefix+"no-json", tree, "checkpoint:x\nsessionId "+session+"\nturn 1\nhead "+gone+"\nindex-tree "+gone+"\nworktree-tree "+tree+"\ncreated x\nuntracked {\nlargeFiles []\nlargeDirs []")
	r.commit(sharedPrefix+"stash/1", tree, "WIP on main: x", "HEAD", r.Git("commit-tree", tree, "-m", "index on main"))
	r.loseTree(sharedPrefix + "lost-tree")

	odd, err := filepath.Glob(r.Path(".git", "refs", "checkpoints", "main", "*\U0001F600"))
	if err != nil || len(odd) != 1 {
		t.Fatal(odd, err) // some file systems spell the name otherwise
	}
	got := r.all(&Options{Session: func(string) string { return r.Dir }})
	if c := got[good]; c.Err != nil || c.Kind != HookV1 {
		t.Errorf("the good one: %+v", c)
	}
	for name, want := range map[string]error{
		sharedPrefix + "tree": gitbridge.ErrMalformed, sharedPrefix + "tag": gitbridge.ErrMalformed,
		sharedPrefix + "gone": nil, sharedPrefix + "nothing": ErrForeign,
		sharedPrefix + "cut": ErrMalformed, sharedPrefix + "other-tree": ErrMalformed, sharedPrefix + "no-json": ErrMalformed,
		sharedPrefix + "stash/1": ErrForeign, sharedPrefix + "lost-tree": gitbridge.ErrMissing,
		"refs/tallow/rewind/s/turn-x": ErrForeign, "refs/tallow/rewind/a/b/turn-1": ErrForeign,
		"refs/checkpoints/main/1": ErrForeign, "refs/checkpoints/main/" + filepath.Base(odd[0]): ErrForeign,
	} {
		c, ok := got[name]
		if !ok || c.Err == nil || want != nil && !errors.Is(c.Err, want) {
			t.Errorf("%s: there %v, error %v, want %v", name, ok, c.Err, want)
		}
	}
	var rest []string
	for _, c := range got {
		if c.Err != nil {
			rest = append(rest, c.Err.Error())
		}
	}
	for _, name := range []string{"half", "empty", "loop"} {
		if !slices.ContainsFunc(rest, func(s string) bool { return strings.Contains(s, name) }) {
			t.Errorf("nothing is said about %s", name)
		}
	}
}

// loseTree makes a checkpoint and lets git lose its tree.
func (r *repo) loseTree(ref string) {
	r.T.Helper()
	r.Write("lost", "lost\n")
	tree := r.freshTree()
	r.remove("lost")
	r.commit(ref, tree, "rewind backup\n")
	r.remove(filepath.Join(".git", "objects", tree[:2], tree[2:]))
}

func TestABrokenStoreHidesNothingElse(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.hook()
	r.commit(sharedPrefix+"checkpoint-1772600767089", r.freshTree(), "rewind backup\n")
	r.Write(".git/"+gitbridge.StoreRef, strings.Repeat("cd", 20)+"\n")
	got := r.all(nil)
	if c := got[gitbridge.StoreRef]; c.Err == nil {
		t.Error("the broken store has no error")
	}
	if c := got[sharedPrefix+"checkpoint-1772600767089"]; c.Err != nil || c.Kind != HookV1 {
		t.Errorf("the other one: %+v", c)
	}
}

func TestTheEndOfTheContextEndsTheSequence(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	r.commit(sharedPrefix+"checkpoint-1772600767089", r.freshTree(), "rewind backup\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for c, err := range All(ctx, r.open(), nil) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}
