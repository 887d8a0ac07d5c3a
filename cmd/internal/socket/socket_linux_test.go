package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const somebody = 12345

// TestMain lets the test be another process, or another user's.
func TestMain(m *testing.M) {
	switch path := os.Getenv("SOCKET_TEST_PATH"); os.Getenv("SOCKET_TEST_ROLE") {
	case "": // the test itself
	case "serve":
		p, err := Open(only(path), true)
		if err == nil {
			var l *Listener
			if l, err = Listen(p, os.Getenv("SOCKET_TEST_DIR"), "p"); err == nil {
				fmt.Println("ready, told:", l.Stirs() != nil)
				l.Serve(context.Background(), echo)
			}
		}
		fmt.Println(err)
		os.Exit(1)
	case "listen":
		l, err := net.Listen("unix", path)
		fmt.Println("ready", err)
		if err == nil {
			c, _ := l.Accept()
			_, _ = io.Copy(io.Discard, c)
		}
		os.Exit(0)
	case "ask":
		c, err := net.Dial("unix", path)
		if err == nil {
			_ = writeFrame(c, []byte("hello"), patience)
			said, _ := io.ReadAll(c)
			fmt.Printf("ready heard %q\n", said)
		}
		fmt.Println("ready", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func only(runtime string) func(string) string {
	return func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": runtime}[name]
	}
}

// role starts the test as another process, and returns its first line.
func role(t *testing.T, uid uint32, env ...string) (*exec.Cmd, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if uid != 0 { // others may not enter where the test was built
		open := filepath.Join(reachable(t), "test")
		text, err := os.ReadFile(self)
		must(t, err, os.WriteFile(open, text, 0o755))
		self = open
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), env...)
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		cmd.Dir = "/"
	}
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := make([]byte, 200)
	n, _ := out.Read(line)
	return cmd, strings.TrimSpace(string(line[:n]))
}

