package gitbridge

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Weight returns the bytes of the files that we wrote among git's objects, and
// that are there still. What git has packed anew since is in files of its own,
// and not counted: to tell it apart the whole repository would have to be walked.
func (r *Repo) Weight() (bytes int64) {
	if r.own == "" {
		return 0
	}
	seen := map[oid.ID]bool{}
	for _, x := range r.allNotes().list {
		if x.kind != noteFound && r.ours(x) && !seen[x.id] {
			seen[x.id] = true
			bytes += r.db.LooseSize(x.id)
		}
	}
	return bytes + r.PacksWeight()
}

// PacksWeight is [Repo.Weight] without the objects that have files of their own, which
// are soon packed. It costs little.
func (r *Repo) PacksWeight() (bytes int64) {
	for _, p := range r.ownPacks() {
		bytes += r.db.PackSize(p.name)
	}
	return bytes
}

// DiskSize asks the git program how many of the objects git has, and what they
// take on disk. Of one that is kept as a difference from another that is the
// difference.
func (r *Repo) DiskSize(ctx context.Context, ids []oid.ID) (objects int, size int64, err error) {
	if len(ids) == 0 {
		return 0, 0, nil
	}
	var ask bytes.Buffer
	for _, id := range ids {
		fmt.Fprintln(&ask, id)
	}
	out, err := r.git(ctx, &ask, "cat-file", "--buffer", "--batch-check=%(objectsize:disk)")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(out) {
		if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil { // or else it is missing
			objects++
			size += n
		}
	}
	return objects, size, nil
}

// objectsOnly are the settings under which a collection does nothing but what
// frees objects: refs, reflogs, linked worktrees and remembered resolutions of
// conflicts stay as they are.
var objectsOnly = []string{
	"-c", "gc.packRefs=false", "-c", "gc.reflogExpire=never", "-c", "gc.reflogExpireUnreachable=never",
	"-c", "gc.worktreePruneExpire=never", "-c", "gc.rerereResolved=never", "-c", "gc.rerereUnresolved=never",
}

// Collect lets git collect (git gc), and returns what its objects took on disk
// before and take now. Git keeps what nothing refers to until it is older than
// gc.pruneExpire says: it may be anybody's. To run git repack and git prune one by one
// would not do, as what they must agree on changes with git's versions.
//
// It refuses where the configuration has a program that tells git what else to
// keep: nothing of the configuration is run, and without it git would delete that.
// It refuses too where objects lie behind a link: those that another repository needs,
// whose refs are not looked at here, would be deleted.
func (r *Repo) Collect(ctx context.Context) (before, after int64, err error) {
	if err := r.refuses(); err != nil {
		return 0, 0, err
	}
	conf, err := r.layout.Everything()
	if err != nil {
		return 0, 0, err
	}
	if hook, _ := conf.String("gc.recentobjectshook"); hook != "" {
		return 0, 0, fmt.Errorf("%w: gc.recentObjectsHook names a program that says what git is to keep, and rewind runs none: run \"git gc\" yourself", ErrUnsupportedRepository)
	}
	if links, err := r.db.Symlinks(); err != nil {
		return 0, 0, err
	} else if len(links) > 0 {
		return 0, 0, fmt.Errorf("%w: %s is a link, and what lies behind it may belong to another repository, whose objects git would delete: run \"git gc\" there", ErrUnsupportedRepository, links[0])
	}
	w, err := r.writer(&Job{})
	if err != nil {
		return 0, 0, err
	}
	w.db.ReleaseDead()
	if err := w.close(); err != nil {
		return 0, 0, err
	}
	if before, err = r.objectBytes(ctx); err != nil {
		return 0, 0, err
	}
	if _, err := r.git(ctx, nil, append(objectsOnly[:len(objectsOnly):len(objectsOnly)], "gc", "--quiet")...); err != nil {
		return 0, 0, err
	}
	r.db.Refresh()
	after, err = r.objectBytes(ctx)
	return before, after, err
}

// objectBytes asks git what its objects take on disk.
func (r *Repo) objectBytes(ctx context.Context) (total int64, err error) {
	out, err := r.git(ctx, nil, "count-objects", "-v")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name != "size" && name != "size-pack" && name != "size-garbage" {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("git count-objects: %q", line)
		}
		total += n << 10
	}
	return total, nil
}
