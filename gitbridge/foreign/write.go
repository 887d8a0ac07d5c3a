package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitindex"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Snapshot is what is to be written in another system's format. Its tree and
// all below it must be in git.
type Snapshot struct {
	Tree    oid.ID
	Time    time.Time
	Session string // pi-rewind, checkpoint-pi and tallow need one
	Entry   string
	Label   string
	Trigger string
	Turn    int             // of pi-rewind and checkpoint-pi
	Index   *gitindex.Index // the user's, for pi-rewind and checkpoint-pi; nil: nothing is staged
	Left    []string        // untracked paths that were there and are not in the tree
}

// A draft is a checkpoint in a system's format.
type draft struct {
	name    func(n int) string // of the ref, at the n-th try
	commit  func(name string) []byte
	objects []gitbridge.Loose // what the commit's message names
}

// triesMax is how many names are tried where others take them meanwhile.
const triesMax = 100

// Write makes the checkpoint that a system would have made of the snapshot, and
// returns its ref. A ref that exists is never changed. For [Hook] there is
// nothing to make: its format is our own. The errors are ErrCannotWrite, ErrKind,
// gitref.ErrConflict where other refs lie in the name's way, and those of the
// repository.
func Write(ctx context.Context, repo *gitbridge.Repo, kind Kind, s Snapshot) (ref string, err error) {
	if kind == Hook {
		return gitbridge.StoreRef, nil
	}
	w := &writer{ctx: ctx, repo: repo, s: s}
	d, err := w.draft(kind)
	if err != nil {
		return "", fmt.Errorf("layout %s: %w", kind, err)
	}
	err = gitref.ErrMoved
	for n := 0; n < triesMax && errors.Is(err, gitref.ErrMoved); n++ {
		ref = d.name(n)
		if !gitref.ValidName(ref) {
			return "", fmt.Errorf("layout %s: %w: %q is no name for a ref", kind, ErrCannotWrite, ref)
		}
		_, err = repo.CreateRef(ctx, ref, append(slices.Clone(d.objects), gitbridge.Loose{Kind: oid.Commit, Payload: d.commit(ref)}))
	}
	if err != nil {
		return "", fmt.Errorf("layout %s: %w", kind, err)
	}
	return ref, nil
}

// writer makes the draft of one checkpoint.
type writer struct {
	ctx  context.Context
	repo *gitbridge.Repo
	s    Snapshot
	head gitbridge.Head
}

func (w *writer) draft(kind Kind) (d *draft, err error) {
	if !w.repo.Has(w.s.Tree) {
		return nil, fmt.Errorf("%w: the tree %v is not in git", gitbridge.ErrMissing, w.s.Tree)
	}
	if w.head, err = w.repo.Head(); err != nil {
		return nil, err
	}
	switch kind {
	case HookV1:
		return w.hookV1()
	case PiRewind, CheckpointPi:
		return w.piRewind(kind)
	case Tallow:
		return w.tallow()
	case CheckpointSh:
		return w.checkpointSh()
	}
	return nil, fmt.Errorf("%w %q", ErrKind, kind)
}

var uuid = pattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// notInEntry is what pi-rewind-hook replaces in an entry's id.
var notInEntry = pattern(`[^a-zA-Z0-9-]`)

// hookV1 names the ref as version 1.7 does where session and entry are known,
// as earlier ones where they are not.
func (w *writer) hookV1() (*draft, error) {
	session, entry := "", ""
	if uuid().MatchString(w.s.Session) {
		session = w.s.Session + "-"
	}
	if w.s.Entry != "" {
		entry = "-" + notInEntry().ReplaceAllString(w.s.Entry, "_")
	}
	kind := "checkpoint-"
	switch {
	case w.s.Trigger == "undo" || w.s.Trigger == "before-restore":
		kind, entry = "before-restore-", ""
	case session != "" && entry == "":
		kind = "checkpoint-resume-"
	}
	return &draft{
		name: func(n int) string {
			return sharedPrefix + kind + session + strconv.FormatInt(w.s.Time.UnixMilli()+int64(n), 10) + entry
		},
		commit: func(string) []byte { return w.commit(w.repo.Identity(), hookMessage+"\n") },
	}, nil
}

// safeSession is what pi-rewind accepts as a session in a name.
var safeSession = pattern(`^[0-9a-f-]+$`)

// piRewind makes a checkpoint of pi-rewind or checkpoint-pi: the metadata are
// the commit's message.
func (w *writer) piRewind(kind Kind) (*draft, error) {
	if !safeSession().MatchString(w.s.Session) {
		return nil, fmt.Errorf("%w: it needs a session whose id has digits, a to f and - only", ErrCannotWrite)
	}
	x, err := newIndexTree(w.repo, w.s.Index)
	if err != nil {
		return nil, err
	}
	untracked, err := x.added(w.s.Tree)
	if err != nil {
		return nil, err
	}
	untracked = append(untracked, w.s.Left...)
	slices.Sort(untracked)
	left := slices.Sorted(slices.Values(w.s.Left))
	trigger := w.trigger()
	identity := "pi-rewind <rewind@pi>"
	if kind == CheckpointPi {
		identity = "pi-checkpoint <checkpoint@pi>"
	}
	name := func(n int) string { return sharedPrefix + w.piID(kind, trigger, n) }
	commit := func(name string) []byte {
		m := w.metadata(kind, strings.TrimPrefix(name, sharedPrefix), trigger)
		return w.commit(identity, m+w.footer(kind, x.tree, untracked, left))
	}
	return &draft{name: name, commit: commit, objects: x.objects}, nil
}

