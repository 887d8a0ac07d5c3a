// Package depot is where the files of a remote repository lie. It knows names and bytes, and nothing of what they
// mean. What it returns comes from elsewhere, and is to be checked by who asked for it.
//
// There are two kinds: a directory, as of a mounted share or a disk, and a folder of a bucket on a server that speaks
// S3. The next one is a file more.
//
// A file is wholly there or not at all, and is never changed once it is there.
package depot

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The conditions a caller may want to tell apart.
var (
	ErrNotThere = errors.New("not there")
	ErrExists   = errors.New("is there already")
	// ErrURL is reported for what names no place.
	ErrURL = errors.New("no place for a remote")
)

// A File is one of a list.
type File struct {
	Name string
	Size int64
}

// A Place keeps files by slash-separated names. Any number of goroutines may use one.
type Place interface {
	// Put writes a file durably that is not there; one that is there stays, and is ErrExists.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns so many bytes of a file from an offset on, or all of it if length is 0:
	// at most the given number, and fewer only where the file ends.
	Get(ctx context.Context, name string, offset, length int64) ([]byte, error)
	// List returns the files in a folder, those of folders below it by name from there on.
	List(ctx context.Context, folder string) ([]File, error)
	// Delete removes a file; one that is not there is no error.
	Delete(ctx context.Context, name string) error
}

// mostBytes bounds a file that is read whole: packs are some 16 MiB, an index below 8.
const mostBytes = 256 << 20

// Open returns the place that a URL names: the absolute path of a directory, which need not be there yet, the same
// behind file://, or what begins with s3: ([Resolve]). Nothing is asked for or made.
func Open(url string) (Place, error) {
	path := strings.TrimPrefix(url, "file://")
	switch {
	case strings.HasPrefix(url, "s3:"):
		return openBucket(url)
	case strings.Contains(path, "://"):
		scheme, rest, _ := strings.Cut(path, "://")
		if host, _, _ := strings.Cut(rest, "/"); strings.Contains(host, "@") {
			return nil, errPassword
		}
		return nil, fmt.Errorf("%w: nothing is known behind %.20q: it is a directory, or s3:…", ErrURL, scheme)
	case !filepath.IsAbs(path):
		return nil, fmt.Errorf("%w: %q is not the absolute path of a directory", ErrURL, url)
	}
	return &dir{root: path}, nil
}

// Paced returns a place whose puts send at most so many bytes a second, together; 0: as many as they can.
func Paced(p Place, most int64) Place {
	if most <= 0 {
		return p
	}
	pace := &pace{most: most}
	switch p := p.(type) {
	case *bucket:
		p.pace = pace
	case *dir:
		p.pace = pace
	}
	return p
}

// A pace lets so many bytes a second pass. A nil one lets all.
type pace struct {
	most int64

	mu   sync.Mutex
	free time.Time // from when on more may pass
}

// piece is how much of a length passes at once.
func (p *pace) piece(length int) int {
	if p == nil {
		return length
	}
	return min(length, int(max(p.most/8, 1)))
}

// wait waits until so many bytes may pass.
func (p *pace) wait(ctx context.Context, n int) error {
	if p == nil || n <= 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	at := p.free
	p.free = p.free.Add(time.Duration(float64(n) / float64(p.most) * float64(time.Second)))
	p.mu.Unlock()
	return sleep(ctx, time.Until(at))
}

// Passes reports whether an error may pass by itself, as that of a network.
func Passes(err error) bool {
	var r *refusal
	var f *failure
	return errors.As(err, &f) && !errors.Is(err, errHere) && (!errors.As(err, &r) || r.passes())
}
