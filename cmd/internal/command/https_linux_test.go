package command

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"io/fs"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

const secret = "s3cret-of-the-host"

// A gitHost serves the repositories of a directory by https, to a user who knows the secret.
type gitHost struct {
	*httptest.Server
	let, shut atomic.Int64
}

func newGitHost(t *testing.T, dir string) *gitHost {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, bad := os.Stat(backend); err != nil || bad != nil {
		t.Skipf("SKIPPED: git has no http-backend here, so no host is tried by https: %v %v", err, bad)
	}
	h := &gitHost{}
	serve := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=me", "GIT_CONFIG_GLOBAL=/dev/null"}}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != secret {
			h.shut.Add(1)
			w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		h.let.Add(1)
		serve.ServeHTTP(w, r)
	}))
	h.Config.ErrorLog = log.New(&bytes.Buffer{}, "", 0) // of those who do not trust it
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

// configured gives a user a configuration of git.
func (g *ground) configured(text string) *ground {
	g.t.Helper()
	o, name := *g, filepath.Join(g.t.TempDir(), "gitconfig")
	put(g.t, filepath.Dir(name), "gitconfig", text)
	o.env = append(slices.Clone(g.env), "GIT_CONFIG_GLOBAL="+name)
	return &o
}

// keepsNoSecret looks for the password in what was printed, and in all files below some directories.
func keepsNoSecret(t *testing.T, said string, dirs ...string) {
	t.Helper()
	words := [][]byte{[]byte(secret), []byte(base64.StdEncoding.EncodeToString([]byte("me:" + secret)))}
	look := func(where string, text []byte) {
		for _, w := range words {
			if bytes.Contains(text, w) {
				t.Errorf("the password is in %s", where)
			}
		}
	}
	look("what was printed: "+said, []byte(said))
	files := 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			files++
			look(path, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 10 {
		t.Errorf("only %d files were looked at", files)
	}
}

// The user's own git configuration says whom to trust and who knows the password, as for git itself.
func TestAHostIsReachedByHttpsAsTheUsersGitReachesIt(t *testing.T) {
	for _, name := range []string{"GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY"} { // they would count for more
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	there := t.TempDir()
	host := newGitHost(t, there)
	plain := newGround(t)
	must(t, exec.Command("git", "init", "-q", "--bare", "there.git"), there, plain.env)
	top := t.TempDir()
	ca, kept := filepath.Join(top, "ca.pem"), filepath.Join(top, "credentials")
	put(t, top, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})))
	put(t, top, "credentials", "https://me:"+secret+"@"+strings.TrimPrefix(host.URL, "https://")+"\n")
	trusts := "[http]\n\tsslCAInfo = " + ca + "\n"
	g := plain.configured(trusts + "[credential]\n\thelper = store --file=" + kept + "\n")
	url := host.URL + "/there.git"
	said := ""
	does := func(g *ground, want int, args ...string) string {
		t.Helper()
		out, errs, exit := g.does(args...)
		said += out + errs
		if exit != want {
			t.Errorf("%v ends with %d: %s%s", args, exit, out, errs)
		}
		return out + errs
	}
	wants := func(text, what string) {
		t.Helper()
		if !strings.Contains(text, what) {
			t.Errorf("%q is not in %s", what, text)
		}
	}
	does(g, 0, "snapshot")
	wants(does(plain, 1, "remote", "add", "--yes", "host", url), "the host's certificate is not trusted")
	wants(does(plain.configured(trusts), 1, "remote", "add", "--yes", "host", url), "the host does not let this user in")
	wants(does(g, 2, "remote", "add", "--yes", "host", strings.Replace(url, "https://", "https://me:"+secret+"@", 1)), "would be written down")
	does(g, 0, "remote", "add", "--yes", "host", url)
	wants(does(g, 0, "push"), "pushed 1 snapshot to host")

	other := *g
	other.dir = filepath.Join(t.TempDir(), "other")
	state := t.TempDir()
	other.env = append(slices.Clone(g.env), "XDG_STATE_HOME="+state)
	in := other
	in.dir = top
	does(&in, 0, "resume", url, other.dir)
	has(t, other.dir, "f1", "file 1")
	put(t, other.dir, "f1", "edited elsewhere")
	does(&other, 0, "snapshot", "-m", "elsewhere")
	does(&other, 0, "push")
	wants(does(g, 0, "fetch"), "fetched 1 snapshot from host")
	wants(does(g, 0, "list", "--all"), "elsewhere")
	does(g, 0, "remote", "verify")

	put(t, top, "credentials", "https://me:old-"+secret[:3]+"@"+strings.TrimPrefix(host.URL, "https://")+"\n")
	put(t, g.dir, "f1", "edited here")
	does(g, 0, "snapshot")
	wants(does(g, 1, "push"), "the host does not let this user in")
	if host.let.Load() < 6 || host.shut.Load() < 3 {
		t.Errorf("the host let in %d requests, and refused %d", host.let.Load(), host.shut.Load())
	}
	keepsNoSecret(t, said, g.dir, other.dir, state, homeOf(g.env), g.run)
}

// What a host gives out as a token stands where a user does. The URL leads to a repository here, so that nothing but the
// refusal keeps it away.
func TestATokenInAURLIsRefusedAndWrittenNowhere(t *testing.T) {
	plain, there := newGround(t), filepath.Join(t.TempDir(), "there.git")
	must(t, exec.Command("git", "init", "-q", "--bare", there), plain.dir, plain.env)
	url := "https://" + secret + "@host.example/there.git"
	g := plain.configured("[url \"" + there + "\"]\n\tinsteadOf = " + url + "\n\tinsteadOf = ssh://git@host.example/there.git\n")
	g.json("snapshot")
	must(t, exec.Command("git", "remote", "add", "named", url), g.dir, g.env)
	said, work := "", filepath.Join(t.TempDir(), "work")
	for want, all := range map[string][][]string{
		"refused: the URL has a name or a password in it": {{"remote", "add", "tok", url, "--yes"}, {"remote", "add", "tok", strings.Replace(url, "https", "http", 1), "--yes"},
			{"remote", "add", "tok", "https://" + secret + "@host.example:/a%zz", "--yes"}, {"remote", "add", "tok", "ssh://git:" + secret + "@host.example/there.git", "--yes"},
			{"resume", url, work}, {"list", "--remote", url}},
		"the URL of git's remote \"named\" has a name or a password in it": {{"remote", "add", "tok", "named", "--yes"}},
	} {
		for _, args := range all {
			out, errs, exit := g.does(args...)
			said += out + errs
			if exit == 0 || !strings.Contains(errs, want) || !strings.Contains(errs, "git's credential helper can hold both") {
				t.Errorf("%v ends with %d: %s", args, exit, errs)
			}
		}
	}
	if out, errs, exit := g.does("remote", "add", "ssh", "ssh://git@host.example/there.git", "--yes"); exit != 0 {
		t.Errorf("the user of ssh is refused: %s%s", out, errs)
	}
	must(t, exec.Command("git", "remote", "remove", "named"), g.dir, g.env)
	keepsNoSecret(t, said, g.dir, homeOf(g.env), g.run)
}
