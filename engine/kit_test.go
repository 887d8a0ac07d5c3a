package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A place is a worktree of its own, with a home and nothing of the user's.
type place struct {
	t    testing.TB
	dir  string
	home string
	env  map[string]string
}

// newPlace makes a directory, with a repository in it or without.
func newPlace(t testing.TB, git bool) *place {
	t.Helper()
	base := t.TempDir()
	p := &place{t: t, dir: filepath.Join(base, "w"), home: filepath.Join(base, "home"), env: map[string]string{}}
	for _, dir := range []string{p.dir, p.home} {
		p.must(os.Mkdir(dir, 0o755))
	}
	p.env["HOME"] = p.home
	if git {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("SKIPPED: the git program is not here, and it is what this test compares with")
		}
		p.git("init", "-q", "-b", "main")
		config, err := os.OpenFile(filepath.Join(p.dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
		p.must(err) // and three processes fewer for each of a thousand places
		_, err = config.WriteString("[gc]\n\tauto = 0\n[user]\n\tname = A\n\temail = a@localhost\n")
		p.must(errors.Join(err, config.Close()))
	}
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "HOME="+p.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := gittest.Run(cmd)
	return strings.TrimSpace(out.String()), err
}

func (p *place) git(args ...string) string {
	p.t.Helper()
	out, err := p.tryGit(args...)
	if err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// gitReading gives git a text to read, and returns what it prints.
func (p *place) gitReading(stdin string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout = p.dir, strings.NewReader(stdin), &out
	p.must(gittest.Run(cmd))
	return strings.TrimSpace(out.String())
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	p.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

func (p *place) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	p.must(err)
	return string(data)
}

func (p *place) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

// rel is a path below the worktree, as rewind writes it on every system.
func (p *place) rel(path string) string { return filepath.ToSlash(path[len(p.dir)+1:]) }

func (p *place) open() *Engine {
	p.t.Helper()
	return p.openAt(p.dir)
}

// getenv is the environment of the place, of which nothing is the user's.
func (p *place) getenv(name string) string { return p.env[name] }

// tryOpen opens a directory that perhaps cannot be opened.
func (p *place) tryOpen(dir string) (*Engine, error) {
	return Open(context.Background(), dir, &Options{Getenv: p.getenv})
}

func (p *place) openAt(dir string) *Engine {
	p.t.Helper()
	e, err := p.tryOpen(dir)
	p.must(err)
	p.t.Cleanup(func() { e.Close() })
	return e
}

// atClock calls a function when the next operation of an engine looks at the clock for the
// n-th time: it does so as it begins, and when it has scanned and planned, before it records.
func atClock(e *Engine, n int, do func()) {
	e.now = func() time.Time {
		if n--; n == 0 {
			do()
		}
		return time.Now()
	}
}

// storeOf is the store of an engine, also one that was made since; nil: there is none.
func (p *place) storeOf(e *Engine) *cas.Store {
	p.t.Helper()
	s, err := e.opened(context.Background())
	p.must(err)
	return s
}

// snap changes a file and takes a snapshot, at a time of its own.
func (p *place) snap(e *Engine, text string, opt *SnapshotOptions) *Recorded {
	p.t.Helper()
	p.must(os.WriteFile(filepath.Join(e.Root(), "file"), []byte(text), 0o644))
	r, err := e.Snapshot(context.Background(), opt)
	p.must(err)
	if r.Bridge != nil {
		p.t.Fatal(r.Bridge)
	}
	return r
}

// sync puts everything right.
func (p *place) sync(e *Engine) {
	p.t.Helper()
	_, err := e.Sync(context.Background())
	p.must(err)
}

// inRef lists what the store ref keeps, newest first.
func (p *place) inRef(e *Engine) []oid.ID {
	p.t.Helper()
	var ids []oid.ID
	for s, err := range e.repo.Snapshots(context.Background()) {
		p.must(errors.Join(err, s.Err))
		ids = append(ids, s.ID)
	}
	return ids
}

// records lists what the store has, newest first.
func (p *place) records(e *Engine) []oid.ID {
	p.t.Helper()
	all, err := records.Read(context.Background(), e.view, (*records.View).Snapshots)
	p.must(err)
	var ids []oid.ID
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

// wantClean asks git and rewind whether everything is whole.
func (p *place) wantClean(e *Engine) {
	p.t.Helper()
	out, err := "", error(nil)
	if e.repo != nil {
		out, err = p.tryGit("fsck", "--strict", "--full", "--no-dangling")
	}
	if err != nil || strings.Contains(out, "missing") || strings.Contains(out, "error") || strings.Contains(out, "warning") {
		p.t.Errorf("fsck: %v %s", err, out)
	}
	v, err := e.Verify(context.Background())
	p.must(err)
	if len(v.Damaged)+len(v.Unread) > 0 {
		p.t.Errorf("damaged: %+v", v.Damaged)
	}
}

func (p *place) prune(e *Engine, opt *PruneOptions) *Housekeeping {
	p.t.Helper()
	out, err := e.Prune(context.Background(), opt)
	p.must(err)
	if out.Bridge != nil {
		p.t.Fatal(out.Bridge)
	}
	return out
}

// do carries an operation out.
func (p *place) do(e *Engine, op Op) *Restored {
	p.t.Helper()
	r, err := e.Do(context.Background(), op)
	p.must(err)
	return r
}

// plan says what an operation would do.
func (p *place) plan(e *Engine, op Op) *Diff {
	p.t.Helper()
	plan, err := e.Plan(context.Background(), op)
	p.must(err)
	return plan
}

// find looks a snapshot up by any of its names.
func (p *place) find(e *Engine, name string) *Snapshot {
	p.t.Helper()
	s, err := e.Find(context.Background(), name)
	p.must(err)
	return s
}

// list lists snapshots, newest first.
func (p *place) list(e *Engine, opt *ListOptions) []*Snapshot {
	p.t.Helper()
	list, err := e.List(context.Background(), opt)
	p.must(err)
	return list
}

// diff compares two snapshots, or one with the worktree.
func (p *place) diff(e *Engine, from, to *Snapshot) *Diff {
	p.t.Helper()
	d, err := e.Diff(context.Background(), from, to, nil)
	p.must(err)
	return d
}

func (p *place) status(e *Engine) *Status {
	p.t.Helper()
	st, err := e.Status(context.Background())
	p.must(err)
	return st
}

// purge takes paths out of every snapshot.
func (p *place) purge(e *Engine, paths ...string) *Housekeeping {
	p.t.Helper()
	out, err := e.Purge(context.Background(), paths, false)
	p.must(err)
	return out
}

func (p *place) undo(e *Engine) *Restored {
	p.t.Helper()
	return p.do(e, Op{Verb: Undo})
}

// doing is an operation, to be carried out later.
func doing(op Op) func(*Engine, context.Context) (*Restored, error) {
	return func(e *Engine, ctx context.Context) (*Restored, error) { return e.Do(ctx, op) }
}

// hook appends a snapshot to the ref with the commands of pi-rewind-hook.
func (p *place) hook(text string) oid.ID {
	p.t.Helper()
	p.write("file", text)
	blob := p.git("hash-object", "-w", "file")
	tree := p.gitReading("100644 blob "+blob+"\tfile\n", "mktree")
	snapshot := p.git("commit-tree", tree, "-m", "pi rewind snapshot")
	empty := p.git("hash-object", "-w", "-t", "tree", "/dev/null")
	args := []string{"commit-tree", empty}
	old, err := p.tryGit("rev-parse", "--verify", "-q", gitbridge.StoreRef)
	if err == nil {
		args = append(args, "-p", old)
	}
	p.git("update-ref", gitbridge.StoreRef, p.git(append(args, "-p", snapshot, "-m", "pi rewind store")...), old)
	id, err := oid.Parse(snapshot)
	p.must(err)
	return id
}

// A session is a Pi session file in the making.
type session struct {
	id, path string
	lines    []string
	n        int
	clock    time.Time
}

func (p *place) session(agent, id, cwd, parent string) *session {
	p.t.Helper()
	s := &session{id: id, path: filepath.Join(agent, "sessions", "--w--", id+".jsonl"), clock: time.Now().Add(-time.Hour)}
	p.must(os.MkdirAll(filepath.Dir(s.path), 0o755))
	h := map[string]any{"type": "session", "version": 3, "id": id, "timestamp": s.stamp(), "cwd": cwd}
	if parent != "" {
		h["parentSession"] = parent
	}
	s.line(h)
	return s
}

func (s *session) stamp() string { return s.clock.UTC().Format("2006-01-02T15:04:05.000Z") }

func (s *session) line(v any) {
	text, _ := json.Marshal(v)
	s.lines = append(s.lines, string(text))
}

func (s *session) entry(kind string, more map[string]any) string {
	s.n++
	var parent any
	if s.n > 1 {
		parent = fmt.Sprintf("%08x", s.n-1)
	}
	id := fmt.Sprintf("%08x", s.n)
	e := map[string]any{"type": kind, "id": id, "parentId": parent, "timestamp": s.stamp()}
	for k, v := range more {
		e[k] = v
	}
	s.line(e)
	return id
}

// turn binds a message to a snapshot and returns the message's entry.
func (s *session) turn(id oid.ID) string {
	m := s.entry("message", map[string]any{"message": map[string]any{"role": "assistant", "content": []any{}}})
	s.entry("custom", map[string]any{"customType": "rewind-turn", "data": map[string]any{
		"v": 2, "snapshots": []string{id.String()}, "bindings": []any{[]any{m, 0}},
	}})
	return m
}

func (s *session) op(current, undo oid.ID) {
	data := map[string]any{"v": 2, "snapshots": []string{current.String(), undo.String()}, "current": 0, "undo": 1}
	s.entry("custom", map[string]any{"customType": "rewind-op", "data": data})
}

func (s *session) pending(current oid.ID) {
	s.entry("custom", map[string]any{"customType": "rewind-fork-pending", "data": map[string]any{"v": 2, "current": current.String()}})
}

func (s *session) label(entry string) {
	s.entry("label", map[string]any{"targetId": entry, "label": "mark"})
}

func (s *session) save(p *place) {
	p.t.Helper()
	p.must(os.WriteFile(s.path, []byte(strings.Join(s.lines, "\n")+"\n"), 0o600))
}

func has(ids []oid.ID, id oid.ID) bool { return slices.Contains(ids, id) }

// putOperation writes an operation as it stands in the store.
func putOperation(u *records.Update, op *Operation) error {
	value, err := json.Marshal(op)
	if err != nil {
		return err
	}
	return u.Table("operations").Put(seqKey(op.Seq), value)
}

// seqKey is the key of a row with a number.
func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// copyMax is up to how many objects that git alone has are copied into the store
// (engine/internal/mirror): more are borrowed.
const copyMax = 64
