package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/seed-82afce7a/rewind/internal/regular"
)

// What a file that is called a session may cost: it may be anything, from a
// pipe that never answers to a device that never ends.
const (
	// sessionBytesMax is more than any conversation has. What is larger is an
	// error, because what stands behind was not seen.
	sessionBytesMax = 8 << 30
	// headerReachMax is how far into a file its header is looked for.
	headerReachMax = 16 << 20
)

var errTooLong = errors.New("longer than a session can be")

// openSession opens a regular file that is no longer than a session.
func openSession(path string) (*os.File, error) {
	f, err := regular.Open(path)
	if errors.Is(err, regular.ErrIrregular) || errors.Is(err, syscall.EISDIR) {
		err = fmt.Errorf("%w: %w", ErrNotSession, err)
	}
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > sessionBytesMax {
		err = fmt.Errorf("%s: %w", path, errTooLong)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session: %w", err), f.Close())
	}
	return f, nil
}

// A bounded reader ends with an error when its context does, or when it has
// given as many bytes as it may.
type bounded struct {
	ctx  context.Context
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
