package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
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

// openRegular opens a regular file. Opening cannot block, also where something
// else has taken the place of the file that was looked at.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: no regular file: %w", path, ErrNotSession)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("session: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("session: %w", err)
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: no regular file: %w", path, ErrNotSession)
	}
	if err == nil && info.Size() > sessionBytesMax {
		err = fmt.Errorf("%s: %w", path, errTooLong)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("session: %w", err), f.Close())
	}
	return f, info, nil
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
