package cas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	bolt "go.etcd.io/bbolt"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// compactBytes are copied in one transaction of the new file.
const compactBytes = 16 << 20

// Compact rewrites the file without the space that removed things left, and
// returns its sizes in bytes. Nobody can use the store meanwhile; whoever
// waited for the lock opens the new file. A crash or an error leaves the old
// one.
func (s *Store) Compact(ctx context.Context) (before, after int64, err error) {
	held, err := s.lock.Lock(ctx, durable.Exclusive)
	if err != nil {
		return 0, 0, s.wrap(err)
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	if before, err = fileSize(s.path); err != nil {
		return 0, 0, err
	}
	err = s.replace(".compact", func(dst *bolt.DB) error {
		dst.NoSync = true // replace syncs once, at the end
		if err := s.copyTo(ctx, held, dst); err != nil {
			return err
		}
		return dst.Update(numberFile)
	})
	if err != nil {
		return before, before, s.wrap(err)
	}
	after, err = fileSize(s.path)
	return before, after, errors.Join(err, s.Close()) // a reader's open file would keep the old one's space
}

// copyTo copies everything, reading under the same guard as a transaction.
func (s *Store) copyTo(ctx context.Context, held *durable.Held, dst *bolt.DB) error {
	return s.peek(ctx, func(src *file) error {
		m, err := s.checkIdentity(src.tx)
		if err == nil {
			last := readLastCommit(held)
			err = last.check(m, src.newest())
		}
		if err != nil {
			return err
		}
		err = bolt.Compact(dst, src.db, compactBytes)
		var sys syscall.Errno
		if err != nil && !errors.As(err, &sys) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err) // such as a key that is too long
		}
		return err
	})
}

func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
