package restic

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/remote/depot"
)

const password = "a password"

// made makes a repository in a directory.
func made(t *testing.T) (*Repo, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	p, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Init(t.Context(), p, password, true)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func reopened(t *testing.T, dir string) *Repo {
	t.Helper()
	p, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), p, password, nil)
	if err == nil {
		_, err = r.LoadIndex(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// oracle runs restic on a repository.
func oracle(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("restic"); err != nil {
		t.Skip("SKIPPED: restic is not installed, and nothing else can say what it reads")
	}
	cmd := exec.Command("restic", append([]string{"-r", dir, "--no-cache"}, args...)...)
	cmd.Env = append(os.Environ(), "RESTIC_PASSWORD="+password)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("restic %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// noise is bytes that no compression makes smaller, the same for the same seed.
func noise(seed uint64, n int) []byte {
	r, p := rand.New(rand.NewPCG(seed, 1)), make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

var hostNames = []string{"plain", "with space", "qu\"ote\\back", "ünï", "\xff\xfe", "tab\t", "-", "\x1b[31m"}

// filled writes a tree of every kind of node and returns its snapshot.
func filled(t *testing.T, r *Repo) (*Snapshot, map[string][]byte) {
	t.Helper()
	w := r.Writer(t.Context())
	defer w.Close()
	contents := map[string][]byte{"empty": nil, "small": []byte("text\n"), "noise": noise(1, 100_000), "large": append(noise(2, 3<<20), bytes.Repeat([]byte("z"), 2<<20)...)}
	for i, name := range hostNames {
		contents[name] = []byte(strings.Repeat(name, i))
	}
	var nodes []Node
	for name, p := range contents {
		ids, err := w.PutReader(bytes.NewReader(p), int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, Node{Name: name, Type: "file", Mode: 0o640, Size: int64(len(p)), Content: ids})
	}
	nodes = append(nodes, Node{Name: "link", Type: "symlink", Mode: os.ModeSymlink | 0o777, Target: "small"})
	sub, err := w.PutTree(nodes)
	if err != nil {
		t.Fatal(err)
	}
	top, err := w.PutTree([]Node{{Name: "files", Type: "dir", Mode: os.ModeDir | 0o755, Subtree: sub}})
	if err == nil {
		err = w.Flush()
	}
	s := &Snapshot{Time: time.Now(), Tree: top, Paths: []string{"/somewhere"}, Tags: []string{"rewind", "a,b"}}
	if err == nil {
		err = r.PutSnapshot(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, contents
}

func TestResticReadsWhatIsWritten(t *testing.T) {
	r, dir := made(t)
	_, contents := filled(t, r)
	if out := oracle(t, dir, "check", "--read-data"); !strings.Contains(out, "no errors were found") {
		t.Errorf("it finds errors: %s", out)
	}
	to := t.TempDir()
	oracle(t, dir, "restore", "latest", "--target", to)
	for name, want := range contents {
		path := filepath.Join(to, "files", name)
		got, err := os.ReadFile(path)
		info, _ := os.Stat(path)
		if err != nil || !bytes.Equal(got, want) || info.Mode().Perm() != 0o640 {
			t.Errorf("%q: %v, %v, %d bytes and not %d", name, err, info, len(got), len(want))
		}
	}
	if to, err := os.Readlink(filepath.Join(to, "files", "link")); to != "small" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if out := oracle(t, dir, "ls", "latest"); !strings.Contains(out, "/files/with space") {
		t.Errorf("it lists %s", out)
	}
	if out := oracle(t, dir, "snapshots"); !strings.Contains(out, "/somewhere") || !strings.Contains(out, "rewind") {
		t.Errorf("it lists %s", out)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	r, dir := made(t)
	s, contents := filled(t, r)
	r = reopened(t, dir)
	list, err := r.Snapshots(t.Context(), func(err error) { t.Error(err) })
	if err != nil || len(list) != 1 || list[0].ID != s.ID || list[0].Tree != s.Tree {
		t.Fatalf("%v %v", list, err)
	}
	top, err := r.GetTree(t.Context(), s.Tree)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := r.GetTree(t.Context(), top[0].Subtree)
	if err != nil || len(nodes) != len(contents)+1 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	for _, n := range nodes {
		if got, err := r.Content(t.Context(), &n, 1<<30); err != nil || !bytes.Equal(got, contents[n.Name]) {
			t.Errorf("%q has %d bytes, %v", n.Name, len(got), err)
		}
	}
}

func TestARepositoryOfResticIsReadAndWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	oracle(t, dir, "init", "--repository-version", "2")
	from := t.TempDir()
	large := append(noise(2, 9<<20), bytes.Repeat([]byte("z"), 2<<20)...) // longer than any chunk, however it is cut
	if err := os.WriteFile(filepath.Join(from, "large"), large, 0o600); err != nil {
		t.Fatal(err)
	}
	oracle(t, dir, "backup", from)
	r := reopened(t, dir)
	before, err := os.ReadDir(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	w := r.Writer(t.Context())
	defer w.Close()
	added := 0
	w.Added = func(int) { added++ }
	ids, err := w.PutReader(bytes.NewReader(large), int64(len(large)))
	if err == nil {
		err = w.Flush()
	}
	if err != nil || len(ids) < 2 || added != 0 {
		t.Errorf("%d blobs, of which %d are new to a repository that has the file: %v", len(ids), added, err)
	}
	after, err := os.ReadDir(filepath.Join(dir, "index"))
	if err != nil || len(after) != len(before) {
		t.Errorf("an index of nothing was written: %v %v", after, err)
	}
	filled(t, r)
	oracle(t, dir, "check", "--read-data")
}

func TestAnotherPasswordOpensNothing(t *testing.T) {
	_, dir := made(t)
	p, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), p, "another", nil); !errors.Is(err, ErrPassword) {
		t.Errorf("it says %v", err)
	}
	oracle(t, dir, "key", "add", "--new-password-file", write(t, "second"))
	if _, err := Open(t.Context(), p, "second", nil); err != nil {
		t.Errorf("a second key does not open it: %v", err)
	}
	empty, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), empty, password, nil); !errors.Is(err, ErrNone) {
		t.Errorf("of nothing it says %v", err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNoDamageIsReadAsIfItWereWhole flips, cuts and swaps every file of a repository.
func TestNoDamageIsReadAsIfItWereWhole(t *testing.T) {
	r, dir := made(t)
	s, contents := filled(t, r)
	var files []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		other := files[0]
		if path == other {
			other = files[1]
		}
		swapped, err := os.ReadFile(other)
		if err != nil {
			t.Fatal(err)
		}
		flipped := bytes.Clone(was)
		flipped[len(was)/2] ^= 4
		for how, now := range map[string][]byte{"flipped": flipped, "cut": was[:len(was)/2], "swapped": swapped, "empty": nil} {
			if err := os.WriteFile(path, now, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := readAll(t.Context(), dir, s, contents); err == nil {
				t.Errorf("%s, %s: nobody notices", path[len(dir):], how)
			}
		}
		if err := os.WriteFile(path, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := readAll(t.Context(), dir, s, contents); err != nil {
		t.Error(err)
	}
}

// readAll reads a repository to its end. What is not as it was written is an error by itself: other bytes that are
// read without one are a failure of the test.
func readAll(ctx context.Context, dir string, s *Snapshot, contents map[string][]byte) error {
	p, err := depot.Open(dir)
	if err != nil {
		return err
	}
	r, err := Open(ctx, p, password, nil)
	if err != nil {
		return err
	}
	if _, err := r.LoadIndex(ctx); err != nil {
		return err
	}
	var bad error
	list, err := r.Snapshots(ctx, func(err error) { bad = errors.Join(bad, err) })
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	if len(list) != 1 || list[0].ID != s.ID {
		panic("another snapshot was read")
	}
	if err := r.Verify(ctx, nil); err != nil {
		return err
	}
	top, err := r.GetTree(ctx, list[0].Tree)
	if err != nil {
		return err
	}
	nodes, err := r.GetTree(ctx, top[0].Subtree)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		got, err := r.Content(ctx, &n, 1<<30)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, contents[n.Name]) {
			panic("other bytes were read")
		}
	}
	return nil
}

func TestNamesOfATreeLeadNowhereElse(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", `a\x00`, `a\`, "/", `..\x2f`} {
		quoted := strings.ReplaceAll(name, `\`, `\\`)
		if _, err := parseTree(ID{}, []byte(`{"nodes":[{"name":"`+quoted+`","type":"file","content":[]}]}`)); !errors.Is(err, ErrTampered) {
			t.Errorf("%q is taken: %v", name, err)
		}
	}
	if _, err := parseTree(ID{}, []byte(`{"nodes":[{"name":"a","type":"file"},{"name":"a","type":"dir"}]}`)); !errors.Is(err, ErrTampered) {
		t.Errorf("a name that is there twice is taken: %v", err)
	}
}

// Digests, base64 and numbers repeat nothing, and have half their bytes all the same.
func TestTextThatRepeatsNothingGoesCompressed(t *testing.T) {
	r, _ := made(t)
	w := r.Writer(t.Context())
	defer w.Close()
	text, sealed := hex.AppendEncode(nil, noise(3, 4<<10)), 0
	w.Added = func(n int) { sealed += n }
	if _, err := w.Put(Data, text); err != nil {
		t.Fatal(err)
	}
	if sealed == 0 || sealed > len(text)*6/10 {
		t.Errorf("%d bytes of %d go", sealed, len(text))
	}
}
