package lookup

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/regular"
	"github.com/seed-82afce7a/rewind/ledger"
)

// sessionFile returns the function that finds the file of a session among those of
// every agent's directory that is known. They are looked at when it is first asked.
func (r *Outside) sessionFile(ctx context.Context) func(id string) string {
	var files map[string]string
	return func(id string) string {
		if files == nil {
			files = map[string]string{}
			for f := range ledger.Discover(ctx, ledger.Places{AgentDirs: r.tallowHomes()}) {
				if f.Err == nil {
					files[f.Header.ID] = f.Path
				}
			}
		}
		return files[id]
	}
}

// tallowHomes are the directories that tallow keeps its sessions under.
func (r *Outside) tallowHomes() (dirs []string) {
	add := func(dir string) {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	add(r.Getenv("TALLOW_CODING_AGENT_DIR"))
	add(r.Getenv("PI_CODING_AGENT_DIR"))
	add(filepath.Join(r.Home, ".tallow"))
	text, err := regular.Read(filepath.Join(r.Home, ".config", "tallow-work-dirs"), 1<<20)
	if err != nil {
		return dirs
	}
	for line := range strings.Lines(string(text)) { // directory:home
		if _, home, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			add(home)
		}
	}
	return dirs
}
