package records

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Pins returns the snapshots that were pinned, by name. A name of which the
// snapshot cannot be told is left out: it names nothing that could be kept.
func (v *View) Pins() map[string]oid.ID {
	pins := map[string]oid.ID{}
	for name, value := range v.Table(tablePins).All() {
		if id, err := oid.FromBytes(value); err == nil {
			pins[string(name)] = id
		}
	}
	return pins
}

// Pin gives a name to a snapshot; another one loses it. The zero id takes it away,
// if anything has it.
func (u *Update) Pin(name string, id oid.ID) error {
	if id.IsZero() {
		return u.remove(tablePins, []byte(name))
	}
	return u.put(tablePins, []byte(name), id.Bytes())
}

// Places returns the directories in which sessions of agents lie, and what each
// one is.
func (v *View) Places() map[string]string {
	places := map[string]string{}
	for dir, kind := range v.Table(tablePlaces).All() {
		places[string(dir)] = string(kind)
	}
	return places
}

// SetPlace keeps a directory in which sessions lie, if it is new; with no kind it
// forgets it.
func (u *Update) SetPlace(dir, kind string) error {
	if kind == "" {
		return u.remove(tablePlaces, []byte(dir))
	}
	known, err := u.Table(tablePlaces).Value([]byte(dir))
	if err == nil && string(known) == kind {
		return nil
	}
	if err != nil && !errors.Is(err, cas.ErrNotFound) {
		return err
	}
	return u.put(tablePlaces, []byte(dir), []byte(kind))
}

// Notice returns the paths that something was said of, nil if it was not said
// yet. One that cannot be read was not said: saying it again does no harm.
func (v *View) Notice(name string) (paths []Path) {
	if value, err := v.Table(tableNotices).Value([]byte(name)); err == nil {
		_ = json.Unmarshal(value, &paths)
	}
	return paths
}

// PutNotice keeps what was said, and of which paths.
func (u *Update) PutNotice(name string, paths []Path) error {
	value, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	return u.put(tableNotices, []byte(name), value)
}

// Cut takes paths that are purged out of everything that was said of them, and what
// match has out of what snapshots changed. Unsettled is called for each worktree in
// which a bisect stands open (package bisect) or an operation has not ended.
func (u *Update) Cut(gone map[string]bool, match func(path string) bool, unsettled func(root Path, birth string) error) error {
	if err := u.unsettled(unsettled); err != nil {
		return err
	}
	cut := map[string][]Path{}
	for name, value := range u.Table(tableNotices).All() {
		var paths []Path
		if json.Unmarshal(value, &paths) == nil {
			cut[string(name)] = slices.DeleteFunc(paths, func(p Path) bool { return gone[string(p)] })
		}
	}
	for name, paths := range cut {
		if err := u.PutNotice(name, paths); err != nil {
			return err
		}
	}
	return u.cutChanged(match)
}

func (v *View) leftoverKey(path string) []byte { return []byte(v.owner.Key + "\x00" + path) }

// Leftovers returns the temporary files of the owner's restores that could not
// be removed. It returns none if they were noted for another directory: in this
// one, files of these names may be anybody's.
func (v *View) Leftovers() ([]string, error) {
	w, ok, err := v.Worktree()
	if err != nil || !ok || v.madeFor(w.Birth) != forOwner {
		return nil, err
	}
	return v.leftovers(), nil
}

func (v *View) leftovers() (paths []string) {
	prefix := string(v.leftoverKey(""))
	for key := range v.Table(tableLeftovers).Prefix([]byte(prefix)) {
		paths = append(paths, strings.TrimPrefix(string(key), prefix))
	}
	return paths
}

// Leftover notes temporary files that could not be removed; gone: forgets those that
// are gone.
func (u *Update) Leftover(gone bool, paths ...string) error {
	for _, path := range paths {
		var err error
		if key := u.leftoverKey(path); gone {
			err = u.remove(tableLeftovers, key)
		} else {
			err = u.put(tableLeftovers, key, set)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
