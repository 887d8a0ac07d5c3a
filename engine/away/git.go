package away

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// Names in the tree of a machine's ref (docs/format-remote.md).
const (
	hostName      = "host"
	snapshotsName = "snapshots"
	hostMost      = 255
)

// A gitSession is an open git remote.
type gitSession struct {
	remote *gitbridge.Remote
	alg    oid.Algorithm
	own    string                // the ref of this store; "": it has none
	at     map[restic.ID]gitSnap // of the snapshots that were listed
}

// A gitSnap is where a snapshot lies in a git remote.
type gitSnap struct {
	ref  string
	tree oid.ID
	text []byte // its record
}

// repoOf names a git remote as the id of a restic repository does.
func repoOf(url string) string {
	sum := sha256.Sum256([]byte("git " + url))
	return hex.EncodeToString(sum[:])
}

// openGit opens a git remote. Any says that a store may be of another kind than what is there: for a resume.
func (r *Remotes) openGit(ctx context.Context, m Remote, any bool) (*Session, error) {
	id := repoOf(m.URL)
	s := &Session{cache: r.cacheOf(id), id: id, sure: true, git: &gitSession{alg: r.Objects.Algorithm}}
	if err := durable.MakeDir(s.cache); err != nil {
		return nil, err
	}
	if any {
		tips, err := gitbridge.ListRemote(ctx, s.cache, m.URL)
		if err != nil {
			return nil, err
		}
		if s.git.alg = oid.SHA1; len(tips) > 0 && slices.Collect(maps.Values(tips))[0].Len() == oid.SHA256.Size() {
			s.git.alg = oid.SHA256
		}
	}
	if s.git.alg == oid.BLAKE3 {
		return nil, fmt.Errorf("%w: a git remote is for the history of a git repository, and %s is none", records.ErrRefused, r.Root)
	}
	borrow := ""
	if r.Objects.Git != nil {
		borrow = r.Objects.Git.Layout().Objects
	}
	var err error
	s.git.remote, err = gitbridge.OpenRemote(ctx, filepath.Join(s.cache, "git-"+s.git.alg.String()), m.URL, s.git.alg, borrow)
	if err == nil {
		s.git.remote.Progress = r.Progress
	}
	return s, err
}

// ref is the ref of a store.
func (r *Remotes) ref(ctx context.Context) (string, error) {
	s, err := r.Store(ctx)
	if err != nil {
		return "", err
	}
	id := s.ID()
	return gitbridge.RemotePrefix + hex.EncodeToString(id[:]), nil
}

// entries reads a tree.
func (g *gitSession) entries(id oid.ID) (map[string]tree.Entry, error) {
	out := map[string]tree.Entry{}
	if id.IsZero() || id == g.alg.Sum(oid.Tree, nil) {
		return out, nil
	}
	payload, err := g.object(oid.Tree, id)
	if err != nil {
		return nil, err
	}
	list, err := tree.Decode(payload, g.alg)
	if err != nil {
		return nil, tampered("tree %v: %v", id, err)
	}
	for _, e := range list {
		out[e.Name] = e
	}
	return out, nil
}

// object reads an object of a kind, which has its id.
func (g *gitSession) object(want oid.Kind, id oid.ID) ([]byte, error) {
	if want == oid.Tree && id == g.alg.Sum(oid.Tree, nil) {
		return nil, nil
	}
	kind, payload, err := g.remote.Objects().Read(id)
	switch {
	case errors.Is(err, gitodb.ErrNotFound), errors.Is(err, gitodb.ErrCorrupt), errors.Is(err, gitodb.ErrTooLarge):
		return nil, tampered("object %v: %v", id, err)
	case err == nil && kind != want:
		return nil, tampered("object %v is a %v, no %v", id, kind, want)
	}
	return payload, err
}

