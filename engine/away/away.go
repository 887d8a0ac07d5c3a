// Package away brings snapshots into a repository of restic that lies elsewhere, and back with the same ids
// (docs/format-remote.md). What comes from there is not trusted: every object has to have its id.
//
// It knows which remotes a store has ([Remotes]), and opens one ([Session]). A password is the caller's business, and
// is kept nowhere.
package away

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/engine/internal/records"
	"github.com/seed-82afce7a/rewind/engine/internal/retention"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/depot"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// ErrTampered is reported of what a remote has, and is not what was written there.
var ErrTampered = restic.ErrTampered

// ErrNoRemote is reported for a name that no remote has, and where a name is needed.
var ErrNoRemote = errors.New("no such remote")

// A Remote is a repository elsewhere that a store brings its snapshots to.
type Remote struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Repo string `json:"repository,omitempty"` // which one it was when it was added
	Git  bool   `json:"git,omitempty"`        // it is a git repository; else one of restic
}

// A list is the file of the remotes of a store.
type list struct {
	History string   `json:"history,omitempty"` // which history the store goes on with; "": its own
	Begun   string   `json:"begun,omitempty"`   // a resume from this remote is under way, or was interrupted
	Remotes []Remote `json:"remotes"`

	Resuming oid.ID `json:"resuming,omitzero"` // the snapshot that it brings
}

const (
	folder   = "remotes" // beside the store
	listFile = "remotes.json"
	lockFile = "lock"
	listMost = 1 << 20
)

// ResumeLock lies in the store's directory. Who resumes into the worktree has it locked.
const ResumeLock = folder + "/resume"

// Remotes are those of one store. Its fields are for the engine, which makes one.
type Remotes struct {
	Dir      string // where the store lies
	Root     string // of the worktree
	Objects  *objects.Objects
	View     func(context.Context, func(*records.View) error) error
	Store    func(context.Context) (*cas.Store, error) // opens it, or makes it
	Owner    *records.Owner
	Place    func(url string) (depot.Place, error)
	Stamp    func() string                          // another one after each change of the store; "": it is gone
	Taken    func(context.Context) ([]Taken, error) // directories in which no remote is to lie
	Progress func(step string) func(done, total int)

	Identity func() string // who commits are by
	AtHome   bool          // what git does not keep stays here, whatever the remote is

	Limits  func(*retention.Options) *retention.Options                            // completes limits by what the settings say
	Bridge  func(context.Context) error                                            // brings into git what was fetched
	Begin   func(context.Context, oid.Algorithm) (fresh bool, err error)           // says how ids of a store are made that is not there yet; fresh: it is not, or is empty
	Fill    func(context.Context, *records.Snapshot, tree.Loader) (Filling, error) // begins to write a snapshot into the worktree, which is empty
	Restore func(context.Context, oid.ID) (*Written, error)                        // makes the worktree what a snapshot is
}

func (r *Remotes) at(name ...string) string {
	return filepath.Join(append([]string{r.Dir, folder}, name...)...)
}

func (r *Remotes) read() (l list, err error) {
	data, err := durable.ReadFile(r.at(listFile), listMost)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		err = fmt.Errorf("the list of remotes cannot be read: %w", err)
	}
	return l, err
}

