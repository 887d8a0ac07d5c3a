package depot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/s3test"
)

// secretless fails if a text has what nobody may see.
func secretless(t *testing.T, text string) {
	t.Helper()
	for _, s := range []string{s3test.Secret, "proxypass", "sessiontokenofmine"} {
		if strings.Contains(text, s) {
			t.Errorf("a secret is in %q", text)
		}
	}
}

func code(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>the \x1b[31mserver %s says so</Message></Error>", code, "sessiontokenofmine")
}

// cut sends the beginning of an answer, and closes the connection.
func cut(w http.ResponseWriter, header http.Header, status int, body []byte) {
	for name, v := range header {
		w.Header()[name] = v
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
	panic(http.ErrAbortHandler)
}

// recorded asks the server behind, and returns its answer.
func recorded(r *http.Request, next http.Handler) *answered {
	a := &answered{head: http.Header{}, status: 200}
	next.ServeHTTP(a, r)
	return a
}

type answered struct {
	head   http.Header
	status int
	body   bytes.Buffer
}

func (a *answered) Header() http.Header         { return a.head }
func (a *answered) WriteHeader(status int)      { a.status = status }
func (a *answered) Write(p []byte) (int, error) { return a.body.Write(p) }

// A fault is an answer that is none.
type fault = func(w http.ResponseWriter, r *http.Request, next http.Handler)

// faults are what servers and networks do for a while.
var faults = map[string]fault{
	"500":      func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { code(w, 500, "InternalError") },
	"slowdown": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { code(w, 503, "SlowDown") },
	"proxy":    func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(502) },
	"conflict": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		code(w, 409, "ConditionalRequestConflict")
	},
	"timeout": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { code(w, 400, "RequestTimeout") },
	"closed":  func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
	"done and closed": func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		recorded(r, next)
		panic(http.ErrAbortHandler)
	},
	"cut": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := recorded(r, next)
		a.head.Set("Content-Length", fmt.Sprint(a.body.Len()+5))
		cut(w, a.head, a.status, a.body.Bytes())
	},
	"stalled": func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() },
	"another part": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := recorded(r, next)
		if a.status != 206 {
			code(w, 503, "SlowDown")
			return
		}
		w.Header().Set("Content-Range", "bytes 0-3/20")
		w.WriteHeader(206)
		_, _ = w.Write([]byte("0123"))
	},
	"a short part": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("Range") == "" {
			code(w, 503, "SlowDown")
			return
		}
		w.Header().Set("Content-Range", "bytes 4-5/20")
		w.WriteHeader(206)
		_, _ = w.Write([]byte("45"))
	},
}

// TestWhatAServerDoesWrongIsAskedForAgain has servers that fail twice at each request, each in a way of its own.
func TestWhatAServerDoesWrongIsAskedForAgain(t *testing.T) {
	hurry(t)
	server := s3test.Start(t, "gofakes3")
	for name, wrong := range faults {
		t.Run(name, func(t *testing.T) {
			seen, mu := map[string]int{}, sync.Mutex{}
			front := s3test.NewFront(t, server, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				mu.Lock()
				seen[r.Method+r.URL.String()]++
				n := seen[r.Method+r.URL.String()]
				mu.Unlock()
				if n <= 2 {
					wrong(w, r, next)
					return
				}
				next.ServeHTTP(w, r)
			})
			p, ctx := at(t, front.URL), context.Background()
			file := "data/" + strings.ReplaceAll(name, " ", "")
			if err := p.Put(ctx, file, []byte("0123456789abcdefghij")); err != nil {
				t.Fatal(err)
			}
			if asked := front.Asked(); len(asked) < 3 || len(asked) > 6 {
				t.Errorf("asked %q", asked)
			}
			if got, err := p.Get(ctx, file, 4, 8); err != nil || string(got) != "456789ab" {
				t.Errorf("read %q, %v", got, err)
			}
			if list, err := p.List(ctx, "data"); err != nil || !slices.ContainsFunc(list, func(f File) bool { return "data/"+f.Name == file }) {
				t.Errorf("list %v, %v", list, err)
			}
			if err := p.Delete(ctx, file); err != nil {
				t.Error(err)
			}
			if _, err := p.Get(ctx, file, 0, 0); !errors.Is(err, ErrNotThere) {
				t.Errorf("after the deletion: %v", err)
			}
		})
	}
}
