package cli

import (
	"github.com/seed-82afce7a/rewind/cmd/internal/process"
)

// LivesOn is told by a command that serves many requests: from then on the program
// collects less often. Where the process is not the command's own, as in a test, it does
// nothing.
func (a *App) LivesOn() {
	if a.EndAfter != nil {
		process.CollectLess(func() bool { return true })
	}
}
