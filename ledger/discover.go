package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Found is one session file. If its header could not be read, Err says why
// and Header is empty: such a file may still be the damaged ledger of living
// snapshots, see [Mentioned]. A directory that could not be read is a Found
// with its path and Err.
type Found struct {
	Path   string
	Header Header
	Err    error
}

// Places are where sessions may lie. Relative paths are taken as they are.
type Places struct {
	AgentDirs   []string // sessions lie in folders under sessions/
	SessionDirs []string // sessions lie in the directory itself, or in folders
}

// Discover yields every regular file whose name ends in .jsonl in the places,
// folder by folder and by name, each once. Links are followed, because Pi
// follows them. A place that does not exist holds no sessions; everything else
// that cannot be read is yielded with its error, so that a caller knows what it
// has not seen. The end of the context is such an error, and the last.
func Discover(ctx context.Context, places Places) iter.Seq[Found] {
	return func(yield func(Found) bool) {
		d := discovery{ctx: ctx, yield: yield, seen: make(map[string]bool)}
		roots := slices.Clone(places.SessionDirs)
		for _, dir := range places.AgentDirs {
			roots = append(roots, filepath.Join(dir, "sessions"))
		}
		for _, root := range roots {
			if !d.visit(root) {
				return
			}
		}
	}
}

// A discovery is one walk; its methods report false when the caller has enough.
type discovery struct {
	ctx   context.Context
	yield func(Found) bool
	seen  map[string]bool // real paths
}

func (d *discovery) visit(path string) bool {
	if err := d.ctx.Err(); err != nil {
		d.yield(Found{Path: path, Err: err})
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return d.failed(path, err)
	}
	if d.seen[real] {
		return true
	}
	d.seen[real] = true
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return d.failed(path, err)
	case info.IsDir():
		return d.folder(path)
	case info.Mode().IsRegular() && strings.HasSuffix(path, ".jsonl"):
		header, err := readHeader(path)
		return d.yield(Found{path, header, err})
	}
	return true
}

func (d *discovery) folder(path string) bool {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		regular := e.Type().IsRegular() && !strings.HasSuffix(e.Name(), ".jsonl")
		if !regular && !d.visit(filepath.Join(path, e.Name())) {
			return false
		}
	}
	return err == nil || d.failed(path, err)
}

// failed names what could not be read, unless there is nothing by that name.
// A link that leads nowhere, perhaps to a disk that is not there, is named.
func (d *discovery) failed(path string, err error) bool {
	if _, gone := os.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
		return true
	}
	return d.yield(Found{Path: path, Err: fmt.Errorf("session: %w", err)})
}

// readHeader reads the header alone. Errors are those of [Sessions.Open].
func readHeader(path string) (Header, error) {
	f, err := openSession(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	h, err := findHeader(context.Background(), f)
	if err != nil {
		return Header{}, fmt.Errorf("session %s: %w", path, err)
	}
	return h, nil
}
