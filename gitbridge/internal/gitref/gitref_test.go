package gitref

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A repo is a repository made by the git program, with commits.
type repo struct {
	*gittest.Repo
	alg oid.Algorithm
	ids []oid.ID
}

func newRepo(t *testing.T, alg oid.Algorithm, commits int) *repo {
	t.Helper()
	r := &repo{Repo: gittest.Of(t, alg), alg: alg}
	var in strings.Builder
	for i := range commits {
		fmt.Fprintf(&in, "commit refs/heads/main\nmark :%d\ncommitter a <a@b> %d +0000\ndata 1\nx\n", i+1, i)
	}
	r.Give(in.String(), "fast-import", "--quiet")
	for _, id := range strings.Fields(r.Git("rev-list", "--reverse", "main")) {
		r.ids = append(r.ids, r.Parse(id))
	}
	return r
}

func (r *repo) gitDir() string { return r.Path(".git") }

func (r *repo) store(opt *Options) *Store { return Open(r.gitDir(), r.gitDir(), r.alg, opt) }

const ours = "refs/pi-rewind/store"

func TestRefsAreReadAsGitReadsThem(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg, 3)
		r.Git("update-ref", ours, r.ids[0].String())
		r.Git("tag", "-a", "-m", "m", "v1", r.ids[1].String())
		r.Git("symbolic-ref", "refs/remotes/o/HEAD", "refs/remotes/o/main")
		r.Git("update-ref", "refs/remotes/o/main", r.ids[2].String())
		check := func() {
			t.Helper()
			s := r.store(nil)
			refs, err := s.List("refs/")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ref := range refs {
				got = append(got, ref.ID.String()+" "+ref.Name)
			}
			want := strings.Split(r.Git("for-each-ref", "--format=%(objectname) %(refname)"), "\n")
			if !slices.Equal(got, want) {
				t.Errorf("\n got %q\nwant %q", got, want)
			}
			if head, err := s.Read("HEAD"); err != nil || head.Target != "refs/heads/main" || head.ID != r.ids[2] {
				t.Errorf("HEAD = %+v, %v", head, err)
			}
			if some, err := s.List("refs/pi-rewind/"); err != nil || len(some) != 1 || some[0].Name != ours {
				t.Errorf("List = %v, %v", some, err)
			}
		}
		check()
		r.Git("pack-refs", "--all")
		check()
		r.Git("update-ref", ours, r.ids[2].String()) // loose over packed
		check()
	})
}

