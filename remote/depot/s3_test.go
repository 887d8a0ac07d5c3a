package depot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/s3test"
)

// each calls a test for each server.
func each(t *testing.T, f func(t *testing.T, server string)) {
	for _, name := range s3test.Servers {
		t.Run(name, func(t *testing.T) { f(t, s3test.Start(t, name)) })
	}
}

func at(t *testing.T, server string) Place {
	t.Helper()
	p, err := Open("s3:" + server + "/" + s3test.Bucket + "/a folder+of%mine")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hurry makes all waits short.
func hurry(t *testing.T) {
	first, most, stalls := waitFirst, waitMost, stallsMost
	t.Cleanup(func() { waitFirst, waitMost, stallsMost = first, most, stalls })
	waitFirst, waitMost, stallsMost = time.Millisecond, 4*time.Millisecond, 300*time.Millisecond
}

// TestEveryPlaceKeepsFiles holds what Place promises, of a directory too.
func TestEveryPlaceKeepsFiles(t *testing.T) {
	t.Run("directory", func(t *testing.T) { keepsFiles(t, &dir{root: filepath.Join(t.TempDir(), "d")}) })
	each(t, func(t *testing.T, server string) { keepsFiles(t, at(t, server)) })
}

func keepsFiles(t *testing.T, p Place) {
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(p.Put(ctx, "index/one", []byte("0123456789")))
	if err := p.Put(ctx, "index/one", []byte("other")); !errors.Is(err, ErrExists) {
		t.Errorf("a second put of a name is %v", err)
	}
	for _, c := range []struct {
		from, length int64
		want         string
	}{{0, 0, "0123456789"}, {0, 4, "0123"}, {3, 4, "3456"}, {8, 10, "89"}, {10, 5, ""}, {20, 5, ""}, {4, 0, "456789"}} {
		got, err := p.Get(ctx, "index/one", c.from, c.length)
		must(err)
		if string(got) != c.want {
			t.Errorf("from %d %d bytes are %q, want %q", c.from, c.length, got, c.want)
		}
	}
	if _, err := p.Get(ctx, "index/none", 0, 0); !errors.Is(err, ErrNotThere) {
		t.Errorf("what is not there is %v", err)
	}
	must(p.Put(ctx, "data/ab/abc", nil))
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	must(p.Put(ctx, "data/cd/large", large))
	got, err := p.Get(ctx, "data/cd/large", 5<<20, 4<<20)
	must(err)
	if !bytes.Equal(got, large[5<<20:9<<20]) {
		t.Error("a part of a large file differs")
	}
	list, err := p.List(ctx, "data")
	must(err)
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	if want := []File{{"ab/abc", 0}, {"cd/large", 16 << 20}}; !slices.Equal(list, want) {
		t.Errorf("the list is %v", list)
	}
	if list, err = p.List(ctx, "dat"); err != nil || len(list) > 0 {
		t.Errorf("of a folder that is not there the list is %v, %v", list, err)
	}
	must(p.Delete(ctx, "index/one"))
	must(p.Delete(ctx, "index/one"))
	if list, err = p.List(ctx, "index"); err != nil || len(list) > 0 {
		t.Errorf("after a deletion the list is %v, %v", list, err)
	}
}

func TestAListHasMoreThanOnePart(t *testing.T) {
	each(t, func(t *testing.T, server string) {
		p, ctx := at(t, server), context.Background()
		const n = 1100
		if err := inParallel(n, func(i int) error { return p.Put(ctx, fmt.Sprintf("snapshots/%04d", i), []byte("x")) }); err != nil {
			t.Fatal(err)
		}
		list, err := p.List(ctx, "snapshots")
		if err != nil || len(list) != n {
			t.Fatalf("%d names, %v", len(list), err)
		}
	})
}

func inParallel(n int, f func(int) error) error {
	var wg sync.WaitGroup
	errs, next := make([]error, n), atomic.Int64{}
	for range 16 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func TestOfManyWhoWriteOneNameOneWins(t *testing.T) {
	each(t, func(t *testing.T, server string) {
		p, ctx := at(t, server), context.Background()
		for round := range 20 {
			var won atomic.Int64
			var winner atomic.Value
			name := fmt.Sprintf("config%d", round)
			if err := inParallel(16, func(i int) error {
				err := p.Put(ctx, name, []byte{byte(i)})
				if errors.Is(err, ErrExists) {
					return nil
				}
				if err == nil {
					won.Add(1)
					winner.Store(byte(i))
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			there, err := p.Get(ctx, name, 0, 0)
			if err != nil || won.Load() != 1 || !bytes.Equal(there, []byte{winner.Load().(byte)}) {
				t.Fatalf("%d of 16 have written %s, %v is there: %v", won.Load(), name, there, err)
			}
		}
	})
}

// TestWhatAServerRefusesIsSaid has servers that never do it.
func TestWhatAServerRefusesIsSaid(t *testing.T) {
	hurry(t)
	server := s3test.Start(t, "gofakes3")
	t.Setenv("AWS_SESSION_TOKEN", "sessiontokenofmine")
	for _, c := range []struct {
		status int
		code   string
		ago    time.Duration
		want   string
		asks   int
	}{
		{403, "AccessDenied", 0, "the credentials do not allow it", 1},
		{403, "InvalidAccessKeyId", 0, "the server does not know the access key", 1},
		{403, "SignatureDoesNotMatch", 0, "the secret key does not belong", 1},
		{400, "ExpiredToken", 0, "the credentials are not valid any more", 1},
		{403, "RequestTimeTooSkewed", time.Hour, "the clock of this machine and that of the server differ by 1h0m0s", 1},
		{403, "SignatureDoesNotMatch", -time.Hour, "the clock of this machine and that of the server differ by 1h0m0s", 1},
		{404, "NoSuchBucket", 0, "there is no such bucket", 1},
		{307, "TemporaryRedirect", 0, "the bucket is elsewhere", 1},
		{503, "SlowDown", 0, "the server could not do it, 9 times", triesMost},
		{507, "XMinioStorageFull", 0, "507: XMinioStorageFull", 1},
	} {
		front := s3test.NewFront(t, server, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Date", time.Now().Add(-c.ago).UTC().Format(http.TimeFormat))
			w.Header().Set("Location", "http://elsewhere.invalid/")
			code(w, c.status, c.code)
		})
		p, ctx := at(t, front.URL), context.Background()
		_, getErr := p.Get(ctx, "config", 0, 9)
		if n := len(front.Asked()); n != c.asks {
			t.Errorf("%s: asked %d times, want %d", c.code, n, c.asks)
		}
		_, listErr := p.List(ctx, "locks")
		for what, err := range map[string]error{"read config": getErr, "write config": p.Put(ctx, "config", []byte("x")), "delete config": p.Delete(ctx, "config"), "list locks": listErr} {
			if err == nil || !strings.Contains(err.Error(), what+": ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s of %s: %v, want %s", what, c.code, err, c.want)
			} else {
				secretless(t, err.Error())
			}
		}
	}
}

func TestWhoCannotBeReachedIsToldSoon(t *testing.T) {
	s3test.Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	for _, server := range []string{"http://127.0.0.1:1", "http://no.such.host.invalid"} {
		start := time.Now()
		_, err := at(t, server).Get(context.Background(), "config", 0, 0)
		if err == nil || time.Since(start) > 20*time.Second {
			t.Errorf("%s: %v after %v", server, err, time.Since(start))
		}
	}
}

func TestAnEndOfTheContextEndsARequest(t *testing.T) {
	server := s3test.Start(t, "gofakes3")
	front := s3test.NewFront(t, server, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() })
	ctx, stop := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer stop()
	if _, err := at(t, front.URL).List(ctx, "locks"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestAServerThatKnowsNoConditionIsAskedBefore(t *testing.T) {
	server := s3test.Start(t, "gofakes3")
	front := s3test.NewFront(t, server, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Header.Get("If-None-Match") != "" {
			code(w, 501, "NotImplemented")
			return
		}
		next.ServeHTTP(w, r)
	})
	p, ctx := at(t, front.URL), context.Background()
	if err := p.Put(ctx, "config", []byte("first")); err != nil {
		t.Fatal(err)
	}
	p = at(t, front.URL)
	if err := p.Put(ctx, "config", []byte("second")); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if got, err := p.Get(ctx, "config", 0, 0); string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestARegionIsLearnedFromTheServer(t *testing.T) {
	server := s3test.Start(t, "gofakes3")
	front := s3test.NewFront(t, server, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-north-1/s3/") {
			w.WriteHeader(400)
			fmt.Fprint(w, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region></Error>")
			return
		}
		next.ServeHTTP(w, r)
	})
	p, ctx := at(t, front.URL), context.Background()
	for range 2 {
		if _, err := p.List(ctx, "locks"); err != nil {
			t.Fatal(err)
		}
	}
	if asked := front.Asked(); len(asked) != 3 {
		t.Errorf("asked %q", asked)
	}
}

func TestAListThatLiesEnds(t *testing.T) {
	server := s3test.Start(t, "gofakes3")
	for name, body := range map[string]string{
		"no end":  "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>",
		"no next": "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
		"no list": "\x00\x01",
	} {
		front := s3test.NewFront(t, server, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { fmt.Fprint(w, body) })
		if list, err := at(t, front.URL).List(context.Background(), "locks"); err == nil {
			t.Errorf("%s: %v", name, list)
		}
	}
	front := s3test.NewFront(t, server, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		prefix := r.URL.Query().Get("prefix")
		fmt.Fprintf(w, "<ListBucketResult><Contents><Key>%s../../../etc/passwd</Key></Contents><Contents><Key>other/x</Key></Contents><Contents><Key>%sgood</Key><Size>3</Size></Contents></ListBucketResult>", prefix, prefix)
	})
	if list, err := at(t, front.URL).List(context.Background(), "locks"); err != nil || len(list) != 1 || list[0].Name != "good" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestCertificatesOfAFileAreBelievedAndOthersNot(t *testing.T) {
	s3test.Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.Secret)
	server, pem := s3test.StartTLS(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") })
	if _, err := at(t, server).Get(context.Background(), "config", 0, 0); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a strange certificate: %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", file)
	if got, err := at(t, server).Get(context.Background(), "config", 0, 0); err != nil || string(got) != "answer" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("AWS_CA_BUNDLE", filepath.Join(t.TempDir(), "none"))
	if _, err := Open("s3:" + server + "/" + s3test.Bucket); err == nil || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
		t.Errorf("a file that is not there: %v", err)
	}
}
