package fork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Fork is what is known of a second working directory. There is a file of it
// beside the store, written before the directory is made.
type Fork struct {
	Dir      string    `json:"directory"`
	Birth    string    `json:"birth,omitempty"` // of the directory; "": it was perhaps not made
	Snapshot oid.ID    `json:"snapshot"`        // that was written there
	Git      bool      `json:"git"`             // it is a linked worktree
	Time     time.Time `json:"time"`
	Whole    bool      `json:"whole"`            // all of the snapshot was written
	Made     oid.ID    `json:"made,omitzero"`    // what was there when it was made; zero: what the snapshot has
	Adopted  oid.ID    `json:"adopted,omitzero"` // what was merged into the worktree last; zero: nothing was
}

// A note is a fork as its file has it: with every byte of the directory's name.
type note struct {
	*Fork
	Dir engine.Path `json:"directory"`
}

// noteMax bounds the file of a fork.
const noteMax = 1 << 20

// A registry is the directory with the files of all forks.
type registry string

func (r registry) path(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(string(r), hex.EncodeToString(sum[:8])+".json")
}

// put writes the file of a fork.
func (r registry) put(f *Fork) error {
	text, err := json.Marshal(note{f, engine.Path(f.Dir)})
	if err == nil {
		err = durable.MakeDir(string(r))
	}
	if err != nil {
		return err
	}
	return durable.WriteFile(r.path(f.Dir), text, 0o600)
}

// begin writes the file of a fork whose directory is to be made. The lock is held until
// the directory is there and noted, or given up: two that make the same one would
// overwrite, and then drop, what the other has written.
func (r registry) begin(ctx context.Context, f *Fork) (*durable.Held, error) {
	if err := durable.MakeDir(string(r)); err != nil {
		return nil, err
	}
	held, err := durable.Lock(ctx, string(r)+".lock", durable.Exclusive)
	if err != nil {
		return nil, err
	}
	if _, err = os.Lstat(f.Dir); err == nil {
		err = fmt.Errorf("%w: %s exists", ErrPlace, f.Dir)
	} else if errors.Is(err, os.ErrNotExist) {
		_, err = free(r, f.Dir) // another one may have been made there, and moved away
	}
	if err == nil {
		err = r.put(f)
	}
	if err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	return held, nil
}

// drop forgets a fork.
func (r registry) drop(f *Fork) error { return durable.Remove(r.path(f.Dir)) }

// find returns the fork in a directory, nil if there is none.
func (r registry) find(dir string) (*Fork, error) { return r.read(r.path(dir)) }

func (r registry) read(path string) (*Fork, error) {
	text, err := durable.ReadFile(path, noteMax)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := new(Fork)
	n := note{Fork: f}
	err = json.Unmarshal(text, &n)
	if f.Dir = string(n.Dir); err != nil || n.Fork != f || !filepath.IsAbs(f.Dir) || r.path(f.Dir) != path {
		return nil, errors.Join(err, fmt.Errorf("%s is not what rewind writes", path))
	}
	return f, nil
}

// all returns every fork, the newest last. Beside the error of a file that cannot be
// read the others are returned.
func (r registry) all() (list []*Fork, err error) {
	names, err := os.ReadDir(string(r))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), ".json") {
			continue
		}
		f, failed := r.read(filepath.Join(string(r), n.Name()))
		if err = errors.Join(err, failed); f != nil {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *Fork) int { return a.Time.Compare(b.Time) })
	return list, err
}
