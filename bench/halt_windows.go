package bench

import "os/exec"

// halt does nothing: a process cannot be halted here.
func halt(*exec.Cmd, bool) {}