// trigger is the nearest of pi-rewind's words.
func (w *writer) trigger() string {
	switch w.s.Trigger {
	case "tool", "resume", "before-restore":
		return w.s.Trigger
	case "undo":
		return "before-restore"
	}
	return "turn"
}

func (w *writer) piID(kind Kind, trigger string, n int) string {
	ms := w.s.Time.UnixMilli() + int64(n)
	middle := ""
	if trigger == "turn" || trigger == "tool" || trigger == "resume" && kind == CheckpointPi {
		trigger, middle = "turn", fmt.Sprintf("-%d", w.s.Turn)
	}
	if kind == CheckpointPi {
		return fmt.Sprintf("%s-%s%s-%d", w.s.Session, trigger, middle, ms)
	}
	return fmt.Sprintf("%s-%s%s-%d", trigger, w.s.Session, middle, ms)
}

// metadata is the message up to the description.
func (w *writer) metadata(kind Kind, id, trigger string) string {
	if kind == CheckpointPi {
		return fmt.Sprintf("%s%s\nsessionId %s\nturn %d\n", checkpointPi, id, w.s.Session, w.s.Turn)
	}
	m := fmt.Sprintf("%s%s\nsessionId %s\ntrigger %s\nturn %d\n", piRewindMessage, id, w.s.Session, trigger, w.s.Turn)
	if label := oneLine(w.s.Label); label != "" {
		m += "description " + label + "\n"
	}
	return m
}

// footer is the rest of the message, without a newline at its end. What was
// left out is also named as large directories: untracked files are compared by
// their whole paths, and of these everything below stays too.
func (w *writer) footer(kind Kind, index oid.ID, untracked, left []string) string {
	m := ""
	if kind == PiRewind {
		branch := w.head.Branch
		if branch == "" {
			branch = "HEAD"
		}
		m = "branch " + branch + "\n"
	}
	head := w.repo.Algorithm().Digits(w.head.Commit)
	list := func(paths []string) []byte {
		text, _ := json.Marshal(append([]string{}, paths...)) // a list of strings always encodes
		return text
	}
	return m + fmt.Sprintf("head %s\nindex-tree %v\nworktree-tree %v\ncreated %s\nuntracked %s\nlargeFiles []\nlargeDirs %s",
		head, index, w.s.Tree, w.s.Time.UTC().Format("2006-01-02T15:04:05.000Z"), list(untracked), list(left))
}

// tallow makes the next turn of a session. Tallow itself begins to count again
// at each prompt, and then replaces what is there.
func (w *writer) tallow() (*draft, error) {
	prefix := tallowPrefix + w.s.Session + "/"
	if strings.Contains(w.s.Session, "/") || !gitref.ValidName(prefix+"turn-0") {
		return nil, fmt.Errorf("%w: it needs a session whose id can be part of a ref", ErrCannotWrite)
	}
	next, err := w.next(prefix, "turn-", -1)
	if err != nil {
		return nil, err
	}
	return &draft{
		name: func(n int) string { return fmt.Sprintf("%sturn-%d", prefix, next+n) },
		commit: func(name string) []byte {
			return w.commit(w.repo.Identity(), "tallow rewind: turn "+name[len(prefix)+len("turn-"):]+"\n", w.head.Commit)
		},
	}, w.needHead()
}

// checkpointSh makes the next checkpoint of the branch.
func (w *writer) checkpointSh() (*draft, error) {
	if w.head.Branch == "" {
		return nil, fmt.Errorf("%w: HEAD is on no branch", ErrCannotWrite)
	}
	prefix := shPrefix + w.head.Branch + "/"
	next, err := w.next(prefix, "", 0)
	if err != nil {
		return nil, err
	}
	before := oneLine(w.s.Label)
	if before == "" {
		before = "snapshot"
	}
	subject := fmt.Sprintf("checkpoint:%d:before:%s\n", w.s.Time.Unix(), before)
	return &draft{
		name:   func(n int) string { return prefix + strconv.Itoa(next+n) },
		commit: func(string) []byte { return w.commit(w.repo.Identity(), subject, w.head.Commit) },
	}, w.needHead()
}

func (w *writer) needHead() error {
	if w.head.Commit.IsZero() {
		return fmt.Errorf("%w: it needs a first commit on the branch", ErrCannotWrite)
	}
	return nil
}

// next returns the number after the highest in use below a prefix. A number
// that is a directory of other refs is in use too. Before the first it is one
// more than none.
func (w *writer) next(prefix, word string, none int) (int, error) {
	refs, err := w.repo.Refs(w.ctx, prefix)
	if err != nil && !named(err) {
		return 0, err
	}
	highest := none
	for _, ref := range refs {
		first, _, _ := strings.Cut(ref.Name[len(prefix):], "/")
		if n, err := strconv.Atoi(strings.TrimPrefix(first, word)); err == nil && n < 1e9 {
			highest = max(highest, n)
		}
	}
	return highest + 1, nil
}

// commit encodes the commit object.
func (w *writer) commit(identity, message string, parents ...oid.ID) []byte {
	c := gitbridge.RawCommit{Commit: gitbridge.Commit{Tree: w.s.Tree, Time: w.s.Time, Identity: identity}, Parents: parents, Message: message}
	return c.Encode(w.repo.Algorithm())
}