// change changes the list of remotes.
func (r *Remotes) change(ctx context.Context, f func(*list) error) error {
	if err := durable.MakeDir(r.at()); err != nil {
		return err
	}
	lock, err := durable.Lock(ctx, r.at(lockFile), durable.Exclusive)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	l, err := r.read()
	if err == nil {
		err = f(&l)
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(l, "", "\t")
	if err != nil {
		return err
	}
	return durable.WriteFile(r.at(listFile), append(text, '\n'), 0o600)
}

// List returns the remotes.
func (r *Remotes) List() ([]Remote, error) {
	l, err := r.read()
	return l.Remotes, err
}

// Find returns the remote of a name; "" is the only one there is.
func (r *Remotes) Find(name string) (Remote, error) {
	l, err := r.read()
	if err != nil {
		return Remote{}, err
	}
	for _, m := range l.Remotes {
		if m.Name == name || name == "" && len(l.Remotes) == 1 {
			return m, nil
		}
	}
	var names []string
	for _, m := range l.Remotes {
		names = append(names, m.Name)
	}
	switch {
	case len(names) == 0:
		return Remote{}, fmt.Errorf("%w: there is none yet (\"rewind remote add NAME URL\" adds one)", ErrNoRemote)
	case name == "":
		return Remote{}, fmt.Errorf("%w: say which, %s", ErrNoRemote, strings.Join(names, " or "))
	}
	return Remote{}, fmt.Errorf("%w: %q is not among %s", ErrNoRemote, name, strings.Join(names, ", "))
}

// isName reports whether a text is a name for a remote.
func isName(text string) bool {
	for i, c := range text {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._-", c)) {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// Check refuses a remote that cannot be added: its name is taken or none, or its URL must not be written down or
// names no place.
func (r *Remotes) Check(ctx context.Context, m Remote) error {
	if !isName(m.Name) {
		return fmt.Errorf("%w: %q is no name for a remote: letters, digits, dots, dashes", records.ErrRefused, m.Name)
	}
	l, err := r.read()
	if err != nil {
		return err
	}
	if err := l.free(m.Name); err != nil {
		return err
	}
	if err := keepable("the URL", m.URL, m.Git); err != nil {
		return err
	}
	if err := r.elsewhere(ctx, m); err != nil || m.Git {
		return err
	}
	_, err = r.Place(m.URL)
	return err
}

// free refuses a name that a remote has.
func (l *list) free(name string) error {
	if i := slices.IndexFunc(l.Remotes, func(o Remote) bool { return o.Name == name }); i >= 0 {
		return fmt.Errorf("%w: %q is there already, and is %s (\"rewind remote remove %s\" forgets it)", records.ErrRefused, name, l.Remotes[i].URL, name)
	}
	return nil
}

// Add notes a remote that was opened.
func (r *Remotes) Add(ctx context.Context, m Remote, s *Session) error {
	if err := r.Check(ctx, m); err != nil {
		return err
	}
	m.Repo = s.id
	return r.change(ctx, func(l *list) error {
		if err := l.free(m.Name); err != nil {
			return err
		}
		l.Remotes = append(l.Remotes, m)
		return nil
	})
}

// Remove forgets a remote, and what is known of it. What is there stays there.
func (r *Remotes) Remove(ctx context.Context, name string) error {
	m, err := r.Find(name)
	if err != nil {
		return err
	}
	return r.change(ctx, func(l *list) error {
		l.Remotes = slices.DeleteFunc(l.Remotes, func(o Remote) bool { return o.Name == name })
		if m.Repo == "" || slices.ContainsFunc(l.Remotes, func(o Remote) bool { return o.Repo == m.Repo }) {
			return nil
		}
		dir := r.cacheOf(m.Repo)
		if err := durable.CheckDir(dir); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		}
		lock, err := durable.Lock(ctx, filepath.Join(dir, lockFile), durable.Exclusive) // a push may be at work
		if err != nil {
			return err
		}
		defer lock.Unlock()
		return errors.Join(durable.LetGo(lock), os.RemoveAll(dir))
	})
}

// History names the history of the store.
func (r *Remotes) History(ctx context.Context) (string, error) {
	l, err := r.read()
	if err != nil || l.History != "" {
		return l.History, err
	}
	s, err := r.Store(ctx)
	if err != nil {
		return "", err
	}
	id := s.ID()
	return hex.EncodeToString(id[:]), nil
}

// A cache keeps files of a repository below a directory, as they are there: sealed. One that
// cannot be kept is read again.
type cache struct{ dir string }

func (c cache) at(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

// Load returns a file.
func (c cache) Load(name string) ([]byte, bool) {
	data, err := durable.ReadFile(c.at(name), 1<<30)
	return data, err == nil
}

// Store keeps a file.
func (c cache) Store(name string, data []byte) {
	if durable.MakeDir(filepath.Dir(c.at(name))) != nil {
		return
	}
	if old, err := durable.ReadFile(c.at(name), int64(len(data))); err == nil && string(old) == string(data) {
		return
	}
	_ = durable.WriteFile(c.at(name), data, 0o600)
}

// A Session is an open repository.
type Session struct {
	id    string       // of the repository
	repo  *restic.Repo // nil: it is a git remote
	git   *gitSession
	cache string       // the directory of what is known of it; "": there is none
	sure  bool         // that it is the one that was known, and is there
	disk  bool         // it is in a directory, whose disk may be taken away at any time
	lock  *restic.Lock // of a push
}

// Exists reports whether there is a repository, as far as can be told without a password. One of git has to be there.
func (r *Remotes) Exists(ctx context.Context, m Remote) (bool, error) {
	if m.Git {
		return existsGit(ctx, m)
	}
	p, err := r.Place(m.URL)
	if err != nil {
		return false, err
	}
	_, err = p.Get(ctx, "config", 0, 1)
	if errors.Is(err, depot.ErrNotThere) {
		return false, nil
	}
	return err == nil, err
}

// Make makes a repository where there is none. Random says that the password is of [NewPassword]. If somebody else was
// first, that one is there.
func (r *Remotes) Make(ctx context.Context, m Remote, password string, random bool) error {
	p, err := r.Place(m.URL)
	if err == nil {
		_, err = restic.Init(ctx, p, password, random)
	}
	if errors.Is(err, depot.ErrExists) {
		return nil
	}
	return err
}

// NewPassword makes a password that nobody can guess.
func NewPassword() string { return restic.NewPassword() }

// cacheOf names the directory of what is known of a repository.
func (r *Remotes) cacheOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return r.at(hex.EncodeToString(sum[:8]))
}

func (r *Remotes) session(repo *restic.Repo) *Session {
	dir := r.cacheOf(repo.ID())
	repo.Keep(cache{dir})
	return &Session{id: repo.ID(), repo: repo, cache: dir}
}

// Close releases what is open.
func (s *Session) Close() error {
	if s.git != nil {
		return s.git.remote.Close()
	}
	return nil
}

// Open opens a remote of the store. One that was added has to be the repository that it was then.
func (r *Remotes) Open(ctx context.Context, m Remote, password string) (*Session, error) {
	s, err := r.OpenToPush(ctx, m, password)
	if err == nil && !s.sure {
		s.sure = true
		err = m.located(s.repo.Check(ctx)) // the cache opens it also where it is not: a disk may be away
	}
	return s, err
}

// located says where an error happened, if it does not.
func (m Remote) located(err error) error {
	if err == nil || strings.Contains(err.Error(), m.URL) {
		return err
	}
	if errors.Is(err, ErrTampered) && m.Repo != "" {
		return fmt.Errorf("%s: %w: is it another repository than the one that was added? \"rewind remote remove %s\" and adding it again would take that", m.URL, err, m.Name)
	}
	return fmt.Errorf("%s: %w", m.URL, err)
}

// OpenToPush opens a remote for pushes alone: where each request costs, the list of the index, which a push reads, has
// to show that it is the one that was known.
func (r *Remotes) OpenToPush(ctx context.Context, m Remote, password string) (*Session, error) {
	if m.Git {
		return r.openGit(ctx, m, false)
	}
	p, err := r.Place(m.URL)
	if err != nil {
		return nil, err
	}
	var kept restic.Cache
	if m.Repo != "" {
		kept = cache{r.cacheOf(m.Repo)}
	}
	repo, err := restic.Open(ctx, p, password, kept)
	sure, disk := kept == nil, !strings.HasPrefix(m.URL, "s3:")
	if err == nil && !sure && disk {
		sure, err = true, repo.Check(ctx)
	}
	if err == nil && m.Repo != "" && repo.ID() != m.Repo {
		err = ErrTampered
	}
	if err != nil {
		return nil, m.located(err)
	}
	s := r.session(repo)
	s.sure, s.disk = sure, disk
	return s, nil
}
