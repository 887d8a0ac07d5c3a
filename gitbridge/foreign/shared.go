package foreign

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// sharedPrefix is where at least five systems keep their checkpoints; the
// commit's message tells them apart.
const sharedPrefix = "refs/pi-checkpoints/"

// First lines of messages.
const (
	hookMessage = "rewind backup"
	// that of pi-rewind-hook since 1.8, and of our own snapshots
	hookSnapshotMessage = "pi rewind snapshot\n"
	piRewindMessage     = "pi-rewind:"
	checkpointPi        = "checkpoint:"
)

// filteredNames are the names that pi-rewind and checkpoint-pi leave out, where
// they are untracked, whatever they are: a file, or a directory with all it has.
var filteredNames = []string{
	"node_modules", ".venv", "venv", "env", ".env", "dist", "build",
	".pytest_cache", ".mypy_cache", ".cache", ".tox", "__pycache__",
}

// The names of refs that say by themselves whose they are.
var (
	hookTail     = pattern(`^(checkpoint-resume|checkpoint|before-restore)-(?:([0-9a-f-]{36})-)?([0-9]{10,16})(?:-([A-Za-z0-9_-]+))?$`)
	letsCodeTail = pattern(`/\d{8}-\d{6}\.\d{3}$`)
	undoTail     = pattern(`^[^/]+/\d+$`)
	piTail       = pattern(`^.*-(turn-\d+|before-restore)-\d+$`)
)

// shared reads a checkpoint of the namespace that many share.
func (r *reader) shared(c *Checkpoint, raw gitbridge.RawCommit) {
	first, rest, _ := strings.Cut(raw.Message, "\n")
	tail := strings.TrimPrefix(c.Ref, sharedPrefix)
	stash := strings.HasPrefix(first, "WIP on ") || strings.HasPrefix(first, "On ")
	switch {
	case strings.HasPrefix(first, piRewindMessage):
		c.Kind = PiRewind
		c.Err = c.parseMetadata(raw.Message, r.alg)
	case strings.HasPrefix(first, checkpointPi) && strings.HasPrefix(rest, "sessionId "):
		c.Kind = CheckpointPi
		c.Err = c.parseMetadata(raw.Message, r.alg)
	case first == hookMessage:
		c.Kind = HookV1
		c.parseHookTail(tail)
	case len(raw.Parents) > 1 && stash || undoTail().MatchString(tail):
		c.Kind = PiUndo
		c.Err = fmt.Errorf("%w: it looks like pi-undo's, a stash", ErrForeign)
	case letsCodeTail().MatchString(tail):
		c.Kind = LetsCode
		c.Err = fmt.Errorf("%w: it looks like lets-code's", ErrForeign)
	default:
		c.Err = fmt.Errorf("%w: its message is of no known system", ErrForeign)
	}
}

// parseHookTail takes what pi-rewind-hook before 1.8 put into the ref's name:
// the time in milliseconds, and since 1.4 and 1.7 the entry and the session. A
// name of another shape, as its derivatives make, says nothing.
func (c *Checkpoint) parseHookTail(tail string) {
	c.Limits = Limits{FreshIndex: true}
	m := hookTail().FindStringSubmatch(tail)
	if m == nil {
		return
	}
	c.Trigger = map[string]string{"checkpoint": "turn", "checkpoint-resume": "resume", "before-restore": "before-restore"}[m[1]]
	c.Session, c.Entry = m[2], m[4]
	if ms, err := strconv.ParseInt(m[3], 10, 64); err == nil {
		c.Time = time.UnixMilli(ms).UTC()
	}
}

// footer lists the last lines of the metadata, last first. The description
// stands before all of them and may contain anything, lines of these names too;
// so the metadata are read from their end.
var footer = []struct {
	key      string
	required bool
}{
	{"largeDirs", false}, {"largeFiles", false}, {"untracked", false}, {"created", false},
	{"worktree-tree", true}, {"index-tree", true}, {"head", true}, {"branch", false},
}