func TestHeadMayBeUnbornOrDetached(t *testing.T) {
	r := newRepo(t, oid.SHA1, 2)
	r.Git("checkout", "-q", "--detach", r.ids[0].String())
	if h, err := r.store(nil).Read("HEAD"); err != nil || h.Target != "" || h.ID != r.ids[0] {
		t.Errorf("%+v, %v", h, err)
	}
	r.Git("symbolic-ref", "HEAD", "refs/heads/unborn")
	if h, err := r.store(nil).Read("HEAD"); err != nil || h.Target != "refs/heads/unborn" || !h.ID.IsZero() {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestALinkedWorktreeHasItsOwnHeadAndSharesTheRest(t *testing.T) {
	r := newRepo(t, oid.SHA1, 2)
	wt := filepath.Join(t.TempDir(), "wt")
	r.Git("worktree", "add", "-q", "--detach", wt, r.ids[0].String())
	r.Git("-C", wt, "update-ref", "refs/worktree/mine", r.ids[1].String())
	own := r.Git("-C", wt, "rev-parse", "--absolute-git-dir")
	linked := Open(own, r.gitDir(), r.alg, nil)
	if h, err := linked.Read("HEAD"); err != nil || h.ID != r.ids[0] {
		t.Errorf("HEAD = %+v, %v", h, err)
	}
	if _, err := r.store(nil).Read("refs/worktree/mine"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another worktree's ref: %v", err)
	}
	err := linked.CompareAndSwap(context.Background(), Update{Name: ours, New: r.ids[1]})
	if ref, err2 := r.store(nil).Read(ours); err != nil || err2 != nil || ref.ID != r.ids[1] {
		t.Errorf("%v, %v, %v", ref, err, err2)
	}
	refs, err := linked.List("refs/")
	var got []string
	for _, ref := range refs {
		got = append(got, ref.Name)
	}
	if want := []string{"refs/heads/main", ours, "refs/worktree/mine"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNamesAreJudgedAsGitJudgesThem(t *testing.T) {
	r := newRepo(t, oid.SHA1, 1)
	names := []string{ours, "refs/a", "refs/", "refs", "refs//a", "refs/a/", "refs/.a", "refs/a.", "refs/a.lock", "refs/a.lock/b", "refs/a..b", "refs/a/../b",
		"refs/a@{b", "refs/@", "refs/a b", "refs/a~", "refs/a^", "refs/a:b", "refs/a?", "refs/a*", "refs/a[", "refs/a\\b", "refs/a\x7f", "refs/a\x01", "refs/ä\xff", "refs/-"}
	for _, name := range names {
		_, err := r.Try("check-ref-format", name)
		if got, want := ValidName(name), err == nil; got != want {
			t.Errorf("%q: %v, git says %v", name, got, want)
		}
	}
	if err := r.store(nil).CompareAndSwap(context.Background(), Update{Name: "HEAD", New: r.ids[0]}); !errors.Is(err, ErrInvalidName) {
		t.Errorf("HEAD was written: %v", err)
	}
}

func TestBrokenRefsAreNamedAndHideNothing(t *testing.T) {
	r := newRepo(t, oid.SHA1, 1)
	for name, text := range map[string]string{
		"empty": "", "short": "1234", "long": r.ids[0].String() + "5", "null": strings.Repeat("0", 40), "loop": "ref: refs/heads/loop", "out": "ref: refs/../../x",
	} {
		if err := os.WriteFile(filepath.Join(r.gitDir(), "refs", "heads", name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store(nil).Read("refs/heads/" + name); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrInvalidName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refs, err := r.store(nil).List("refs/heads/")
	if len(refs) != 1 || refs[0].Name != "refs/heads/main" || !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, %v", refs, err)
	}
}

func TestASwapNeedsTheOldValue(t *testing.T) {
	gittest.Both(t, func(t *testing.T, alg oid.Algorithm) {
		r := newRepo(t, alg, 3)
		s, ctx := r.store(nil), context.Background()
		swap := func(old, new oid.ID) error {
			return s.CompareAndSwap(ctx, Update{Name: ours, Old: old, New: new, Time: time.Now()})
		}
		if err := swap(r.ids[0], r.ids[1]); !errors.Is(err, ErrMoved) {
			t.Errorf("%v, want ErrMoved", err)
		}
		if err := swap(oid.ID{}, r.ids[0]); err != nil {
			t.Fatal(err)
		}
		if err := swap(oid.ID{}, r.ids[1]); !errors.Is(err, ErrMoved) {
			t.Errorf("%v, want ErrMoved", err)
		}
		r.Git("pack-refs", "--all", "--prune")
		if err := swap(r.ids[2], r.ids[1]); !errors.Is(err, ErrMoved) {
			t.Errorf("%v, want ErrMoved", err)
		}
		if err := swap(r.ids[0], r.ids[1]); err != nil {
			t.Fatal(err)
		}
		if got := r.Git("rev-parse", ours); got != r.ids[1].String() {
			t.Errorf("git reads %s", got)
		}
		if _, err := os.Stat(filepath.Join(r.gitDir(), ours+".lock")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the lock file stayed: %v", err)
		}
	})
}

func TestOneRefCannotLieBelowAnother(t *testing.T) {
	r := newRepo(t, oid.SHA1, 2)
	s, ctx := r.store(nil), context.Background()
	create := func(name string) error {
		return s.CompareAndSwap(ctx, Update{Name: name, New: r.ids[0]})
	}
	for _, pack := range []bool{false, true} {
		r.Git("update-ref", "refs/x/a", r.ids[1].String())
		if pack {
			r.Git("pack-refs", "--all", "--prune")
		}
		for _, name := range []string{"refs/x", "refs/x/a/b", "refs/x/a/b/c"} {
			if err := create(name); !errors.Is(err, ErrConflict) {
				t.Errorf("%s: %v, want ErrConflict", name, err)
			}
		}
	}
	r.Git("update-ref", "-d", "refs/x/a")
	if err := os.MkdirAll(filepath.Join(r.gitDir(), "refs", "x", "y", "z"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := create("refs/x"); err != nil {
		t.Errorf("empty directories are in the way: %v", err)
	}
	r.Git("symbolic-ref", "refs/sym", "refs/heads/main")
	if err := create("refs/sym"); !errors.Is(err, ErrConflict) {
		t.Errorf("a symbolic ref was followed: %v", err)
	}
}

func TestTheReflogIsWrittenWhereGitWouldWriteIt(t *testing.T) {
	r := newRepo(t, oid.SHA1, 3)
	ctx, now := context.Background(), time.Unix(1700000000, 0).In(time.FixedZone("", 5400))
	log := filepath.Join(r.gitDir(), "logs", ours)
	if err := r.store(nil).CompareAndSwap(ctx, Update{Name: ours, New: r.ids[0], Message: "none", Time: now}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log was made: %v", err)
	}
	s := r.store(&Options{LogAlways: true, Committer: "N <m@x>", Share: func(string) error { return nil }})
	if err := s.CompareAndSwap(ctx, Update{Name: ours, Old: r.ids[0], New: r.ids[1], Message: "one\ntwo", Time: now}); err != nil {
		t.Fatal(err)
	}
	if err := r.store(nil).CompareAndSwap(ctx, Update{Name: ours, Old: r.ids[1], New: r.ids[2], Time: now}); err != nil {
		t.Fatal(err)
	}
	want := r.ids[0].String() + " " + r.ids[1].String() + " N <m@x> 1700000000 +0130\tone two\n" +
		r.ids[1].String() + " " + r.ids[2].String() + " rewind <rewind@localhost> 1700000000 +0130\n"
	if got, err := os.ReadFile(log); err != nil || string(got) != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if out := r.Git("reflog", "show", "--format=%gd %gn %gs %H", ours); !strings.Contains(out, "@{1} N one two "+r.ids[1].String()) {
		t.Errorf("git reads %s", out)
	}
}

func TestAStaleLockIsNamedAndLeftAlone(t *testing.T) {
	r := newRepo(t, oid.SHA1, 1)
	name := filepath.Join(r.gitDir(), filepath.FromSlash(ours)+".lock")
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("theirs"), 0o644)); err != nil {
		t.Fatal(err)
	}
	u := Update{Name: ours, New: r.ids[0]}
	err := r.store(&Options{Patience: 30 * time.Millisecond}).CompareAndSwap(context.Background(), u)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), name) {
		t.Errorf("%v, want ErrLocked and the file's name", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := r.store(nil).CompareAndSwap(ctx, u); !errors.Is(err, ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if p, err := os.ReadFile(name); err != nil || string(p) != "theirs" {
		t.Errorf("the lock is %q, %v", p, err)
	}
	time.AfterFunc(20*time.Millisecond, func() { os.Remove(name) })
	if err := r.store(nil).CompareAndSwap(context.Background(), u); err != nil {
		t.Errorf("a lock that went away: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("ref: refs/heads/main\n"), "refs/heads/main")
	f.Add([]byte("1111111111111111111111111111111111111111 refs/heads/main\n^1111111111111111111111111111111111111111\n"), "refs/heads/main")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		s := Open("/nowhere", "/nowhere", oid.SHA1, nil)
		if id, target, ok := s.parse(text); ok && id.IsZero() == (target == "") {
			t.Errorf("%q: %v, %q", text, id, target)
		}
		_, _ = lookUp(bytes.NewReader(text), int64(len(text)), name)
	})
}
