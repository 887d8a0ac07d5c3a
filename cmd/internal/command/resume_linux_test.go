package command

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/s3test"
)

// A stop lets so many answers pass, and kills whoever asks for the next.
type stop struct {
	mu    sync.Mutex
	left  int
	kills *exec.Cmd
	asked int
	bytes int64
}

func (s *stop) answer(w http.ResponseWriter, r *http.Request, next http.Handler) {
	s.mu.Lock()
	s.asked++
	if s.left--; s.left == 0 && s.kills != nil {
		_ = s.kills.Process.Kill()
	}
	s.mu.Unlock()
	next.ServeHTTP(&counting{w, s}, r)
}

type counting struct {
	http.ResponseWriter
	of *stop
}

func (c *counting) Write(p []byte) (int, error) {
	c.of.mu.Lock()
	c.of.bytes += int64(len(p))
	c.of.mu.Unlock()
	return c.ResponseWriter.Write(p)
}

// during runs a command that is killed with its n-th request; 0: with none.
func (s *stop) during(t *testing.T, n int, cmd *exec.Cmd) error {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	s.mu.Lock()
	s.left, s.asked, s.bytes = n, 0, 0
	if s.kills = nil; n > 0 {
		s.kills = cmd
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.mu.Unlock()
	err := cmd.Wait()
	if err != nil && n == 0 {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out.String())
	}
	return err
}

// TestAResumeThatIsKilledGoesOn kills one with one of its requests after another, in a directory where no git is to be had.
// Begun again it ends, and reads less.
func TestAResumeThatIsKilledGoesOn(t *testing.T) {
	s := &stop{}
	front := s3test.NewFront(t, s3test.Start(t, "gofakes3"), s.answer)
	g := newGround(t)
	for i := range 40 {
		put(t, g.dir, inDir(t, g.dir, fmt.Sprintf("d%d/e%d", i%8, i))+"/f", strings.Repeat(fmt.Sprint("line ", i, "\n"), 40+i))
	}
	put(t, g.dir, "large", strings.Repeat("0123456789abcde\n", 1<<17))
	url := "s3:" + front.URL + "/" + s3test.Bucket + "/killed"
	for _, args := range [][]string{{"snapshot"}, {"remote", "add", "cloud", url}, {"push"}} {
		if out, errs, exit := g.does(args...); exit != 0 {
			t.Fatal(args, out, errs)
		}
	}
	want := g.json("list", "--limit", "1")["snapshots"].([]any)[0].(map[string]any)["id"].(string)

	g.dir = t.TempDir()
	in := func(n int) (*exec.Cmd, string) {
		to := filepath.Join(g.dir, fmt.Sprint("to", n))
		cmd := g.command("resume", url, to)
		cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(g.dir, fmt.Sprint("state", n)), "PATH="+filepath.Dir(cmd.Path))
		return cmd, to
	}
	whole, to := in(0)
	_ = s.during(t, 0, whole)
	all, bytes := s.asked, s.bytes
	contents := textsOf(t, to)
	killed, spared := 0, 0
	for n := 1; n <= all; n += max(1, all/5) {
		cmd, to := in(n)
		if s.during(t, n, cmd) == nil {
			continue // it had all it needed
		}
		killed++
		again, _ := in(n)
		_ = s.during(t, 0, again)
		if got := textsOf(t, to); got != contents {
			t.Errorf("killed with request %d of %d, and begun again, it has other files", n, all)
		}
		if s.bytes < bytes {
			spared++
		}
		cmd = g.command("list", "--limit", "1", "--json")
		cmd.Dir, cmd.Env = to, again.Env
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("killed with request %d, its history is %s, %v", n, out, err)
		}
	}
	if killed < 3 || spared == 0 {
		t.Errorf("%d of the resumes were killed, and %d of those that went on read less than all", killed, spared)
	}
}

// textsOf has the names of all files below a directory, with what is in them.
func textsOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", strings.TrimPrefix(path, dir), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func inDir(t *testing.T, dir, name string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}
