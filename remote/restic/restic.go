// Package restic reads and writes repositories of restic, format version 2, from its published design: sealed files
// in a [depot.Place], which restic, rustic and others read as well.
//
// Nothing in a repository is trusted. A file has to have the hash that it is named by, a seal has to be whole, and a
// blob has to have its SHA-256 once it is open; lengths are bounded before anything is allocated. What fails that is
// [ErrTampered], with the name of the file. A [Repo] writes a snapshot last, when all that it names is there.
//
// It knows nothing of worktrees and snapshots of rewind.
package restic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/restic/chunker"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// The conditions a caller may want to tell apart.
var (
	ErrNone     = errors.New("there is no repository")
	ErrPassword = errors.New("no key of the repository opens with this password")
	ErrTampered = errors.New("not what was written")
	ErrVersion  = errors.New("a repository of another version")
	ErrLocked   = errors.New("the repository is locked")
	ErrUnknown  = errors.New("not in the index of the repository")
)

// An ID is the SHA-256 of a blob or of a file.
type ID [sha256.Size]byte

// String returns the id in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText encodes the id as hexadecimal digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText accepts what MarshalText gives.
func (id *ID) UnmarshalText(p []byte) error {
	if len(p) != 2*len(id) {
		return fmt.Errorf("%q is no id", p)
	}
	_, err := hex.Decode(id[:], p)
	return err
}

// IsZero reports whether the id names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// A config says what a repository is.
type config struct {
	Version    int         `json:"version"`
	ID         string      `json:"id"`
	Polynomial chunker.Pol `json:"chunker_polynomial"`
}

// readable is an error of a version that is not ours.
func (c config) readable() error {
	switch {
	case c.Version == version:
		return nil
	case c.Version < version:
		return fmt.Errorf("%w: it has %d, and rewind reads and writes %d: \"restic migrate upgrade_repo_v2\" brings it there", ErrVersion, c.Version, version)
	}
	return fmt.Errorf("%w: it has %d, and this program reads and writes %d: a later version of rewind may read it", ErrVersion, c.Version, version)
}

// A Repo is an open repository. Any number of goroutines may use one.
type Repo struct {
	place  depot.Place
	key    *master
	config config
	cache  Cache

	pack  *zstd.Encoder
	plain *zstd.Decoder

	mu         sync.Mutex
	index      index
	small      map[part][]byte // parts of packs that were read whole
	smallBytes int
	lone       int // trees that were read alone
}

// A Cache keeps what was read from a repository and never changes there. It need not keep
// anything; what it returns is checked like what the repository returns.
type Cache interface {
	Load(name string) ([]byte, bool)
	Store(name string, data []byte)
}

// nothing is the cache of who has none.
type nothing struct{}

func (nothing) Load(string) ([]byte, bool) { return nil, false }
func (nothing) Store(string, []byte)       {}

const (
	configFile = "config"
	configMost = 1 << 16
	keyMost    = 1 << 16
	keysMost   = 20
	version    = 2
)

func newRepo(p depot.Place, key *master, cache Cache) (*Repo, error) {
	if cache == nil {
		cache = nothing{}
	}
	r := &Repo{place: p, key: key, cache: cache, small: map[part][]byte{}}
	var err error
	if r.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true), zstd.WithWindowSize(512<<10)); err != nil {
		return nil, err
	}
	r.plain, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(blobMost))
	return r, err
}

// Open opens a repository by a password. [ErrNone] if there is none.
func Open(ctx context.Context, p depot.Place, password string, cache Cache) (*Repo, error) {
	if cache == nil {
		cache = nothing{}
	}
	sealed, kept := cache.Load(configFile)
	if !kept {
		var err error
		if sealed, err = p.Get(ctx, configFile, 0, configMost); errors.Is(err, depot.ErrNotThere) {
			return nil, ErrNone
		} else if err != nil {
			return nil, err
		}
	}
	key, plain, err := openKey(ctx, p, password, sealed, cache)
	if err != nil {
		return nil, err
	}
	r, err := newRepo(p, key, cache)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(plain, &r.config); err != nil {
		return nil, fmt.Errorf("%w: config: %w", ErrTampered, err)
	}
	if err := r.config.readable(); err != nil {
		return nil, err
	}
	if len(r.config.ID) != 64 || !r.config.Polynomial.Irreducible() {
		return nil, fmt.Errorf("%w: config", ErrTampered)
	}
	cache.Store(configFile, sealed)
	return r, nil
}

// keyName is what the cache calls the file of the key that opened the repository last.
const keyName = "key"

// openKey returns the master key that the config was sealed with, and the open config. There may be keys that the
// password opens, and that lead to no config: whoever made them was killed, or was not the first.
func openKey(ctx context.Context, p depot.Place, password string, sealed []byte, cache Cache) (*master, []byte, error) {
	if file, ok := cache.Load(keyName); ok {
		if m, err := tryKey(file, password); err == nil {
			if plain, err := m.open(nil, sealed); err == nil {
				return m, plain, nil
			}
		}
	}
	var strange, config error
	var found *master
	var plain []byte
	none, err := eachKey(ctx, p, func(name string, file []byte) bool {
		m, err := tryKey(file, password)
		if err != nil {
			if !errors.Is(err, errSeal) {
				strange = fmt.Errorf("keys/%s: %w", name, err)
			}
			return true
		}
		if plain, err = m.open(nil, sealed); err != nil {
			config = fmt.Errorf("%w: config: %w", ErrTampered, err)
			return true
		}
		found = m
		cache.Store(keyName, file)
		return false
	})
	switch {
	case found != nil:
		return found, plain, nil
	case config != nil:
		return nil, nil, config
	case err != nil && !errors.Is(err, ErrTampered):
		return nil, nil, err
	case none:
		return nil, nil, fmt.Errorf("%w: it has no keys", ErrTampered)
	}
	return nil, nil, errors.Join(ErrPassword, strange, err)
}

