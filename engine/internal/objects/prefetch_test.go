package objects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// kit is objects with a store, and with a repository if git is wanted.
type kit struct {
	*Objects
	t *testing.T
	r *gittest.Repo // nil without git
	s *cas.Store
}

func newKit(t *testing.T, git bool) *kit {
	t.Helper()
	k := &kit{Objects: &Objects{Algorithm: oid.SHA1}, t: t}
	if git {
		k.r = gittest.New(t)
		layout, err := gitconf.Discover(k.r.Dir, &gitconf.Options{Env: func(string) string { return "" }})
		if err == nil {
			k.Git, err = gitbridge.Open(layout, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { k.Git.Close() })
	}
	s, err := cas.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), &cas.Options{Algorithm: k.Algorithm, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	k.s, k.Store = s, func(context.Context) (*cas.Store, error) { return s, nil }
	return k
}

// none is the store of nobody.
func (k *kit) none(context.Context) (*cas.Store, error) { return nil, nil }

// keep puts texts into the store.
func (k *kit) keep(texts ...string) (ids []oid.ID) {
	k.t.Helper()
	stage, ctx := k.s.Stage(), context.Background()
	defer stage.Discard()
	for _, text := range texts {
		id, err := stage.Put(ctx, oid.Blob, []byte(text), oid.ID{})
		if err != nil {
			k.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := stage.Commit(ctx, nil); err != nil {
		k.t.Fatal(err)
	}
	return ids
}

func TestWhatIsReadAheadIsWhatIsThere(t *testing.T) {
	k, ctx := newKit(t, true), context.Background()
	var texts []string
	for i := range 3*batchObjects + 1 {
		texts = append(texts, fmt.Sprint("in the store ", i))
	}
	texts = append(texts, strings.Repeat("larger than what is read ahead\n", prefetchBytes/10))
	ids := k.keep(texts...)
	texts = append(texts, "in git alone")
	ids = append(ids, k.r.Parse(k.r.Give("in git alone", "hash-object", "-w", "--stdin")))
	texts, ids = append(texts, texts[0], texts[1]), append(ids, ids[0], ids[1]) // what is asked for twice
	p := k.Prefetch(ids)
	texts, ids = append(texts, "not announced"), append(ids, k.keep("not announced")...)
	for i, id := range ids {
		var buf bytes.Buffer
		if _, err := p.Write(ctx, id, &buf); err != nil || buf.String() != texts[i] {
			t.Fatalf("%v is %.40q, %v; want %.40q", id, buf.String(), err, texts[i])
		}
	}
	none := k.Algorithm.Sum(oid.Blob, []byte("nowhere"))
	if _, err := k.Prefetch([]oid.ID{none}).Write(ctx, none, &bytes.Buffer{}); err == nil {
		t.Error("what is nowhere was read")
	}
}

// An entry that calls a tree a file must not make a file of its bytes: whoever asks compares what is not checked.
func TestATreeIsNoCheckedContentOfAFile(t *testing.T) {
	k, ctx := newKit(t, true), context.Background()
	text := k.r.Give("a blob", "hash-object", "-w", "--stdin")
	inGit := k.r.Parse(k.r.Give("100644 blob "+strings.TrimSpace(text)+"\tname\n", "mktree"))
	stage := k.s.Stage()
	inStore, err := stage.Put(ctx, oid.Tree, tree.Encode([]tree.Entry{{Name: "other", Mode: tree.GitFile, ID: k.r.Parse(text)}}, k.Algorithm), oid.ID{})
	if err = errors.Join(err, stage.Commit(ctx, nil)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []oid.ID{inGit, inStore, k.r.Parse(text)} {
		var buf bytes.Buffer
		checked, err := k.Prefetch([]oid.ID{id}).Write(ctx, id, &buf)
		if err != nil || buf.Len() == 0 || checked != (id == k.r.Parse(text)) {
			t.Errorf("%v: %d bytes, checked: %v, %v", id, buf.Len(), checked, err)
		}
	}
}

// A list of a million ids takes 33 MB: it is not to be copied for what is left out.
func TestWhatIsLeftOutIsNotReadAheadAndTheListIsNotCopied(t *testing.T) {
	k, ctx := newKit(t, false), context.Background()
	var texts []string
	for i := range batchObjects {
		texts = append(texts, fmt.Sprint("content ", i))
	}
	ids := k.keep(texts...)
	p := k.Prefetch(ids).Except(func(id oid.ID) bool { return id != ids[0] && id != ids[5] })
	var buf bytes.Buffer
	if checked, err := p.Write(ctx, ids[0], &buf); err != nil || !checked || buf.String() != texts[0] {
		t.Fatalf("%q, %v", buf.String(), err)
	}
	if have := p.batches[0].have; len(have) != 1 || string(have[ids[5]].payload) != texts[5] {
		t.Errorf("%d contents were read ahead, want one", len(have))
	}
	if &p.ids[0] != &ids[0] {
		t.Error("the list was copied")
	}
	buf.Reset()
	if _, err := p.Write(ctx, ids[7], &buf); err != nil || buf.String() != texts[7] {
		t.Errorf("what was left out and is asked for all the same is %q, %v", buf.String(), err)
	}
}

func TestReadingAheadKeepsFewRuns(t *testing.T) {
	k, ctx := newKit(t, false), context.Background()
	var texts []string
	for i := range (2*batchesMax + 1) * batchObjects {
		texts = append(texts, fmt.Sprint("content ", i))
	}
	ids := k.keep(texts...)
	p := k.Prefetch(ids)
	for pass := range 2 { // in the second what was dropped is read as usual
		for i := pass; i < len(ids); i += batchObjects {
			var buf bytes.Buffer
			if _, err := p.Write(ctx, ids[i], &buf); err != nil || buf.String() != texts[i] {
				t.Fatalf("content %d is %q, %v", i, buf.String(), err)
			}
		}
		kept := 0
		for i := range p.batches {
			if p.batches[i].have != nil {
				kept += batchObjects
			}
		}
		if kept > batchesMax*batchObjects {
			t.Errorf("%d contents of %d are in runs that are kept", kept, len(ids))
		}
	}
}

// Several goroutines ask, and one of them may sleep while the others go on: a push then
// said that a snapshot is damaged.
func TestWhatGitAloneHasIsReadAfterItsBatchWasDropped(t *testing.T) {
	k, ctx := newKit(t, true), context.Background()
	var texts []string
	for i := range (batchesMax + 1) * batchObjects {
		texts = append(texts, fmt.Sprint("content ", i))
	}
	texts[1] = "in git alone"
	ids := k.keep(append(slices.Clone(texts[:1]), texts[2:]...)...)
	ids = slices.Insert(ids, 1, k.r.Parse(k.r.Give(texts[1], "hash-object", "-w", "--stdin")))
	p := k.Prefetch(ids)
	for i := 0; i <= len(ids); i += batchObjects {
		i := min(i, len(ids)-1)
		if _, err := p.Stream(ctx, ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	if p.batches[0].have != nil {
		t.Fatal("the first batch is still there")
	}
	o, err := p.Stream(ctx, ids[1])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(o.Data); err != nil || string(got) != texts[1] {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatGitCouldNotGiveIsNotSaidToBeThere(t *testing.T) {
	k, ctx := newKit(t, true), context.Background()
	id := k.r.Parse(k.r.Give("in git alone", "hash-object", "-w", "--stdin"))
	if !k.InGit(id) || !k.Has(ctx, id) {
		t.Error("what git has is not there")
	}
	k.Distrust(id)
	if k.InGit(id) || k.Has(ctx, id) || !k.Distrusts() {
		t.Error("what git could not give is there")
	}
	k.TrustAgain()
	if !k.InGit(id) || k.Distrusts() {
		t.Error("it gets no second chance")
	}
	none := k.Algorithm.Sum(oid.Blob, []byte("nowhere"))
	_, written := k.Write(ctx, &bytes.Buffer{}, none)
	for _, err := range []error{k.readBack(ctx, none), written} {
		if !errors.Is(err, records.ErrDamaged) {
			t.Errorf("of what is nowhere: %v", err)
		}
	}
	if err := k.readBack(ctx, id); err != nil {
		t.Error(err)
	}
	if _, err := k.Payload(ctx, oid.Tree, id); !errors.Is(err, records.ErrDamaged) {
		t.Errorf("a blob for a tree: %v", err)
	}
}

func TestAPlanIsKeptAsTheJSONOfItsSteps(t *testing.T) {
	node := apply.Node{Mode: 0o100644, ID: oid.SHA1.Sum(oid.Blob, []byte("text"))}
	all := []apply.Step{{Path: "new", Want: node}, {Path: "not UTF-8 \xff \"<>", Have: node, Expect: apply.Fingerprint{Ino: 1, Size: 2, Mtime: -3, Ctime: 4, Mode: 5}}}
	for n := range len(all) + 1 {
		got, err := EncodeSteps(all[:n])
		if err != nil {
			t.Fatal(err)
		}
		if want, err := json.Marshal(keptPlan{Version: planVersion, Steps: all[:n]}); err != nil || string(got) != string(want) {
			t.Errorf("%d steps: %s, not %s (%v)", n, got, want, err)
		}
		back, err := DecodeSteps(got)
		if err != nil || !slices.Equal(back, all[:n]) {
			t.Errorf("%d steps come back as %+v, %v", n, back, err)
		}
	}
}

// A slowWriter takes a content, and looks at it once more when other contents were read.
type slowWriter struct {
	t    *testing.T
	then func()
	want string
}

func (w slowWriter) Write(p []byte) (int, error) {
	w.then()
	if string(p) != w.want {
		w.t.Errorf("%q became %q while it was written", w.want, p)
	}
	return len(p), nil
}

func TestMemoryIsUsedAgainOnlyWhenNobodyWritesFromIt(t *testing.T) {
	k, ctx := newKit(t, false), context.Background()
	var texts []string
	for i := range 12 * batchObjects {
		texts = append(texts, fmt.Sprintf("content %06d", i))
	}
	ids := k.keep(texts...)
	steps := make([]apply.Step, len(ids))
	for i, id := range ids {
		steps[i] = apply.Step{Path: fmt.Sprint(i), Want: apply.Node{Mode: tree.File | 0o644, ID: id}}
	}
	p := k.PrefetchSteps(ctx, steps)()
	text := map[oid.ID]string{}
	for i, id := range ids {
		text[id] = texts[i]
	}
	write := func(i int, then func()) {
		id := steps[i].Want.ID
		if _, err := p.Write(ctx, id, slowWriter{t, then, text[id]}); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	nothing := func() {}
	write(0, func() { // the last of its batch to be taken, and of the first to be dropped
		for i := 1; i < 8*batchObjects; i++ {
			write(i, nothing)
		}
	})
	for i := 8 * batchObjects; i < len(ids); i++ {
		write(i, nothing)
	}
	if n := len(p.free); n == 0 || n > batchesMax {
		t.Errorf("memory of %d batches is kept", n)
	}
}

func TestATreeThatManyAskForAtOnceIsReadOnce(t *testing.T) {
	k := newKit(t, false)
	id := k.Algorithm.Sum(oid.Tree, []byte("a tree"))
	var reads atomic.Int32
	load := k.Trees(t.Context(), Reading{Staged: func(oid.ID) ([]byte, bool) {
		time.Sleep(10 * time.Millisecond) // the others ask meanwhile
		return []byte("a tree"), reads.Add(1) > 1
	}})
	if _, err := load(id); err == nil {
		t.Fatal("what cannot be read was read")
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if p, err := load(id); err != nil || string(p) != "a tree" {
				t.Errorf("what could not be read at first: %q, %v", p, err)
			}
		})
	}
	all.Wait()
	if n := reads.Load(); n != 2 {
		t.Errorf("read %d times, want 2", n)
	}
}

func TestTreesThatAreAskedForSoonAreReadUnderOneLock(t *testing.T) {
	k := newKit(t, false)
	payload := func(i int) []byte {
		return tree.Encode([]tree.Entry{{Name: fmt.Sprint(i), Mode: tree.GitFile, ID: k.Algorithm.Sum(oid.Blob, []byte("x"))}}, k.Algorithm)
	}
	var ids []oid.ID
	g := k.s.Stage()
	for i := range 20 {
		id, err := g.Put(t.Context(), oid.Tree, payload(i), oid.ID{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := g.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	none, content := k.Algorithm.Sum(oid.Tree, []byte("none")), k.keep("no tree")[0]
	opened := 0
	k.Store = func(context.Context) (*cas.Store, error) { opened++; return k.s, nil }
	load := k.Trees(t.Context(), Reading{Staged: func(id oid.ID) ([]byte, bool) { return payload(0), id == ids[0] }})
	soon := append([]oid.ID{none, content}, ids...)
	for i, id := range ids {
		p, err := load(id, soon...)
		if err != nil || !bytes.Equal(p, payload(i)) {
			t.Errorf("tree %d: %q, %v", i, p, err)
		}
		soon = nil
	}
	if opened != 1 {
		t.Errorf("the store was asked %d times", opened)
	}
	list := slices.Clone(ids)
	for _, id := range []oid.ID{none, content} {
		if _, err := load(id, ids...); !errors.Is(err, records.ErrDamaged) {
			t.Errorf("%v: %v", id, err)
		}
	}
	if !slices.Equal(ids, list) {
		t.Error("the caller's list was changed")
	}
}