// reachable is a directory that every user may enter.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "rewind-socket-test-")
	must(t, err, os.Chmod(dir, 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can be another user")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func echo(_ context.Context, r *Request) { _ = r.Say(append([]byte("heard "), r.Body...)) }

// runtime is a runtime directory.
func runtime(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	return dir
}

func place(t *testing.T, runtime string, create bool) *Place {
	t.Helper()
	p, err := Open(only(runtime), create)
	must(t, err)
	return p
}

// serving serves dir in a goroutine.
func serving(t *testing.T, runtime, dir string, handle func(context.Context, *Request)) *Listener {
	t.Helper()
	l, err := Listen(place(t, runtime, true), dir, "p")
	must(t, err)
	end := make(chan struct{})
	go func() { l.Serve(context.Background(), handle); close(end) }()
	t.Cleanup(func() { l.Close(); <-end })
	return l
}

func dial(t *testing.T, runtime, dir, program string) (*Conn, error) {
	t.Helper()
	p := place(t, runtime, false)
	defer p.Close()
	c, err := Dial(context.Background(), p, dir, program)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// ask asks something, and returns all that is said.
func ask(t *testing.T, runtime, dir, what string) string {
	t.Helper()
	c, err := dial(t, runtime, dir, "p")
	must(t, err, c.Send([]byte(what)))
	c.patience = time.Minute // that a machine is busy is no fault
	said, err := c.Next()
	must(t, err)
	if _, err := c.Next(); err != io.EOF {
		t.Errorf("behind the answer: %v", err)
	}
	return string(said)
}

func TestOneServesAndOthersAsk(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	below := filepath.Join(dir, "a", "b")
	must(t, os.MkdirAll(below, 0o755))
	if _, err := Open(only(run), false); !errors.Is(err, ErrNone) {
		t.Errorf("before there is a place: %v", err)
	}
	l := serving(t, run, dir, echo)
	if got := ask(t, run, dir, "one"); got != "heard one" {
		t.Error(got)
	}
	if got := ask(t, run, below, "two"); got != "heard two" {
		t.Errorf("from a directory below: %s", got)
	}
	for path, want := range map[string]os.FileMode{"rewind": 0o700, "rewind/" + l.name: 0o600} {
		info, err := os.Lstat(filepath.Join(run, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
	if _, err := Listen(place(t, run, true), dir, "another version"); !errors.Is(err, ErrTaken) {
		t.Errorf("a second one: %v", err)
	}
	for _, c := range [][2]string{{dir, "another version"}, {filepath.Dir(dir), "p"}} {
		if _, err := dial(t, run, c[0], c[1]); !errors.Is(err, ErrNone) {
			t.Errorf("%s of %q: %v", c[0], c[1], err)
		}
	}
	if !l.Stands() {
		t.Error("it does not stand")
	}
	must(t, l.Close())
	if list, _ := os.ReadDir(filepath.Join(run, "rewind")); len(list) > 0 {
		t.Errorf("it leaves %v", list)
	}
	if _, err := dial(t, run, dir, "p"); !errors.Is(err, ErrNone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAnotherDirectoryOfTheSameNameIsNotServed(t *testing.T) {
	run, dir := runtime(t), filepath.Join(t.TempDir(), "d")
	must(t, os.Mkdir(dir, 0o755))
	serving(t, run, dir, echo)
	before, err := Key(dir)
	must(t, err, os.Rename(dir, dir+" moved"), os.Mkdir(dir, 0o755))
	if after, err := Key(dir); err != nil || after == before {
		t.Fatalf("both are %s, %v", after, err)
	}
	if _, err := dial(t, run, dir, "p"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func TestAPlaceThatIsNotOursAloneIsRefused(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"a link":        func(path string) error { return os.Symlink(t.TempDir(), path) },
		"a file":        func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"open to group": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o710)) },
		"open to all":   func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) },
	} {
		run := runtime(t)
		must(t, make(filepath.Join(run, "rewind")))
		for _, create := range []bool{false, true} {
			if _, err := Open(only(run), create); !errors.Is(err, ErrUnable) {
				t.Errorf("%s, create %v: %v", what, create, err)
			}
		}
	}
}

func TestAPlaceOfAnotherUserIsRefused(t *testing.T) {
	needRoot(t)
	run := runtime(t)
	must(t, os.Mkdir(filepath.Join(run, "rewind"), 0o700), os.Chown(filepath.Join(run, "rewind"), somebody, somebody))
	if _, err := Open(only(run), true); !errors.Is(err, ErrUnable) || !strings.Contains(err.Error(), "another user (12345)") {
		t.Error(err)
	}
	// A runtime directory of another user, as su leaves it in the environment, is none.
	theirs, temporary := runtime(t), t.TempDir()
	must(t, os.Chown(theirs, somebody, somebody))
	p, err := Open(func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": theirs, "TMPDIR": temporary}[name]
	}, true)
	must(t, err)
	defer p.Close()
	if p.path != filepath.Join(temporary, "rewind-0") {
		t.Errorf("it is at %s", p.path)
	}
	// And one whom others let in first, in a directory where everybody writes.
	must(t, os.Remove(p.path), os.Mkdir(p.path, 0o700), os.Chown(p.path, somebody, somebody))
	if _, err := Open(func(name string) string { return map[string]string{"TMPDIR": temporary}[name] }, true); !errors.Is(err, ErrUnable) {
		t.Error(err)
	}
}

func TestAnotherUserIsNotAnswered(t *testing.T) {
	needRoot(t)
	run := reachable(t)
	must(t, os.Chmod(run, 0o700))
	asked := make(chan string, 10)
	l := serving(t, run, t.TempDir(), func(_ context.Context, r *Request) { asked <- string(r.Body) })
	for _, path := range []string{"", "rewind", "rewind/" + l.name} { // somebody has opened all doors since
		must(t, os.Chmod(filepath.Join(run, path), 0o777))
	}
	_, line := role(t, somebody, "SOCKET_TEST_ROLE=ask", "SOCKET_TEST_PATH="+filepath.Join(run, "rewind", l.name))
	if !strings.HasPrefix(line, `ready heard ""`) {
		t.Errorf("the other user: %s", line)
	}
	if len(asked) > 0 {
		t.Errorf("it was carried out: %s", <-asked)
	}
}

func TestASocketOfAnotherUserIsNotAsked(t *testing.T) {
	needRoot(t)
	run, dir := reachable(t), t.TempDir()
	p := place(t, run, true)
	defer p.Close()
	theirs := reachable(t)
	must(t, os.Chmod(theirs, 0o777))
	path := filepath.Join(theirs, "s")
	if _, line := role(t, somebody, "SOCKET_TEST_ROLE=listen", "SOCKET_TEST_PATH="+path); line != "ready <nil>" {
		t.Fatal(line)
	}
	key, err := Key(dir)
	must(t, err)
	name := filepath.Join(p.path, socketName(key, "p"))
	must(t, os.Symlink(path, name))
	if _, err := dial(t, run, dir, "p"); !errors.Is(err, ErrNone) {
		t.Errorf("a link to it: %v", err)
	}
	// Even if it is where ours should be, and has our name on it.
	must(t, os.Remove(name), os.Link(path, name), os.Chown(name, 0, 0))
	if _, err := dial(t, run, dir, "p"); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "another user's (12345)") {
		t.Error(err)
	}
}

func TestOneClaimsADirectory(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	p := place(t, run, true)
	defer p.Close()
	release, err := p.Claim(dir, "watch")
	must(t, err)
	if _, err := p.Claim(dir, "watch"); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	release()
	release, err = p.Claim(dir, "watch")
	must(t, err)
	release()
}

func TestASocketThatWasTakenAwayDoesNotStand(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	l := serving(t, run, dir, echo)
	must(t, os.Rename(filepath.Join(run, "rewind"), filepath.Join(run, "else")))
	if l.Stands() {
		t.Error("it stands in a place that was moved")
	}
	must(t, os.Rename(filepath.Join(run, "else"), filepath.Join(run, "rewind")))
	if !l.Stands() {
		t.Error("it does not stand")
	}
	must(t, os.RemoveAll(filepath.Join(run, "rewind")))
	if l.Stands() {
		t.Error("it stands")
	}
}

func TestADirectoryThatWasMadeInTheSameMomentHasAnotherKey(t *testing.T) {
	base := t.TempDir()
	one, other, away := filepath.Join(base, "one"), filepath.Join(base, "other"), filepath.Join(base, "away")
	for range 20 { // one grain is some milliseconds
		must(t, os.Mkdir(one, 0o700), os.Mkdir(other, 0o700))
		was, err := Key(one)
		must(t, err, os.Rename(one, away), os.Rename(other, one))
		is, err := Key(one)
		must(t, err)
		if was == is {
			t.Fatal("a directory that took the place of another one has its key")
		}
		must(t, os.Remove(one), os.Remove(away))
	}
}

// Who gives something back and goes may be gone before the other side has said the next
// time that it is alive.
func TestWhatAClientSaysLastIsHeardThoughItIsGone(t *testing.T) {
	run, dir := runtime(t), t.TempDir()
	heard := make(chan string, 1)
	serving(t, run, dir, func(_ context.Context, r *Request) {
		for r.Say([]byte("more")) == nil {
		}
		heard <- string(r.Hear(patience))
	})
	for range 50 {
		c, err := dial(t, run, dir, "p")
		must(t, err, c.Send([]byte("request")))
		_, err = c.Next()
		must(t, err, c.Send([]byte("given back")), c.Close())
		if got := <-heard; got != "given back" {
			t.Fatalf("heard %q", got)
		}
	}
}