// eachKey calls f with the files of the keys until it returns false. None says that there are none. The error names a file
// that is not what it was. Others are somebody else's, such as those that a file manager leaves.
func eachKey(ctx context.Context, p depot.Place, f func(name string, file []byte) bool) (none bool, strange error) {
	for range 2 { // those that were listed may have been taken back since, and another one made
		var listed bool
		if none, listed, strange = eachKeyNow(ctx, p, f); !none || !listed {
			break
		}
	}
	return none, strange
}

// eachKeyNow is eachKey by one list. Listed says that there were keys in it.
func eachKeyNow(ctx context.Context, p depot.Place, f func(name string, file []byte) bool) (none, listed bool, strange error) {
	list, err := p.List(ctx, "keys")
	if err != nil {
		return false, false, err
	}
	list = slices.DeleteFunc(list, func(f depot.File) bool { return new(ID).UnmarshalText([]byte(f.Name)) != nil })
	there := len(list)
	for i, k := range list {
		if i == keysMost {
			break
		}
		file, err := p.Get(ctx, "keys/"+k.Name, 0, keyMost)
		switch {
		case errors.Is(err, depot.ErrNotThere):
			there--
		case err != nil:
			return false, true, err
		case ID(sha256.Sum256(file)).String() != k.Name:
			strange = fmt.Errorf("%w: keys/%s", ErrTampered, k.Name)
		case !f(k.Name, file):
			return false, true, strange
		}
	}
	return there == 0, len(list) > 0, strange
}

func tryKey(file []byte, password string) (*master, error) {
	var k keyFile
	if err := json.Unmarshal(file, &k); err != nil {
		return nil, err
	}
	return k.unlock(password)
}

// ID returns the random name of the repository.
func (r *Repo) ID() string { return r.config.ID }

// Check reads the name of the repository that is there now: [ErrNone] or [ErrTampered]
// if it is not the one that was opened, of which a cache has told, [ErrVersion] if it has another version since.
func (r *Repo) Check(ctx context.Context) error {
	sealed, err := r.place.Get(ctx, configFile, 0, configMost)
	if errors.Is(err, depot.ErrNotThere) {
		return ErrNone
	}
	if err != nil {
		return err
	}
	var c config
	plain, err := r.key.open(nil, sealed)
	if err == nil {
		err = json.Unmarshal(plain, &c)
	}
	if err != nil || c.ID != r.config.ID {
		return fmt.Errorf("%w: config: it is another repository than before", ErrTampered)
	}
	return c.readable()
}

// Keep has what is read and written from now on kept in a cache.
func (r *Repo) Keep(cache Cache) { r.cache = cache }

// put writes a file that is named by its hash: one that is there is the same.
func put(ctx context.Context, p depot.Place, name string, data []byte) error {
	if err := p.Put(ctx, name, data); !errors.Is(err, depot.ErrExists) {
		return err
	}
	return nil
}

// unpackedMost bounds the JSON of one file, snapshotMost that of a snapshot, of which many are read at once.
const (
	unpackedMost = 128 << 20
	snapshotMost = 64 << 20
)

// putJSON seals a value into a folder and returns its name.
func (r *Repo) putJSON(ctx context.Context, folder string, v any) (ID, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return ID{}, err
	}
	if folder != "locks" {
		plain = r.pack.EncodeAll(plain, []byte{2})
	}
	sealed := r.key.seal(nil, plain)
	id := ID(sha256.Sum256(sealed))
	if err := put(ctx, r.place, folder+"/"+id.String(), sealed); err != nil {
		return ID{}, err
	}
	if folder != "locks" {
		r.cache.Store(folder+"/"+id.String(), sealed)
	}
	return id, nil
}

// getJSON reads a file that putJSON wrote.
func (r *Repo) getJSON(ctx context.Context, folder, name string, v any) error {
	full := folder + "/" + name
	sealed, kept := r.cache.Load(full)
	if kept && ID(sha256.Sum256(sealed)).String() != name {
		kept = false
	}
	if !kept {
		var err error
		if sealed, err = r.place.Get(ctx, full, 0, 0); err != nil {
			return err
		}
		if ID(sha256.Sum256(sealed)).String() != name {
			return fmt.Errorf("%w: %s has not the hash that it is named by", ErrTampered, full)
		}
	}
	most := unpackedMost
	if folder == "snapshots" {
		most = snapshotMost
	}
	plain, err := r.key.open(nil, sealed)
	if err == nil && len(plain) > 0 && plain[0] == 2 {
		plain, err = r.unpack(nil, plain[1:], most)
	}
	if err == nil && len(plain) > most {
		err = fmt.Errorf("more than %d bytes", most)
	}
	if err == nil {
		err = json.Unmarshal(plain, v)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrTampered, full, err)
	}
	if !kept && folder != "locks" {
		r.cache.Store(full, sealed)
	}
	return nil
}

// unpack decodes one zstd frame of at most so many bytes.
func (r *Repo) unpack(buf, data []byte, most int) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		return nil, err
	}
	if h.HasFCS && h.FrameContentSize > uint64(most) {
		return nil, fmt.Errorf("it says that it has %d bytes", h.FrameContentSize)
	}
	out, err := r.plain.DecodeAll(data, buf[:0])
	if err == nil && len(out) > most {
		err = fmt.Errorf("it has %d bytes", len(out))
	}
	return out, err
}
