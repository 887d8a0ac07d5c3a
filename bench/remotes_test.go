package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/bench/report"
	"github.com/seed-82afce7a/rewind/internal/s3test"
)

// No fake keeps a history elsewhere: this is rewind itself, and restic where there is one.
func TestEachKeepsItsHistoryElsewhereAndTheReportSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	fakeRewind(t, "") // skips where there is no git
	binary := filepath.Join(t.TempDir(), "rewind")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/seed-82afce7a/rewind/cmd/rewind").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		keepElsewhere(t, Options{Binary: binary, Contenders: []string{"rewind", "restic"}})
	})
	t.Run("S3", func(t *testing.T) {
		t.Parallel()
		server, err := s3test.Program("versitygw")
		if err != nil {
			t.Skip("SKIPPED: no server to push to: ", err)
		}
		keepElsewhere(t, Options{Binary: binary, S3: server, Latency: time.Millisecond, Contenders: []string{"rewind-nogit"}})
	})
}

// keepElsewhere runs the workload on a small corpus, and compares what it tells with what is there. To open a repository
// by a password that was given takes a second each time, so rewind makes its own.
func keepElsewhere(t *testing.T, o Options) {
	o.Files, o.Rounds, o.Turns = 64, 1, 3
	o, err := o.filled()
	if err != nil {
		t.Fatal(err)
	}
	chosen, absent := o.contenders(t.Context())
	for _, c := range absent {
		t.Log("not beside it: ", c.told.Absent)
	}
	st, err := newStage(t.Context(), o, place{dir: t.TempDir()}, chosen)
	if err != nil {
		t.Fatal(err)
	}
	ignored := filepath.Join(st.dir, "corpus", "tree", "out", "ignored") // which rewind does not record
	if err := firstError(os.MkdirAll(filepath.Dir(ignored), 0o755), os.WriteFile(ignored, []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	results, err := st.remotes(t.Context(), workload{name: "remote-own"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for _, r := range results {
		verbs = append(verbs, r.Verb)
		rounds, lines := 1, len(chosen)
		switch r.Verb {
		case "turns":
			rounds = 3
		case "first push", "turn":
			lines++ // rewind's with the snapshot
		}
		if len(r.Lines) != lines || r.Place == "" && o.S3 != "" {
			t.Errorf("%s: %d lines, want %d, on %q", r.Verb, len(r.Lines), lines, r.Place)
		}
		for _, l := range r.Lines {
			if len(l.Seconds) != rounds || l.Exact != report.Exact || l.Left != "" {
				t.Errorf("%s: %+v", r.Verb, l)
			}
			if n := len(l.Requests); o.S3 == "" && n != 0 || o.S3 != "" && (n != rounds || slices.Min(l.Requests) == 0) {
				t.Errorf("%s, %s: requests %v", r.Verb, l.Contender, l.Requests)
			}
			if r.Verb == "turn" && o.S3 != "" && strings.HasPrefix(l.Contender, "rewind") && l.Requests[0] != 8 { // docs/scale.md
				t.Errorf("%s: a turn's push made %d requests", l.Contender, l.Requests[0])
			}
		}
	}
	if want := []string{"first push", "turn", "resume", "turns"}; !slices.Equal(verbs, want) {
		t.Fatalf("measured %v", verbs)
	}
	for i, c := range chosen {
		sizesAre(t, results[3].Lines[i], filepath.Join(st.dir, "depot", map[bool]string{true: bucket}[o.S3 != ""], c.key))
	}
	if text, err := json.Marshal(results); err != nil || bytes.Contains(text, []byte(password)) {
		t.Errorf("the report has the password: %v", err)
	}
}

// sizesAre compares what a line tells of a repository with what du says of it.
func sizesAre(t *testing.T, l report.Line, repository string) {
	t.Helper()
	script := `cd "$1" && du -s --block-size=1 . | cut -f 1 && find . -type f -printf '%s\n' | awk '{n++; s += $1} END {print s; print n}'`
	out, err := exec.Command("sh", "-c", script, "sh", repository).Output()
	g := l.Growth[len(l.Growth)-1]
	if want := fmt.Sprintf("%d\n%d\n%d\n", g.Stored, g.Bytes, g.Files); err != nil || string(out) != want || g.Turn != 3 || g.Files < 8 {
		t.Errorf("%s: %+v, and there is\n%s(%v)", l.Contender, g, out, err)
	}
}

func TestAFrontCountsEachRequestOnceAndChangesNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	f, err := newFront(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer f.listener.Close()
	f.server = server.Listener.Addr().String()
	go f.serve()
	for i := range 5 {
		body := bytes.Repeat([]byte("HTTP/1.1\r\nis no request/"), i*5000)
		reply, err := http.Post("http://"+f.listener.Addr().String(), "", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if err != nil || !bytes.Equal(got, body) || int(f.requests.Load()) != i+1 {
			t.Errorf("%d bytes of %d came back, %d requests of %d: %v", len(got), len(body), f.requests.Load(), i+1, err)
		}
	}
	parts := requestCount{front: f}
	for _, b := range []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n") {
		parts.see([]byte{b})
	}
	if n := f.requests.Load(); n != 6 {
		t.Errorf("%d requests, of which one came byte by byte", n)
	}
}
