package depot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// A request is one to a bucket, and is made again until the server has an answer.
type request struct {
	method string
	what   string // for who reads an error
	key    string // "": the bucket itself
	query  url.Values
	header map[string]string
	body   []byte
	from   int64 // of a part: where it begins
	most   int64 // bytes that the answer may have
}

type answer struct {
	body  []byte
	tries int
}

// How often a request is made, and how long it waits between: a random part of a time that doubles. Who has no
// network is told soon. A test makes the times shorter.
var (
	triesMost  = 9
	triesNoNet = 3
	waitFirst  = 250 * time.Millisecond
	waitMost   = 10 * time.Second
	stallsMost = time.Minute // in which no byte moves
	adaptsMost = 3           // times that another region or new credentials are tried
)

var errStalled = errors.New("nothing has moved for a minute")

// do makes a request. The answer has how often, also beside an error.
func (b *bucket) do(ctx context.Context, q request) (a *answer, err error) {
	a = &answer{}
	wait, adapted := waitFirst, 0
	for {
		a.tries++
		a.body, err = b.once(ctx, q)
		if err == nil || ctx.Err() != nil {
			break
		}
		var r *refusal
		if errors.As(err, &r) && adapted < adaptsMost && b.adapt(r) {
			adapted++
			continue
		}
		pause, again := retry(err, a.tries)
		if !again {
			break
		}
		if pause = max(pause, wait/2+rand.N(wait/2)); sleep(ctx, pause) != nil {
			break
		}
		wait = min(2*wait, waitMost)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return a, cause
	}
	return a, b.failed(q, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// adapt learns from a refusal where the bucket is, or takes new credentials.
func (b *bucket) adapt(r *refusal) bool {
	if r.expired() {
		return b.keys.renew()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.region == "" || r.region == b.region {
		return false
	}
	b.region = r.region
	if b.host == "s3.amazonaws.com" {
		b.server = "s3." + r.region + ".amazonaws.com"
	}
	return true
}

// retry says whether a request that failed is made again, and after how long at least.
func retry(err error, tries int) (pause time.Duration, again bool) {
	var r *refusal
	var dial *net.OpError
	var name *net.DNSError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &r):
		return min(r.after, 30*time.Second), r.passes() && tries < triesMost
	case errors.As(err, &cert), errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch), errors.Is(err, errHere):
		return 0, false
	case errors.As(err, &dial) && dial.Op == "dial", errors.As(err, &name):
		return 0, tries < triesNoNet
	}
	return 0, tries < triesMost
}

// errHere marks what fails before anything is asked for.
var errHere = errors.New("cannot be asked for")

// once makes a request once.
func (b *bucket) once(ctx context.Context, q request) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	req, signed, err := b.signed(ctx, q)
	if err != nil {
		return nil, errors.Join(errHere, err)
	}
	most := stallsMost // a body may be read on for a moment when the answer is there
	alarm := time.AfterFunc(most, func() { stop(errStalled) })
	defer alarm.Stop()
	moved := func() { alarm.Reset(most) }
	if q.body != nil {
		open := func() (io.ReadCloser, error) {
			return &moving{Reader: bytes.NewReader(q.body), moved: moved, ctx: ctx, pace: b.pace}, nil
		}
		req.Body, _ = open()
		req.GetBody, req.ContentLength = open, int64(len(q.body))
	}
	res, err := b.client.Do(req)
	if err == nil {
		defer res.Body.Close()
		body := &moving{Reader: res.Body, moved: moved, ctx: ctx}
		if res.StatusCode/100 != 2 {
			return nil, refused(res, body, signed, b.keys)
		}
		var out []byte
		if out, err = q.take(res, body); err == nil {
			return out, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, err
}

// signed makes the request that is sent, without its body.
func (b *bucket) signed(ctx context.Context, q request) (req *http.Request, signed bool, err error) {
	keys, err := b.keys.get(ctx)
	if err != nil {
		return nil, false, err
	}
	b.mu.Lock()
	region, host, at := b.region, b.server, "/"+q.key
	b.mu.Unlock()
	if b.inHost {
		host = b.bucket + "." + host
	} else {
		at = "/" + b.bucket + at
	}
	u := &url.URL{Scheme: b.scheme, Host: host, Path: at, RawPath: s3utils.EncodePath(at), RawQuery: strings.ReplaceAll(q.query.Encode(), "+", "%20")}
	req, err = http.NewRequestWithContext(ctx, q.method, u.String(), nil)
	if err != nil {
		return nil, false, err
	}
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	sum := sha256.Sum256(q.body)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	req.Header.Set("User-Agent", "rewind")
	req.Header.Set("Accept-Encoding", "identity")
	if keys.AccessKeyID == "" {
		return req, false, nil
	}
	return signer.SignV4(*req, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, region), true, nil
}

// take reads the body of an answer: all of it, and of a part nothing else.
func (q *request) take(res *http.Response, body io.Reader) ([]byte, error) {
	skip, ranged := int64(0), q.header["Range"] != ""
	if ranged && res.StatusCode == http.StatusPartialContent {
		return q.takePart(res.Header.Get("Content-Range"), body)
	}
	if ranged { // all of it, from a server that knows no parts
		skip = q.from
	}
	if _, err := io.CopyN(io.Discard, body, skip); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(body, q.most+1))
	if int64(len(out)) > q.most {
		if !ranged {
			return nil, fmt.Errorf("the answer has more than %d bytes", q.most)
		}
		out = out[:q.most]
	}
	return out, err
}

// takePart reads a part, which has to be the one that was asked for, and to end early only where the file does.
func (q *request) takePart(what string, body io.Reader) ([]byte, error) {
	var first, last, total int64
	if n, _ := fmt.Sscanf(what, "bytes %d-%d/%d", &first, &last, &total); n < 2 || first != q.from || last < first || last-first >= q.most ||
		n == 3 && last-first+1 < q.most && last+1 < total {
		return nil, errors.New("the answer is another part than was asked for")
	}
	out, err := readAll(io.LimitReader(body, last-first+2), last-first+1)
	if err == nil && int64(len(out)) != last-first+1 {
		err = fmt.Errorf("the answer has %d bytes, and says that it has %d", len(out), last-first+1)
	}
	return out, err
}

// moving tells of each piece that is read, at a pace.
type moving struct {
	io.Reader
	moved func()
	ctx   context.Context
	pace  *pace
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p[:m.pace.piece(len(p))])
	if late := m.pace.wait(m.ctx, n); late != nil && err == nil {
		err = late
	}
	m.moved()
	return n, err
}

func (*moving) Close() error { return nil }
