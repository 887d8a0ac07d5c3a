package gitbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/visible"
)

// RemotePrefix begins the names of the refs that machines keep in a git repository elsewhere, one each.
const RemotePrefix = "refs/pi-rewind/remote/"

// A Remote is a git repository elsewhere, and a bare one of ours here that has what is brought there and from there. The
// git program speaks with the host: as the user's own configuration says, with their credential helpers and their ssh.
// Nothing of a worktree's repository counts or is touched: settings, hooks, refs.
type Remote struct {
	URL      string
	Progress func(step string) func(done, total int) // is told of objects that go or come; nil, or what it returns: nobody is
	dir      string
	db       *gitodb.DB
}

// OpenRemote opens the bare repository in dir, which is made if it is not there and may be deleted at any time. Borrow
// is a directory of objects that need not be written again, "" for none.
func OpenRemote(ctx context.Context, dir, url string, alg oid.Algorithm, borrow string) (r *Remote, err error) {
	r = &Remote{URL: url, dir: dir}
	if strings.ContainsAny(borrow, "\n\"") {
		borrow = "" // its name has a form of its own there
	}
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		if err := durable.MakeDir(dir); err != nil {
			return nil, err
		}
		if _, err := r.run(ctx, "init", "--bare", "--quiet", "--template=", "--object-format="+alg.String()); err != nil {
			return nil, err
		}
	}
	info := filepath.Join(dir, "objects", "info")
	if err := durable.MakeDir(info); err != nil {
		return nil, err
	}
	if borrow != "" {
		err = durable.WriteFile(filepath.Join(info, "alternates"), []byte(borrow+"\n"), 0o600)
	} else if err = os.Remove(filepath.Join(info, "alternates")); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		r.db, err = gitodb.Open(filepath.Join(dir, "objects"), alg, nil)
	}
	return r, err
}

// Close releases what is open.
func (r *Remote) Close() error { return r.db.Close() }

// Objects are those of the bare repository, and those that it borrows.
func (r *Remote) Objects() *gitodb.DB { return r.db }

// run runs the git program in the bare repository.
func (r *Remote) run(ctx context.Context, args ...string) (string, error) {
	return networked(ctx, r.dir, nil, append([]string{"--git-dir=" + r.dir}, args...)...)
}

// moves is run for a command that brings objects somewhere, and takes long where they are many.
func (r *Remote) moves(ctx context.Context, step string, args ...string) (string, error) {
	var told func(done, total int)
	if r.Progress != nil {
		told = r.Progress(step)
	}
	how := "--quiet"
	if told != nil {
		how = "--progress"
	}
	return networked(ctx, r.dir, told, append([]string{"--git-dir=" + r.dir, step, how}, args...)...)
}

// quiet are settings that a user's own configuration may have, and that are not meant here.
var quiet = []string{"core.hooksPath=/dev/null", "gc.autoDetach=false", "maintenance.autoDetach=false", "push.pushOption=", "push.negotiate=false",
	"fetch.writeCommitGraph=false", "fetch.bundleURI=", "transfer.bundleURI=false", "core.fsmonitor=false", "core.logAllRefUpdates=false",
	"http.lowSpeedLimit=100", "http.lowSpeedTime=120"}

// networked runs the git program, which may speak with other machines.
func networked(ctx context.Context, dir string, told func(done, total int), args ...string) (string, error) {
	all := []string{"--no-pager"}
	for _, s := range quiet {
		all = append(all, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, networkEnv(os.Environ(), dir), 5*time.Second
	out, complaint := &bounded{most: 64 << 20}, &meter{bounded: bounded{most: 64 << 10}, told: told}
	cmd.Stdout, cmd.Stderr = out, complaint
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.cut && err == nil:
		return "", fmt.Errorf("git %s: the host has more refs of ours than anybody makes", args[0])
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("a git remote needs the git program, which is not installed: %w", err)
	case err != nil:
		if strings.HasPrefix(args[0], "--git-dir") {
			args = args[1:]
		}
		return out.String(), &programError{args[0], visible.Line(strings.Join(strings.Fields(complaint.rest()+" "+rejected(out.String())), " ")), err}
	}
	return out.String(), nil
}

// bounded keeps the beginning of what a program says: the host has a say in that.
type bounded struct {
	kept []byte // no buffer that can read by itself: who copies would go past Write
	most int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	left := min(b.most-len(b.kept), len(p))
	b.cut = b.cut || left < len(p)
	b.kept = append(b.kept, p[:left]...)
	return len(p), nil
}

func (b *bounded) String() string { return string(b.kept) }

// rejected are the lines of a push that say what was refused (git-push(1), --porcelain).
func rejected(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "!") {
			lines = append(lines, line[1:])
		}
	}
	return strings.Join(lines, " ")
}

// networkEnv is an environment for a git program that speaks with other machines. It has what says how, nothing that
// says which repository; no other protocols than git's own, as a list of remotes may have come along with an archive; and
// asks nobody for a password: a credential helper and the ssh agent know it.
func networkEnv(env []string, dir string) (out []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "GIT_") || slices.Contains(keptEnv, name) || slices.ContainsFunc(networkVars, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, v)
		}
	}
	return append(out, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
}

