package attr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Runner runs the filters of one repository, as the Run of [Input]: a clean
// command once a file, a process once for all files until Close. The commands
// are the user's configuration; whoever makes a Runner has decided that they
// may run. It may be shared by goroutines; files of one process wait for one
// another.
type Runner struct {
	Dir string   // the root of the worktree, where commands run
	Env []string // their environment; nil means this process's

	mu        sync.Mutex // held to find or start a process
	processes map[string]*process
}

// Run runs a filter over raw and returns what it makes of it. The command ends
// when ctx does.
func (r *Runner) Run(ctx context.Context, f Filter, path string, raw []byte) ([]byte, error) {
	if f.Process != "" {
		return r.runProcess(ctx, f.Process, path, raw)
	}
	cmd, err := r.shell(ctx, expand(f.Clean, path))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd.Stdin = bytes.NewReader(raw) // a command that leaves some of it unread has not failed
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return nil, err // without the command, which may hold a password
	}
	return out.Bytes(), nil
}

// Close ends the processes. The Runner can be used again after it.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, p := range r.processes {
		p.mu.Lock()
		errs = append(errs, p.close())
		p.mu.Unlock()
	}
	r.processes = nil
	return errors.Join(errs...)
}

// waitDelay is how long a command's children may hold on to its output after
// its end; its output then counts as incomplete.
const waitDelay = 10 * time.Second

func (r *Runner) shell(ctx context.Context, command string) (*exec.Cmd, error) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	cmd := exec.CommandContext(ctx, sh, "-c", command)
	cmd.Dir = r.Dir
	cmd.Env = r.Env
	cmd.WaitDelay = waitDelay
	cmd.Cancel = func() error { return killAll(cmd) }
	gather(cmd)
	return cmd, nil
}

// expand puts the path, quoted for the shell, in the place of "%f", and a
// percent sign in that of "%%".
func expand(command, path string) string {
	quoted := "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
	return strings.NewReplacer("%%", "%", "%f", quoted).Replace(command)
}

// runProcess hands a file to the process of a command. One that broke off is
// started anew for the next file, as git does. So is one that answered abort, of
// which git would ask no more: what becomes of the other files would depend on
// the order in which they are asked for, which here is that of several threads.
func (r *Runner) runProcess(ctx context.Context, command, path string, raw []byte) ([]byte, error) {
	r.mu.Lock()
	if r.processes == nil {
		r.processes = make(map[string]*process)
	}
	p := r.processes[command]
	if p == nil {
		p = &process{}
		r.processes[command] = p
	}
	r.mu.Unlock()

	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		cmd, err := r.shell(context.WithoutCancel(ctx), command)
		if err != nil {
			return nil, err
		}
		if err := p.start(ctx, cmd); err != nil {
			return nil, err // without the command, which may hold a password
		}
	}
	return p.clean(ctx, path, raw)
}

// A process is a running filter that speaks version 2 of git's long running
// filter protocol (gitattributes(5)).
type process struct {
	mu    sync.Mutex // held while a file is with the process
	cmd   *exec.Cmd  // nil if it does not run
	in    io.WriteCloser
	out   packetReader
	tired bool // it said that it cleans no files
}

var (
	errProtocol = errors.New("the filter broke the protocol")
	errRefused  = errors.New("the filter refused")
	errAborted  = fmt.Errorf("%w: status abort", errRefused)
)

func (p *process) running() bool { return p.cmd != nil }

// start runs the command and shakes hands.
func (p *process) start(ctx context.Context, cmd *exec.Cmd) (err error) {
	if p.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = newPacketReader(stdout)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	defer p.guard(ctx, &err)()

	if err := writePackets(p.in, "git-filter-client\n", "version=2\n"); err != nil {
		return err
	}
	hello, err := p.out.lines()
	if err != nil {
		return err
	}
	if len(hello) != 2 || hello[0] != "git-filter-server" || hello[1] != "version=2" {
		return fmt.Errorf("%w: unexpected greeting %.60q", errProtocol, hello)
	}
	// All that git announces: git-lfs answers nothing less. Neither smudge nor a
	// delay, which only smudge knows, is ever asked for.
	if err := writePackets(p.in, "capability=clean\n", "capability=smudge\n", "capability=delay\n"); err != nil {
		return err
	}
	able, err := p.out.lines()
	p.tired = true
	for _, c := range able {
		p.tired = p.tired && c != "capability=clean"
	}
	return err
}

// guard kills the process if ctx ends before the function that it returns is
// called, and also if *err says by then that it can no longer be talked to.
func (p *process) guard(ctx context.Context, err *error) func() {
	cmd := p.cmd
	stop := context.AfterFunc(ctx, func() { _ = killAll(cmd) })
	return func() {
		stop()
		if ctx.Err() != nil {
			*err = ctx.Err()
		}
		if *err != nil && !errors.Is(*err, errRefused) {
			_ = killAll(cmd)
			p.close()
		}
	}
}

func (p *process) clean(ctx context.Context, path string, raw []byte) (out []byte, err error) {
	if p.tired {
		return nil, fmt.Errorf("%w: it cleans no files", errRefused)
	}
	name := "pathname=" + path + "\n"
	if len(name) > packetDataMax {
		return nil, fmt.Errorf("%w: path too long", errRefused)
	}
	defer p.guard(ctx, &err)()
	if err := writePackets(p.in, "command=clean\n", name); err != nil {
		return nil, err
	}
	if err := writeContent(p.in, raw); err != nil {
		return nil, err
	}
	if out, err = p.answer(); errors.Is(err, errAborted) {
		p.close() // the context may still kill it
	}
	return out, err
}

func (p *process) answer() (out []byte, err error) {
	if err := p.status(""); err != nil {
		return nil, err
	}
	if out, err = p.out.content(); err != nil {
		return nil, err
	}
	return out, p.status("success")
}

// status reads a list that may give a status, and holds it against success.
func (p *process) status(status string) error {
	list, err := p.out.lines()
	if err != nil {
		return err
	}
	for _, line := range list {
		if s, ok := strings.CutPrefix(line, "status="); ok {
			status = s
		}
	}
	switch status {
	case "success":
		return nil
	case "abort":
		return errAborted
	case "error":
		return fmt.Errorf("%w: status %s", errRefused, status)
	}
	return fmt.Errorf("%w: status %.60q", errProtocol, status)
}

// close ends the process by closing its input, as git does, and waits for it,
// but not for ever.
func (p *process) close() error {
	if p.cmd == nil {
		return nil
	}
	p.in.Close()
	cmd := p.cmd
	late := time.AfterFunc(waitDelay, func() { _ = killAll(cmd) })
	err := cmd.Wait()
	late.Stop()
	p.cmd = nil
	return err
}
