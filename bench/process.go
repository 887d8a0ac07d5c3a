package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// A command is one process to run.
type command struct {
	name  string
	args  []string
	env   []string // added to that of the lane
	stdin []byte
	codes []int // exit codes that are no error beside 0
}

// run runs a command in the lane's worktree and gives its standard output.
func (l *lane) run(ctx context.Context, c command) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.name, c.args...)
	cmd.Dir, cmd.Env, cmd.Stdin = l.tree, append(l.env, c.env...), bytes.NewReader(c.stdin)
	cmd.WaitDelay = 2 * time.Second // what it has started may hold its output open
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := l.peak.watch(cmd.Process.Pid)
	err := cmd.Wait()
	stop()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		for _, code := range c.codes {
			if exit.ExitCode() == code {
				return out.Bytes(), nil
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", c.name, strings.Join(c.args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}

// git runs a git command of the lane and gives its output without the last newline.
func (l *lane) git(ctx context.Context, args ...string) (string, error) {
	out, err := l.run(ctx, command{name: "git", args: args})
	return strings.TrimSuffix(string(out), "\n"), err
}

// said is what a process that lives on has written to its standard error so far.
type said struct {
	mu   sync.Mutex // guards text: it is read while the process may write
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.text.String())
}

// A peak is the largest memory of the processes of one turn. The kernel's own
// figure for an ended process (ru_maxrss) cannot be used: it begins with the
// size of the parent that forked it. So the high-water mark is read while the
// process runs, in the round that is not timed.
type peak struct {
	mu      sync.Mutex // guards the fields below; processes may run side by side
	watched bool
	most    int64
}

// reset forgets what was seen, and begins or ends watching.
func (p *peak) reset(watched bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched, p.most = watched, 0
}

// bytes gives the most that was seen.
func (p *peak) bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// watch looks at a process until the function it gives is called.
func (p *peak) watch(pid int) (stop func()) {
	p.mu.Lock()
	watched := p.watched
	p.mu.Unlock()
	if !watched {
		return func() {}
	}
	resetHighWater(pid)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			size := highWater(pid)
			p.mu.Lock()
			p.most = max(p.most, size)
			p.mu.Unlock()
			select {
			case <-done:
				return
			case <-time.After(300 * time.Microsecond):
			}
		}
	}()
	return func() { close(done); <-ended }
}

// machine describes the machine: nothing by which it could be found.
func machine(ctx context.Context, o Options) report.Machine {
	m := report.Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Rewind: o.Version}
	m.Kernel, m.Memory = kernel()
	if out, err := exec.CommandContext(ctx, "git", "version").Output(); err == nil {
		m.Git = strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	}
	return m
}
