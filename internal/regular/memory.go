package regular

import (
	"bytes"
	"io/fs"
	"os"
	"sync"
	"time"
)

// A memory has the texts of small files, and what their files showed when they were
// read. A text is believed as long as its file shows the same: place, size, mode, and
// the times of its content and of any change. Three things could make that lie, and
// nothing is remembered where one of them may be: another write within the same grain
// of the times, a write that goes on after it has set them, and the clock of another
// machine.
type memory struct {
	mu    sync.Mutex
	texts map[string]text
}

type text struct {
	bytes []byte
	shown fs.FileInfo
}

var remembered memory

const (
	textBytesMax = 16 << 10
	textsMax     = 64 // then all are forgotten: a program asks for a dozen again and again

	// settled is how long before it is read a file must not have been touched. The times
	// of the file systems in question are much finer, and no write of so little goes on
	// so long.
	settled = 10 * time.Second
)

func (m *memory) text(path string, st fs.FileInfo) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.texts[path]
	if !ok || !same(t.shown, st) {
		return nil, false
	}
	return bytes.Clone(t.bytes), true
}

// keep remembers what a file had that was looked at after a moment, and then read.
func (m *memory) keep(path string, st fs.FileInfo, p []byte, looked time.Time) {
	at, ok := touched(path, st)
	if !ok || len(p) > textBytesMax || looked.Sub(at) < settled {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts == nil || len(m.texts) == textsMax {
		m.texts = map[string]text{}
	}
	m.texts[path] = text{bytes.Clone(p), st}
}

// same reports whether a file shows nothing by which it could be another, or have
// another content.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Mode() == b.Mode() && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && changed(a).Equal(changed(b))
}
