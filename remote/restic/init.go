package restic

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/restic/chunker"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

// Init makes a repository where there is none, or finishes one that was begun with this password. Random says that the
// password was made by [NewPassword]. [depot.ErrExists]: there is one.
func Init(ctx context.Context, p depot.Place, password string, random bool) (*Repo, error) {
	if _, err := p.Get(ctx, configFile, 0, configMost); err == nil {
		return nil, fmt.Errorf("a repository %w", depot.ErrExists)
	} else if !errors.Is(err, depot.ErrNotThere) {
		return nil, err
	}
	key, name, err := firstKey(ctx, p, password, random)
	if err != nil {
		return nil, err
	}
	r, err := newRepo(p, key, nil)
	if err != nil {
		return nil, err
	}
	var id ID
	copy(id[:], randomBytes(len(id)))
	r.config = config{Version: version, ID: id.String()}
	if r.config.Polynomial, err = chunker.RandomPolynomial(); err != nil {
		return nil, err
	}
	plain, err := json.Marshal(r.config)
	if err != nil {
		return nil, err
	}
	err = p.Put(ctx, configFile, key.seal(nil, plain)) // last: it makes the repository
	if errors.Is(err, depot.ErrExists) {
		err = errors.Join(err, r.takeBack(ctx, name))
	}
	return r, err
}

// firstKey returns a key that was left of a repository that was begun, or makes one. Name is the file that it made.
// Keys of others are not passed over: whose they are may be making a repository now, or have lost the config of one.
func firstKey(ctx context.Context, p depot.Place, password string, random bool) (key *master, name string, err error) {
	none, err := eachKey(ctx, p, func(_ string, file []byte) bool {
		key, _ = tryKey(file, password)
		return key == nil
	})
	switch {
	case key != nil:
		return key, "", nil
	case err != nil:
		return nil, "", err
	case !none:
		return nil, "", fmt.Errorf("%w: there are keys that do not open with this password, and no config: if nothing else is there, remove the folder keys; else bring the config back", ErrPassword)
	}
	key, file, err := newKey(password, random)
	if err != nil {
		return nil, "", err
	}
	name = "keys/" + ID(sha256.Sum256(file)).String()
	return key, name, put(ctx, p, name, file)
}

// takeBack removes the key that was made for a repository that another one made first: programs that try it would read
// nothing. Who made the other one may have found this key; then it stays.
func (r *Repo) takeBack(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	sealed, err := r.place.Get(ctx, configFile, 0, configMost)
	if err != nil {
		return err
	}
	if _, err := r.key.open(nil, sealed); err == nil {
		return nil
	}
	return r.place.Delete(ctx, name)
}
