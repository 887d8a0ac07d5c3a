// Package s3test starts servers that speak S3, for tests: programs that others made, at the versions of tools/s3.
package s3test

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a server knows.
const (
	Key    = "AKIDFORTESTS"
	Secret = "a-secret-that-nobody/may+see"
	Bucket = "history"
)

// Servers are those that Start knows. The first checks no signature, and is built in seconds.
var Servers = []string{"gofakes3", "versitygw"}

// Program builds a server, and says where it is.
func Program(server string) (string, error) {
	_, self, _, _ := runtime.Caller(0)
	find := exec.Command("go", "tool", "-n", server)
	find.Dir = filepath.Join(filepath.Dir(self), "../../tools/s3")
	out, err := find.CombinedOutput()
	program := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("%s cannot be built: %w: %.300s", server, err, out)
	}
	return program[strings.LastIndexByte(program, '\n')+1:], nil // behind what was downloaded
}

// Run starts a server that keeps its files below a directory, or in memory, and returns its URL.
func Run(server, dir string) (at string, stop func(), err error) {
	program, err := Program(server)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	host := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program, "-backend", "memory", "-host", host, "-initialbucket", Bucket)
	if server == "versitygw" {
		if err := os.MkdirAll(filepath.Join(dir, Bucket), 0o700); err != nil {
			return "", nil, err
		}
		cmd = exec.Command(program, "--port", host, "posix", dir)
	}
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+Key, "ROOT_SECRET_KEY="+Secret)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	for range 1000 {
		c, err := net.Dial("tcp", host)
		if err == nil {
			_ = c.Close()
			return "http://" + host, stop, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("%s does not listen", server)
}

// Start starts a server for a test, with its keys in the environment, and returns its URL. Where it is not to be had
// the test is skipped.
func Start(t testing.TB, server string) string {
	t.Helper()
	at, stop, err := Run(server, t.TempDir())
	if err != nil {
		t.Skipf("SKIPPED: no server to test with: %v", err)
	}
	t.Cleanup(stop)
	Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
	return at
}

// Alone lets nothing of the user's or the machine's say who asks, and where.
func Alone(t testing.TB) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// A Front stands before a server: it counts what is asked, and may answer instead.
type Front struct {
	URL string

	mu      sync.Mutex
	asked   []string
	instead func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

// NewFront starts one. What of instead is nil goes on to the server.
func NewFront(t testing.TB, server string, instead func(w http.ResponseWriter, r *http.Request, next http.Handler)) *Front {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	f := &Front{instead: instead}
	next := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked = append(f.asked, r.Method+" "+r.URL.Path+"?"+r.URL.Query().Get("prefix"))
		instead := f.instead
		f.mu.Unlock()
		if instead == nil {
			next.ServeHTTP(w, r)
			return
		}
		instead(w, r, next)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	f.URL = "http://" + l.Addr().String()
	return f
}

// Asked returns what was asked since the last time.
func (f *Front) Asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.asked
	f.asked = nil
	return out
}

// StartTLS starts a server with a certificate that nobody knows, which it returns.
func StartTLS(t testing.TB, f http.HandlerFunc) (at string, certificate []byte) {
	t.Helper()
	s := httptest.NewTLSServer(f)
	t.Cleanup(s.Close)
	return s.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}