var networkVars = []string{"GIT_SSH", "GIT_ASKPASS", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_PARAMETERS"}

// ListRemote returns the refs that machines keep in a repository elsewhere. Dir is a directory that is no repository, and
// in none that counts.
func ListRemote(ctx context.Context, dir, url string) (map[string]oid.ID, error) {
	out, err := networked(ctx, dir, nil, "ls-remote", "--refs", "--", url, RemotePrefix+"*")
	if err != nil {
		return nil, said(url, err)
	}
	refs := map[string]oid.ID{}
	for line := range strings.Lines(out) {
		digits, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		id, err := oid.Parse(digits)
		if err == nil && isMachine(strings.TrimPrefix(name, RemotePrefix)) {
			refs[name] = id
		}
	}
	return refs, nil
}

// isMachine reports whether a text may be the name of a machine's ref, which is the id of a store.
func isMachine(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// Tips returns the refs of machines as they were there when they were fetched or pushed last.
func (r *Remote) Tips(ctx context.Context) (map[string]oid.ID, error) {
	out, err := r.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", RemotePrefix)
	if err != nil {
		return nil, err
	}
	refs := map[string]oid.ID{}
	for line := range strings.Lines(out) {
		digits, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if id, err := oid.Parse(digits); err == nil {
			refs[name] = id
		}
	}
	return refs, nil
}

// Fetch brings the refs of machines here with all that they need; "" are all.
func (r *Remote) Fetch(ctx context.Context, name string) error {
	args := []string{"--no-write-fetch-head", "--no-tags", "--force", "--recurse-submodules=no"}
	if name == "" {
		name, args = RemotePrefix+"*", append(args, "--prune")
	}
	_, err := r.moves(ctx, "fetch", append(args, "--", r.URL, "+"+name+":"+name)...)
	r.db.Refresh()
	return said(r.URL, err)
}

// Write writes objects that are not there.
func (r *Remote) Write(ctx context.Context, ids []oid.ID, source gitodb.Source) error {
	ids = slices.DeleteFunc(slices.Clone(ids), r.db.Has)
	_, err := r.db.WritePack(ctx, ids, source)
	return err
}

// ErrMovedThere is reported of a push to a ref that is another one than was expected: nothing was changed.
var ErrMovedThere = errors.New("another program has moved the ref there")

// Push makes a ref there name a commit, whose objects are here, if it names old; zero: if there is none.
func (r *Remote) Push(ctx context.Context, name string, old, to oid.ID) error {
	was := ""
	if !old.IsZero() {
		was = old.String()
	}
	_, err := r.moves(ctx, "push", "--no-verify", "--porcelain", "--no-signed", "--no-follow-tags", "--recurse-submodules=no",
		"--force-with-lease="+name+":"+was, "--", r.URL, to.String()+":"+name)
	if err != nil {
		return said(r.URL, err)
	}
	if _, err := r.run(ctx, "update-ref", name, to.String()); err != nil {
		return err
	}
	_, err = r.run(ctx, "gc", "--auto", "--quiet")
	r.db.Refresh()
	return err
}

// Forget drops a ref here, which is not there any more.
func (r *Remote) Forget(ctx context.Context, name string) error {
	_, err := r.run(ctx, "update-ref", "-d", name)
	return err
}

// sayings are what git and the usual hosts say, and what it means.
var sayings = []struct {
	words []string
	means string
}{
	{[]string{"stale info", "fetch first", "non-fast-forward"}, ""},
	{[]string{"Could not resolve host", "Connection refused", "Connection timed out", "Network is unreachable", "No route to host", "unable to connect"}, "the host cannot be reached"},
	{[]string{"Permission denied", "could not read Username", "could not read Password", "Authentication failed", "Invalid username", "error: 401", "error: 403", "Host key verification failed"},
		"the host does not let this user in: git has to reach it without a question, by a credential helper or the ssh agent"},
	{[]string{"certificate"}, "the host's certificate is not trusted: http.sslCAInfo of git's configuration names one that is"},
	{[]string{"No space left on device", "Disk quota exceeded"}, "a disk is full, here or there: make room, and try again"},
	{[]string{"alternate object path", "info/alternates"}, "a directory of objects that is borrowed (objects/info/alternates) is missing, here or there"},
	{[]string{"does not appear to be a git repository", "Repository not found", "repository not found", "does not exist", "' not found"}, "there is no git repository"},
	{[]string{"remote rejected", "hook declined", "hidden ref", "rejected"}, "the host refuses what is pushed"},
	{[]string{"mismatched algorithms", "object-format", "object format"}, "the repository there makes its ids in another way than this one"},
}

// said says in a sentence what the git program met, with its own words behind.
func said(url string, err error) error {
	e, ok := err.(*programError)
	if !ok {
		return err
	}
	for _, s := range sayings {
		switch {
		case !e.has(s.words):
		case s.means == "":
			return fmt.Errorf("%s: %w", url, ErrMovedThere)
		default:
			return fmt.Errorf("%s: %s (%w)", url, s.means, err)
		}
	}
	return fmt.Errorf("%s: %w", url, err)
}

// has reports whether git has said one of some words.
func (e *programError) has(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(e.complaint, w) })
}

// damages is what git says of objects that the host cannot read, or that it has sent and are not what they should be.
var damages = []string{"possible repository corruption", "is corrupt", "corrupt loose object", "inflate returned", "error: inflate:", "not our ref", "bad object",
	"did not send all necessary objects", "unresolved deltas", "hash mismatch"}

// Damaged reports whether a fetch into an empty repository has failed for what the host has: git says so of objects, and
// nothing of the way there or of a disk. A connection that ends early is no damage. Of a repository that has objects, they
// may be what git means.
func Damaged(err error) bool {
	e := (*programError)(nil)
	if !errors.As(err, &e) || !e.has(damages) {
		return false
	}
	for _, s := range sayings {
		if e.has(s.words) {
			return false
		}
	}
	return true
}
