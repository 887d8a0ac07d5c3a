package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/gitbridge/internal/gitref"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// A Ref is a name with what it stands for.
type Ref = gitref.Ref

// Refs returns the refs whose names begin with a prefix that ends in a slash, by
// name. Refs that are broken are left out and named by the error, which is then
// gitref.ErrCorrupt; the others are good all the same.
func (r *Repo) Refs(ctx context.Context, prefix string) ([]Ref, error) {
	if r.files() {
		return r.refs(nil).List(prefix)
	}
	out, err := r.git(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return nil, fmt.Errorf("refs below %s: %w", prefix, err)
	}
	var refs []Ref
	var broken []error
	for line := range strings.Lines(out) {
		digits, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		id, err := oid.Parse(digits)
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", name, gitref.ErrCorrupt))
			continue
		}
		refs = append(refs, Ref{Name: name, ID: id})
	}
	return refs, errors.Join(broken...)
}

// A Loose is an object in memory, to be written.
type Loose struct {
	Kind    oid.Kind
	Payload []byte
}

// CreateRef makes a ref in the format of another system, which must not exist:
// gitref.ErrMoved says that it does, gitref.ErrConflict that another ref's name
// lies in its way. The objects are written before it, the last of them is what
// it points to; whatever else they need must be in git. It is for what a user
// asked for by the name of that system, and for nothing else.
func (r *Repo) CreateRef(ctx context.Context, name string, objects []Loose) (oid.ID, error) {
	w, err := r.writer(&Job{})
	if err != nil {
		return oid.ID{}, fmt.Errorf("create %s: %w", name, err)
	}
	defer w.close()
	byID := map[oid.ID]Loose{}
	var ids []oid.ID
	var last oid.ID
	for _, o := range objects {
		last = r.Algorithm().Sum(o.Kind, o.Payload)
		if _, twice := byID[last]; !twice && !r.db.Freshen(last) {
			ids = append(ids, last)
		}
		byID[last] = o
	}
	source := func(id oid.ID) (Object, error) { return gitodb.Payload(byID[id].Kind, byID[id].Payload), nil }
	if err := w.write(ctx, ids, source); err != nil {
		return oid.ID{}, fmt.Errorf("create %s: %w", name, err)
	}
	return last, w.swap(ctx, gitref.Update{Name: name, New: last, Message: "snapshot", Time: time.Now()})
}
