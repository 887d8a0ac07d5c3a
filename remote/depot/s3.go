package depot

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A bucket is a folder of a bucket, on a server that speaks S3. Each method is one request where all goes well.
type bucket struct {
	address
	client *http.Client
	keys   *keys
	inHost bool
	pace   *pace

	mu     sync.Mutex
	server string // the host that answers for the bucket
	region string
	plain  bool // the server knows no condition for a put
}

// together is how many connections are kept.
const together = 16

// openBucket returns the place of a URL. Nothing is asked yet, of anybody.
func openBucket(text string) (Place, error) {
	set := settingsOf()
	a, err := parse(text, set)
	if err != nil {
		return nil, err
	}
	security := &tls.Config{}
	if set.authorities != "" {
		if security.RootCAs, err = authorities(set.authorities); err != nil {
			return nil, err
		}
	}
	client := &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: security, TLSHandshakeTimeout: 20 * time.Second, DisableCompression: true,
			DialContext:         (&net.Dialer{Timeout: 20 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost: together, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	b := &bucket{address: a, client: client, keys: &keys{client: client, region: set.region}, inHost: set.inHost(a), server: a.host, region: set.regionOf(a)}
	return b, nil
}

// authorities are those of the system, and of a file.
func authorities(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the certificates that AWS_CA_BUNDLE, ca_bundle or RESTIC_CACERT names: %w", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s, which AWS_CA_BUNDLE, ca_bundle or RESTIC_CACERT names, has no certificates", file)
	}
	return pool, nil
}

func (b *bucket) key(name string) string { return path.Join(b.folder, name) }

func (b *bucket) Put(ctx context.Context, name string, data []byte) error {
	sum := md5.Sum(data) // buckets with locks want it; the signature has the SHA-256
	q := request{method: http.MethodPut, what: "write " + name, key: b.key(name), body: data, header: map[string]string{
		"Content-Md5": base64.StdEncoding.EncodeToString(sum[:]), "Content-Type": "application/octet-stream"}}
	b.mu.Lock()
	plain := b.plain
	b.mu.Unlock()
	if !plain {
		q.header["If-None-Match"] = "*"
	}
	a, err := b.do(ctx, q)
	var r *refusal
	switch {
	case !errors.As(err, &r):
		return err
	case r.status == http.StatusNotImplemented && !plain: // who knows no condition is asked before
		b.mu.Lock()
		b.plain = true
		b.mu.Unlock()
		switch _, err := b.Get(ctx, name, 0, 1); {
		case err == nil:
			return fmt.Errorf("%s %w", name, ErrExists)
		case !errors.Is(err, ErrNotThere):
			return err
		}
		return b.Put(ctx, name, data)
	case r.status == http.StatusPreconditionFailed:
		if a.tries > 1 { // it may be ours, of a try whose answer got lost
			if there, err := b.Get(ctx, name, 0, 0); err == nil && bytes.Equal(there, data) {
				return nil
			}
		}
		return fmt.Errorf("%s %w", name, ErrExists)
	}
	return err
}

func (b *bucket) Get(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	q := request{method: http.MethodGet, what: "read " + name, key: b.key(name), most: mostBytes, header: map[string]string{}}
	if length > 0 || offset > 0 {
		part := fmt.Sprintf("bytes=%d-", offset)
		if length > 0 {
			part += strconv.FormatInt(offset+length-1, 10)
			q.most = length
		}
		q.header["Range"], q.from = part, offset
	}
	a, err := b.do(ctx, q)
	var r *refusal
	if errors.As(err, &r) {
		switch {
		case r.status == http.StatusRequestedRangeNotSatisfiable: // it ends before
			return nil, nil
		case r.status == http.StatusNotFound && r.code != "NoSuchBucket":
			return nil, fmt.Errorf("%s is %w", name, ErrNotThere)
		}
	}
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// A listing is what a server answers to a list, in parts.
type listing struct {
	Contents []struct {
		Key  string
		Size int64
	}
	IsTruncated           bool
	NextContinuationToken string
	EncodingType          string
}

const (
	listingMost = 16 << 20 // bytes of a part
	partsMost   = 20_000   // of 1,000 names
)

func (b *bucket) List(ctx context.Context, folder string) (list []File, err error) {
	prefix, from := b.key(folder)+"/", ""
	for range partsMost {
		q := request{method: http.MethodGet, what: "list " + folder, most: listingMost, query: url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}}}
		if from != "" {
			q.query.Set("continuation-token", from)
		}
		a, err := b.do(ctx, q)
		if err != nil {
			return nil, err
		}
		var l listing
		if err := xml.Unmarshal(a.body, &l); err != nil {
			return nil, b.failed(q, fmt.Errorf("the answer is no list: %w", err))
		}
		for _, c := range l.Contents {
			if l.EncodingType == "url" {
				if c.Key, err = url.QueryUnescape(c.Key); err != nil {
					continue
				}
			}
			name, ours := strings.CutPrefix(c.Key, prefix)
			if ours && name != "" && path.Clean("/"+name) == "/"+name {
				list = append(list, File{Name: name, Size: c.Size})
			}
		}
		if !l.IsTruncated {
			return list, nil
		}
		if l.NextContinuationToken == "" || l.NextContinuationToken == from {
			return nil, b.failed(q, errors.New("the list goes on, and does not say where"))
		}
		from = l.NextContinuationToken
	}
	return nil, fmt.Errorf("%v: the list of %s has no end", b.address, folder)
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	_, err := b.do(ctx, request{method: http.MethodDelete, what: "delete " + name, key: b.key(name)})
	var r *refusal
	if errors.As(err, &r) && r.status == http.StatusNotFound && r.code != "NoSuchBucket" {
		return nil
	}
	return err
}