// parseMetadata reads the message of pi-rewind and checkpoint-pi.
func (c *Checkpoint) parseMetadata(message string, alg oid.Algorithm) error {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	fields := map[string]string{}
	for _, f := range footer {
		if f.key == "branch" && c.Kind == CheckpointPi {
			continue
		}
		value, found := "", false
		if last := len(lines) - 1; last > 0 {
			value, found = strings.CutPrefix(lines[last], f.key+" ")
		}
		if found {
			fields[f.key], lines = value, lines[:len(lines)-1]
		} else if f.required {
			return fmt.Errorf("%w: the metadata have no %s in its place", ErrMalformed, f.key)
		}
	}
	if err := c.parseHead(lines); err != nil {
		return err
	}
	return c.parseFooter(fields, alg)
}

// parseHead reads the lines before the footer, whose order is fixed up to the
// description.
func (c *Checkpoint) parseHead(lines []string) error {
	_, id, _ := strings.Cut(lines[0], ":")
	lines = lines[1:]
	take := func(key string) (string, bool) {
		if len(lines) == 0 {
			return "", false
		}
		value, ok := strings.CutPrefix(lines[0], key+" ")
		if ok {
			lines = lines[1:]
		}
		return value, ok
	}
	session, ok := take("sessionId")
	if !ok || session == "" {
		return fmt.Errorf("%w: the metadata name no session", ErrMalformed)
	}
	c.Session = session
	if c.Kind == PiRewind {
		c.Trigger, _ = take("trigger")
	} else if m := piTail().FindStringSubmatch(id); m != nil {
		c.Trigger, _, _ = strings.Cut(m[1], "-")
		if c.Trigger == "before" {
			c.Trigger = "before-restore"
		}
	}
	turn, ok := take("turn")
	n, err := strconv.Atoi(turn)
	if !ok || err != nil || n < 0 {
		return fmt.Errorf("%w: turn %q", ErrMalformed, turn)
	}
	c.Turn = n
	tool, _ := take("toolName")
	if c.Label, ok = strings.CutPrefix(strings.Join(lines, "\n"), "description "); !ok {
		c.Label = tool
	}
	c.Label = oneLine(c.Label)
	return nil
}

// parseFooter takes over what the last lines say.
func (c *Checkpoint) parseFooter(fields map[string]string, alg oid.Algorithm) error {
	null := strings.Repeat("0", 2*alg.Size())
	for key, to := range map[string]*oid.ID{"head": &c.Head, "index-tree": &c.Index} {
		id, err := oid.Parse(fields[key])
		if err != nil || len(fields[key]) != len(null) {
			return fmt.Errorf("%w: %s %q", ErrMalformed, key, fields[key])
		}
		*to = id
	}
	if fields["worktree-tree"] != c.Tree.String() {
		return fmt.Errorf("%w: its tree is %v, the metadata say %q", ErrMalformed, c.Tree, fields["worktree-tree"])
	}
	if b := fields["branch"]; b != "HEAD" && b != "unknown" {
		c.Branch = b
	}
	if t, err := time.Parse(time.RFC3339, fields["created"]); err == nil {
		c.Time = t.UTC()
	}
	c.Limits = Limits{Names: slices.Clone(filteredNames)}
	for _, key := range []string{"untracked", "largeFiles", "largeDirs"} {
		var paths []string
		if text, ok := fields[key]; ok && json.Unmarshal([]byte(text), &paths) != nil {
			return fmt.Errorf("%w: %s is not a list of paths", ErrMalformed, key)
		}
		for _, p := range paths {
			if p = strings.TrimSuffix(p, "/"); p != "" {
				c.Limits.Paths = append(c.Limits.Paths, p)
			}
		}
	}
	slices.Sort(c.Limits.Paths)
	c.Limits.Paths = slices.Compact(c.Limits.Paths)
	return nil
}

// pattern compiles an expression when it is first needed: most commands meet
// no other system, and should not pay for those at their start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
