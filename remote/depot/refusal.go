package depot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A refusal is what a server says instead of doing something.
type refusal struct {
	status  int
	code    string
	message string
	region  string // where the bucket is, if the server says so
	after   time.Duration
	skew    time.Duration // of our clock to the server's
	none    error         // the request was not signed, and why
}

const (
	refusalMost = 64 << 10
	saidMost    = 300 // bytes of what a server says that are repeated
)

func refused(res *http.Response, body io.Reader, signed bool, k *keys) *refusal {
	r := &refusal{status: res.StatusCode, region: res.Header.Get("X-Amz-Bucket-Region")}
	var said struct{ Code, Message, Region string }
	text, _ := io.ReadAll(io.LimitReader(body, refusalMost))
	_ = xml.Unmarshal(text, &said) // a proxy says something else
	r.code, r.message = printable(said.Code), printable(said.Message)
	if r.region == "" {
		r.region = said.Region
	}
	if strings.ContainsFunc(r.region, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' }) || len(r.region) > 40 {
		r.region = ""
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 && s < 1<<20 {
		r.after = time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		r.skew = time.Since(at)
	}
	if !signed {
		k.mu.Lock()
		r.none = k.none
		k.mu.Unlock()
	}
	return r
}

// printable is what may be shown of what a stranger says.
func printable(text string) string {
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > saidMost {
		text = strings.ToValidUTF8(text[:saidMost], "") + "…"
	}
	return text
}

// expired reports whether other credentials may help.
func (r *refusal) expired() bool {
	return slices.Contains([]string{"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestExpired"}, r.code)
}

// passes reports whether the same request may be answered later.
func (r *refusal) passes() bool {
	switch r.status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	}
	return slices.Contains([]string{"RequestTimeout", "SlowDown", "ConditionalRequestConflict", "OperationAborted", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"}, r.code)
}

// Error says what was refused, as a user would want to know it.
func (r *refusal) Error() string {
	what := strings.TrimSuffix(strings.TrimSpace(r.code+": "+r.message), ":")
	if what = strings.TrimPrefix(what, ": "); what == "" {
		what = http.StatusText(r.status)
	}
	said := fmt.Sprintf(" (the server says %d: %s)", r.status, what)
	switch {
	case r.none != nil && (r.status == http.StatusForbidden || r.status == http.StatusUnauthorized):
		return fmt.Sprintf("it needs credentials: %v%s", r.none, said)
	case r.code == "RequestTimeTooSkewed", (r.status == http.StatusForbidden || r.status == http.StatusBadRequest) && r.skew.Abs() > 10*time.Minute:
		return fmt.Sprintf("the clock of this machine and that of the server differ by %v%s", r.skew.Abs().Round(time.Minute), said)
	case r.code == "NoSuchBucket":
		return "there is no such bucket, and rewind makes none" + said
	case r.expired():
		return "the credentials are not valid any more" + said
	case r.code == "InvalidAccessKeyId":
		return "the server does not know the access key" + said
	case r.code == "SignatureDoesNotMatch":
		return "the secret key does not belong to the access key" + said
	case r.status == http.StatusForbidden, r.status == http.StatusUnauthorized:
		return "the credentials do not allow it" + said
	case r.status == http.StatusProxyAuthRequired:
		return "the proxy wants a name and a password" + said
	case r.status/100 == 3:
		return "the bucket is elsewhere: give the server of its region" + said
	case r.passes():
		return fmt.Sprintf("the server could not do it, %d times%s", triesMost, said)
	}
	return strings.TrimPrefix(said, " ")
}

// A failure is an error whose text has no secret.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// failed says what failed, without what nobody may read.
func (b *bucket) failed(q request, err error) error {
	if err == nil {
		return nil
	}
	inner := err
	var u *url.Error
	if errors.As(err, &u) { // its text has the URL
		inner = u.Err
	}
	text := fmt.Sprintf("%v: %s: %s", b.address, q.what, strings.TrimPrefix(inner.Error(), errHere.Error()+"\n"))
	secrets := b.keys.secrets()
	for _, n := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if _, rest, ok := strings.Cut(os.Getenv(n), "://"); ok {
			if user, _, ok := strings.Cut(rest, "@"); ok {
				secrets = append(secrets, user)
				if _, password, ok := strings.Cut(user, ":"); ok {
					secrets = append(secrets, password)
				}
			}
		}
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	return &failure{text: text, err: err}
}
