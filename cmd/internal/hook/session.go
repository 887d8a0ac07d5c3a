package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// A session is what rewind remembers of one conversation of an agent: the prompt
// that is being worked on, for agents that do not name it again at the end, and
// what was said already. It stands in the file that is locked while a hook's work
// is done, so that the next hook of the conversation waits for it. A loss of power
// may take it back; a file that cannot be read is empty.
type session struct {
	Prompt string   `json:"prompt,omitempty"`
	Text   string   `json:"text,omitempty"`
	Files  []string `json:"files,omitempty"`  // that have a point before their first change
	Writes int      `json:"writes,omitempty"` // changes of files since the session began
	Tell   []string `json:"tell,omitempty"`   // what nobody was there to be told
	Told   []string `json:"told,omitempty"`
	Last   *Seen    `json:"last,omitempty"`

	held *durable.Held
	size int // of the file
}

// Bounds of what is remembered of a session.
const (
	sessionMax  = 1 << 20
	rememberMax = 2048                // files, and each list of sentences
	staleAfter  = 30 * 24 * time.Hour // an older file is of a conversation that has ended
	tickMax     = 2 * time.Second     // how coarse the time of a file may be: FAT counts in two seconds
)

// sessionsDir is where the files of sessions lie.
func sessionsDir(getenv func(string) string) (string, error) {
	if d := getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return ownDir(filepath.Join(d, "rewind", "hooks"))
	}
	for _, home := range []string{getenv("HOME"), getenv("USERPROFILE")} {
		if filepath.IsAbs(home) {
			return ownDir(filepath.Join(home, ".local", "state", "rewind", "hooks"))
		}
	}
	return "", errors.New("neither XDG_STATE_HOME nor HOME says where rewind may remember a session")
}

// ownDir returns a directory if it and the one that it lies in are the user's, as far
// as they are there. Where others write too, one of them may have made it: prompts are
// written there, and what is told to the user is read from there.
func ownDir(dir string) (string, error) {
	judge := trust.Judge{}
	return dir, judge.Owns("", filepath.Dir(dir), dir)
}

// sessionFile is the file of the event's conversation. Without a conversation the
// directory stands for it.
func sessionFile(dir string, e *Event) string {
	of := e.Session
	if of == "" {
		of = "in " + e.Dir
	}
	sum := sha256.Sum256([]byte(e.Agent + "\x00" + of))
	return filepath.Join(dir, e.Agent+"-"+hex.EncodeToString(sum[:10]))
}

// openSession waits for the session and locks it; begun is called when it has its
// place in the row of those that wait. A session that is new makes room for itself:
// files of sessions that ended long ago are removed.
func openSession(ctx context.Context, path string, begun func()) (*session, error) {
	_, err := os.Lstat(path)
	if fresh := errors.Is(err, os.ErrNotExist); fresh {
		err := durable.MakeDir(filepath.Dir(path))
		if err == nil {
			_, err = ownDir(filepath.Dir(path)) // somebody may have been faster
		}
		if err != nil {
			return nil, err
		}
		removeStale(filepath.Dir(path), time.Now())
	}
	held, err := durable.TryLock(path, durable.Exclusive)
	begun()
	if errors.Is(err, durable.ErrLocked) {
		held, err = durable.Lock(ctx, path, durable.Exclusive)
	}
	if err != nil {
		return nil, err
	}
	s := &session{held: held}
	p, _ := io.ReadAll(io.NewSectionReader(held, 0, sessionMax))
	s.size = len(p)
	if json.Unmarshal(p, s) != nil {
		*s = session{held: held, size: len(p)}
	}
	return s, nil
}

// awaitSession waits until the work for a session is done, if there is any.
func awaitSession(ctx context.Context, path string) {
	if _, err := os.Lstat(path); err != nil {
		return
	}
	if held, err := durable.Lock(ctx, path, durable.Shared); err == nil {
		_ = held.Unlock()
	}
}

// close writes the session, and lets the next hook go on.
func (s *session) close() error {
	s.Files, s.Tell, s.Told = newest(s.Files), newest(s.Tell), newest(s.Told)
	p, err := json.Marshal(s)
	if err == nil {
		for len(p) < s.size { // what was longer before ends in blanks
			p = append(p, ' ')
		}
		_, err = s.held.WriteAt(p, 0)
	}
	return errors.Join(err, s.held.Unlock())
}

func newest(list []string) []string { return list[max(0, len(list)-rememberMax):] }

// unsaid returns what is to be told and was not told before in this session.
func (s *session) unsaid(lines []string) (out []string) {
	for _, line := range lines {
		if !slices.Contains(s.Told, line) {
			s.Told = append(s.Told, line)
			out = append(out, line)
		}
	}
	return out
}

// A Seen is a hook that came, and what became of it.
type Seen struct {
	Time time.Time `json:"time"`
	Dir  string    `json:"dir,omitempty"`  // where the agent worked
	Fail string    `json:"fail,omitempty"` // why nothing was recorded; empty: it was, or there was no need
}

// LastSeen returns the last hook of an agent that is remembered, the zero Seen if none
// is. Two hooks may have come within one tick of the clock of the file system, so the
// time that the hook wrote itself decides, and a file's own time only says which files
// need not be read.
func LastSeen(getenv func(string) string, agent string) (last Seen) {
	dir, err := sessionsDir(getenv)
	if err != nil {
		return last
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return last
	}
	for _, entry := range list {
		info, err := entry.Info()
		if err != nil || !strings.HasPrefix(entry.Name(), agent+"-") || info.ModTime().Add(tickMax).Before(last.Time) {
			continue
		}
		text, err := durable.ReadFile(filepath.Join(dir, entry.Name()), sessionMax)
		if err != nil {
			continue
		}
		s, seen := session{}, Seen{Time: info.ModTime()}
		if json.Unmarshal(text, &s) == nil && s.Last != nil {
			seen = *s.Last
		}
		if seen.Time.After(last.Time) {
			last = seen
		}
	}
	return last
}

// removeStale removes files that no hook has written for long. One that is in use
// is left alone.
func removeStale(dir string, now time.Time) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range list {
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < staleAfter {
			continue
		}
		if held, err := durable.TryLock(filepath.Join(dir, entry.Name()), durable.Exclusive); err == nil {
			durable.Remove(filepath.Join(dir, entry.Name()))
			_ = held.Unlock()
		}
	}
}