// small reads a content of a tree.
func (g *gitSession) small(at map[string]tree.Entry, name string) ([]byte, error) {
	e, ok := at[name]
	if !ok || e.Mode.Type() != tree.File {
		return nil, tampered("a snapshot has no file %q", name)
	}
	return g.object(oid.Blob, e.ID)
}

// top reads the tree of a commit.
func (g *gitSession) top(commit oid.ID) (map[string]tree.Entry, error) {
	payload, err := g.object(oid.Commit, commit)
	if err != nil {
		return nil, err
	}
	c, err := gitbridge.DecodeCommit(payload, g.alg)
	if err != nil {
		return nil, tampered("commit %v: %v", commit, err)
	}
	return g.entries(c.Tree)
}

// list fetches the refs of all machines, and lists the snapshots there, newest first.
func (g *gitSession) list(ctx context.Context, bad func(error)) ([]*Distant, error) {
	if err := g.remote.Fetch(ctx, ""); err != nil {
		return nil, err
	}
	tips, err := g.remote.Tips(ctx)
	if err != nil {
		return nil, err
	}
	g.at = map[restic.ID]gitSnap{}
	var all []*restic.Snapshot
	for _, ref := range slices.Sorted(maps.Keys(tips)) {
		err := g.listRef(ctx, ref, tips[ref], func(s *restic.Snapshot, err error) {
			if err != nil {
				bad(fmt.Errorf("%s: %w", ref, err))
				return
			}
			all = append(all, s)
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			bad(fmt.Errorf("%s: %w", ref, err))
		}
	}
	return ours(all), nil
}

// listRef lists the snapshots of one machine.
func (g *gitSession) listRef(ctx context.Context, ref string, tip oid.ID, told func(*restic.Snapshot, error)) error {
	top, err := g.top(tip)
	if err != nil {
		return err
	}
	host, err := g.small(top, hostName)
	if err != nil {
		return err
	}
	fans, err := g.entries(top[snapshotsName].ID)
	if err != nil {
		return err
	}
	for _, fan := range slices.Sorted(maps.Keys(fans)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, err := g.entries(fans[fan].ID)
		if err != nil {
			told(nil, err)
			continue
		}
		for _, rest := range slices.Sorted(maps.Keys(list)) {
			told(g.listed(ref, string(host[:min(len(host), hostMost)]), fan+rest, list[rest].ID))
		}
	}
	return nil
}

// listed makes of a snapshot there what a restic repository would have of it.
func (g *gitSession) listed(ref, host, name string, at oid.ID) (*restic.Snapshot, error) {
	id, err := oid.Parse(name)
	if err != nil || id.Len() != g.alg.Size() {
		return nil, tampered("%q is no snapshot", name)
	}
	files, err := g.entries(at)
	if err != nil {
		return nil, err
	}
	text, err := g.small(files, recordName)
	if err != nil {
		return nil, err
	}
	var rec record
	if err := json.Unmarshal(text, &rec); err != nil || rec.Snapshot == nil || rec.Snapshot.ID != id {
		return nil, tampered("the record of snapshot %v cannot be read: %v", id.Short(), err)
	}
	s := &restic.Snapshot{ID: sha256.Sum256([]byte(ref + " " + at.String())), Time: rec.Snapshot.Time, Hostname: strings.ToValidUTF8(host, "?"),
		Paths: []string{strings.ToValidUTF8(string(rec.Root), "?")}, Tags: tagsOf(rec.Snapshot, rec)}
	s.Tree = s.ID
	g.at[s.ID] = gitSnap{ref: ref, tree: at, text: text}
	return s, nil
}

// existsGit asks for the refs there.
func existsGit(ctx context.Context, m Remote) (bool, error) {
	dir, err := os.MkdirTemp("", "rewind-remote-")
	if err != nil {
		return false, err
	}
	defer os.Remove(dir)
	_, err = gitbridge.ListRemote(ctx, dir, m.URL)
	return err == nil, err
}
