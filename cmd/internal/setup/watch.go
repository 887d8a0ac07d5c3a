package setup

import (
	"bytes"
	"path/filepath"
	"strings"
)

// Watching names the plan by which large worktrees are watched from their first snapshot
// on. It is a line in the user's own settings, as an agent's hooks are for all directories.
const Watching = "watch"

const watchLarge = "[rewind]\n\twatch = large\n"

func (s *Setup) settings() string {
	return filepath.Join(folder([]string{"", ".config/rewind"}, s.Getenv), "config")
}

// PlanWatch finds what is to be changed so that large worktrees are watched. Where the
// settings say something of that already it has no changes.
func (s *Setup) PlanWatch() (*Plan, error) {
	p := &Plan{Agent: Watching, file: s.receiptFile(Watching)}
	old, err := readReceipt(p.file)
	if err != nil {
		return nil, err
	}
	p.kept = old
	file := s.settings()
	now, err := content(file)
	if err != nil || speaksOfWatching(now) {
		return p, err
	}
	// In front: what the file ends in may go on in the next line.
	p.change(file, now, append([]byte(watchLarge), now...))
	return p, nil
}

// speaksOfWatching reports whether a line of settings may be one of watching.
func speaksOfWatching(text []byte) bool {
	for line := range strings.Lines(strings.ToLower(string(text))) {
		if _, rest, had := strings.Cut(line, "]"); had && strings.HasPrefix(strings.TrimSpace(line), "[") {
			line = rest
		}
		if strings.HasPrefix(strings.TrimSpace(line), "watch") {
			return true
		}
	}
	return false
}

// withoutWatch cuts our lines out.
func withoutWatch(text []byte) ([]byte, error) {
	return bytes.Replace(text, []byte(watchLarge), nil, 1), nil
}

// PlanWatchRemoval finds what takes that back.
func (s *Setup) PlanWatchRemoval() (*Plan, error) {
	return s.removal(Watching, s.settings(), withoutWatch)
}
