package hook

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A world is an agent with its hooks, whose points are written down instead of made.
type world struct {
	t      *testing.T
	env    map[string]string
	dir    string
	mu     sync.Mutex
	points []Event
	told   []string
	take   func(context.Context, *Event) ([]string, error)

	lenient bool // a worker may fail, but for its points
}

func newWorld(t *testing.T) *world {
	base := t.TempDir()
	w := &world{t: t, dir: filepath.Join(base, "project"), env: map[string]string{"XDG_STATE_HOME": filepath.Join(base, "state")}}
	w.take = func(context.Context, *Event) ([]string, error) { return nil, nil }
	return w
}

func (w *world) getenv(name string) string { return w.env[name] }

// start does the work in a goroutine in place of a process.
func (w *world) start(task []byte) (io.ReadCloser, error) {
	from, to := io.Pipe()
	worker := &Worker{Getenv: w.getenv, Output: to, Take: func(ctx context.Context, e *Event) ([]string, error) {
		w.mu.Lock()
		w.points = append(w.points, *e)
		w.mu.Unlock()
		return w.take(ctx, e)
	}}
	go func() {
		if err := worker.Work(context.Background(), task); err != nil && !w.lenient {
			w.t.Error(err)
		}
		_ = to.Close()
	}()
	return from, nil
}

func (w *world) call(agent, event, input string) {
	w.t.Helper()
	w.caller(agent, event, input).Call(context.Background())
}

func (w *world) caller(agent, event, input string) *Caller {
	return &Caller{Agent: agent, Event: event, Dir: w.dir, Input: strings.NewReader(input), Patience: time.Minute, Getenv: w.getenv, Start: w.start,
		Tell: func(line string) { w.mu.Lock(); w.told = append(w.told, line); w.mu.Unlock() }}
}

// made tells in short what points there are, and forgets them.
func (w *world) made() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.points {
		text := string(e.Act) + " " + e.Text
		if e.Label != "" {
			text = e.Label
		}
		out = append(out, text)
	}
	w.points = nil
	return out
}

// said returns what the user was told, and forgets it.
func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.told, "\n")
	w.told = nil
	return all
}

// A recorded event is what one agent gave to its hook, as it was on the day named in
// docs/agents.md. Paths are replaced, long texts cut.
type recorded struct {
	Event string          `json:"event"`
	Input json.RawMessage `json:"input"`
}

func recording(t testing.TB, name string) (list []recorded) {
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}
