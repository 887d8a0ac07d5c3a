package cli

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/cmd/internal/process"
	"github.com/seed-82afce7a/rewind/engine"
)

// Another is a process of this program that goes on when this one has ended, with the
// same flags before the verb.
func (a *App) Another(args ...string) (*exec.Cmd, error) {
	file, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(file)
	cmd.Args, cmd.SysProcAttr = []string{a.Self}, process.Alone()
	for flag, set := range map[string]bool{"--force": a.Force, "--no-git": a.NoGit} {
		if set {
			cmd.Args = append(cmd.Args, flag)
		}
	}
	cmd.Args = append(cmd.Args, args...)
	return cmd, nil
}

// Unasked is the flag of a push that no person began.
const Unasked = "unasked"

// AutoPush begins a process that pushes to the remote of rewind.autoPush, unless there is one, or one has just
// failed. It asks nobody, and waits for nothing.
func (a *App) AutoPush(e *engine.Engine, name string) {
	if a.Self == "" {
		return
	}
	r := e.Remotes()
	if m, err := r.Find(name); err != nil || !Vouched(m.URL) || !r.Wants() {
		return
	}
	cmd, err := a.Another("-C", e.Root(), "push", "--"+Unasked, name)
	if err != nil {
		return
	}
	// One that is in nobody's way, and where only the system's owner makes files: a relative path in the environment
	// must not name somebody else's.
	cmd.Dir = filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // or what lives on would keep what is left of it
	}
}
