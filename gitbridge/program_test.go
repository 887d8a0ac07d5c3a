package gitbridge

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// newerGit is a git program that does what git 2.54 does when a ref moves: it
// runs the commands of hook.NAME.command whose hook.NAME.event is
// reference-transaction, unless hook.NAME.enabled or the event's is false, and
// refuses the update if one fails.
const newerGit = `settings=""
for a; do
	case "$a" in
	update-ref)
		[ "$(git config --bool hook.reference-transaction.enabled)" = false ] && EVENT_OFF=1
		git config --name-only --get-regexp '^hook\..*\.event$' reference-transaction | while read -r key; do
			name=${key%.event}
			[ "$(git config --bool "$name.enabled")" = false ] && [ -z "$NO_NAMES" ] && continue
			[ -n "$EVENT_OFF" ] && [ -z "$NO_EVENTS" ] && continue
			sh -c "$(git config "$name.command")" || exit 1
		done || exit 1 ;;
	esac
done
exec git "$@"
`

// TestHooksOfTheConfigurationDoNotRun: where the git program moves the ref, as in
// a reftable repository. One that fails would leave every snapshot pending.
// Either setting is enough by itself: which of them a version of git knows is
// not relied on.
func TestHooksOfTheConfigurationDoNotRun(t *testing.T) {
	gittest.Slashes(t) // its git is a shell script
	for _, unknown := range []string{"NO_NAMES", "NO_EVENTS", "NONE"} {
		r := newRepo(t, oid.SHA1)
		ran := filepath.Join(t.TempDir(), "ran")
		for _, name := range []string{"mine", "with = and .dots", "global"} {
			where := []string{"config"}
			if name == "global" {
				t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "config"))
				where = append(where, "--global")
			}
			r.Git(append(where, "hook."+name+".event", "reference-transaction")...)
			r.Git(append(where, "hook."+name+".command", "echo '"+name+"' >>'"+ran+"'; exit 1")...)
		}
		t.Setenv(unknown, "1")
		b := r.open()
		b.layout.RefStorage = "reftable"
		b.program = r.Script(".git/newer", newerGit)
		first, second := r.snapshot(b, 1, many(3)), r.snapshot(b, 2, many(4))
		r.bridge(b, first)
		r.bridge(b, second)
		r.wantChain(b, first, second)
		if p, err := os.ReadFile(ran); err == nil {
			t.Errorf("%s: hooks ran: %s", unknown, p)
		}
		os.Unsetenv(unknown)
	}
	// The program of this test would run them.
	r := newRepo(t, oid.SHA1)
	r.Git("config", "hook.mine.event", "reference-transaction")
	r.Git("config", "hook.mine.command", "exit 1")
	cmd := exec.Command(r.Script(".git/newer", newerGit), "update-ref", "refs/heads/x", "HEAD")
	if cmd.Dir = r.Dir; cmd.Run() == nil {
		t.Error("the hook did not run where nothing stops it")
	}
}

// TestABranchIsAskedOfTheProgramWhereRefsAreNotFiles: a condition on it decides
// about settings; that it may be asked while the settings are being read is no
// circle.
func TestABranchIsAskedOfTheProgramWhereRefsAreNotFiles(t *testing.T) {
	gittest.Slashes(t) // its git is a shell script
	r := newRepo(t, oid.SHA1)
	r.Write("inc", "[core]\n\tautocrlf = input\n")
	r.Git("config", "includeIf.onbranch:topic/.path", r.Path("inc"))
	r.Git("commit", "-q", "--allow-empty", "-m", "m")
	r.Git("checkout", "-q", "-b", "topic/x")
	for _, want := range []string{"input", ""} {
		b := r.open()
		b.layout.RefStorage = "reftable"
		r.Write(".git/real", r.Git("symbolic-ref", "-q", "HEAD"))
		// In such a repository the file HEAD says nothing; the program knows.
		program := r.Script(".git/asked", "case \"$*\" in *symbolic-ref*) cat '"+r.Path(".git", "real")+"';; *) git \"$@\";; esac")
		head, err := os.ReadFile(r.Path(".git", "HEAD"))
		if err != nil {
			t.Fatal(err)
		}
		r.Write(".git/HEAD", "ref: refs/heads/.invalid\n")
		b.program = program
		c, err := b.Config()
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := c.String("core.autocrlf"); got != want {
			t.Errorf("core.autocrlf is %q, want %q", got, want)
		}
		r.Write(".git/HEAD", string(head))
		r.Git("checkout", "-q", "-B", "other")
	}
}

// TestWhatTheProgramIsGivenRunsNothing: it may not fetch either, for that runs
// what the configuration names.
func TestWhatTheProgramIsGivenRunsNothing(t *testing.T) {
	env := strings.Join(programEnv([]string{"GIT_DIR=x", "GIT_REFERENCE_BACKEND=files:///x", "GIT_CONFIG_PARAMETERS='a.b=c'", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_GLOBAL=/g", "HOME=/h"}), " ")
	for _, want := range []string{"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=-", "GIT_CONFIG_GLOBAL=/g", "HOME=/h"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is not in %s", want, env)
		}
	}
	for _, not := range []string{"GIT_DIR", "BACKEND", "PARAMETERS", "COUNT"} {
		if strings.Contains(env, not) {
			t.Errorf("%s is in %s", not, env)
		}
	}
}

// TestWhatGitWouldNotSeeIsNotSaidToBeInGit: objects and refs that would be in the
// wrong place, or refused, are not written at all.
func TestWhatGitWouldNotSeeIsNotSaidToBeInGit(t *testing.T) {
	for want, peculiar := range map[string]func(r *repo) *Repo{
		"GIT_REFERENCE_BACKEND=reftable": func(r *repo) *Repo {
			t.Setenv("GIT_REFERENCE_BACKEND", "reftable")
			return r.open()
		},
		"GIT_REFERENCE_BACKEND=files:///tmp/elsewhere": func(r *repo) *Repo {
			t.Setenv("GIT_REFERENCE_BACKEND", "files:///tmp/elsewhere")
			return r.open()
		},
		"extensions.compatObjectFormat = sha256": func(r *repo) *Repo {
			r.Git("config", "core.repositoryFormatVersion", "1")
			r.Git("config", "extensions.compatObjectFormat", "sha256")
			return r.open()
		},
		"refstorage": func(r *repo) *Repo { // this git does not know it, and refuses
			r.Git("config", "core.repositoryFormatVersion", "1")
			r.Git("config", "extensions.refStorage", "files:///tmp/elsewhere")
			return r.open()
		},
	} {
		t.Run(want, func(t *testing.T) {
			r := newRepo(t, oid.SHA1)
			b := peculiar(r)
			os.Unsetenv("GIT_REFERENCE_BACKEND")
			_, err := b.Bridge(context.Background(), r.snapshot(b, 1, many(3)))
			if !errors.Is(err, ErrUnsupportedRepository) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want ErrUnsupportedRepository and why", err)
			}
			if found, _ := filepath.Glob(r.Path(".git", "refs", "pi-rewind", "*")); len(found) > 0 {
				t.Errorf("written: %q", found)
			}
		})
	}
	for _, same := range []string{"files", "files://", ""} {
		r := newRepo(t, oid.SHA1)
		t.Setenv("GIT_REFERENCE_BACKEND", same)
		b := r.open()
		os.Unsetenv("GIT_REFERENCE_BACKEND")
		s := r.snapshot(b, 1, many(3))
		r.bridge(b, s)
		r.wantChain(b, s)
	}
}
