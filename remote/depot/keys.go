package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// keys are the credentials that requests are signed with. They are looked for when they are needed first, where the
// programs of AWS look, in their order: the environment, a web identity, the shared files, and the role of the
// container or of the machine. They are in memory alone.
type keys struct {
	client *http.Client // for what asks somebody
	region string

	mu      sync.Mutex
	finding chan struct{} // closed when somebody who looks has come to an end
	failed  error         // of who has looked last
	asked   bool
	value   credentials.Value
	until   time.Time // zero: for ever
	none    error     // why there are none; requests are not signed then
}

// early is how long before their end credentials are asked for anew.
const early = 5 * time.Minute

// findMost is how long is waited for credentials: whom a profile names as its credential_process may hang, and no
// library gives that an end. A test makes it shorter.
var findMost = time.Minute

// get returns what to sign with; without an access key: nothing is signed.
func (k *keys) get(ctx context.Context) (credentials.Value, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fresh() {
		return k.value, nil
	}
	done := k.finding
	if done == nil {
		done = make(chan struct{})
		k.finding = done
		go k.look(context.WithoutCancel(ctx), findMost, done) // others may wait for it, too
	}
	k.mu.Unlock()
	late := time.NewTimer(findMost)
	defer late.Stop()
	var err error
	select {
	case <-done:
	case <-late.C:
		err = fmt.Errorf("nobody has given any for %v: does the credential_process of a profile hang?", findMost)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	k.mu.Lock()
	if err == nil {
		err = k.failed
	}
	if err != nil {
		return credentials.Value{}, fmt.Errorf("no credentials: %w", err)
	}
	return k.value, nil
}

func (k *keys) fresh() bool {
	return k.asked && (k.until.IsZero() || time.Now().Before(k.until))
}

// look looks for credentials, and tells those who wait.
func (k *keys) look(ctx context.Context, most time.Duration, done chan struct{}) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	v, none, err := k.find(&credentials.CredContext{Client: k.client, Context: limited})
	k.mu.Lock()
	defer k.mu.Unlock()
	defer close(done)
	k.finding, k.failed = nil, err
	if err != nil {
		return
	}
	k.value, k.none, k.asked, k.until = v, none, true, v.Expiration
	if !k.until.IsZero() {
		k.until = k.until.Add(-min(early, time.Until(k.until)/5))
	}
}

// renew forgets credentials that a server did not accept any more; false: there are no others to be had.
func (k *keys) renew() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = false
	return !k.until.IsZero()
}

// secrets are texts that no error may have.
func (k *keys) secrets() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return []string{k.value.SecretAccessKey, k.value.SessionToken, os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"), os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")}
}

func (k *keys) find(with *credentials.CredContext) (v credentials.Value, none, err error) {
	v, err = (&credentials.EnvAWS{}).RetrieveWithCredContext(with)
	switch {
	case v.AccessKeyID != "" && v.SecretAccessKey != "", err != nil:
		return v, nil, err
	case v.AccessKeyID != "" || v.SecretAccessKey != "":
		return credentials.Value{}, nil, errors.New("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is set and one is not")
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		v, err = (&credentials.IAM{Region: k.region}).RetrieveWithCredContext(with)
		return v, nil, err
	}
	v, err = (&credentials.FileAWSCredentials{Profile: profileName()}).RetrieveWithCredContext(with)
	named := os.Getenv("AWS_PROFILE")+os.Getenv("AWS_DEFAULT_PROFILE") != ""
	switch {
	case err == nil && v.AccessKeyID != "":
		return v, nil, nil
	case err == nil && named:
		return v, nil, fmt.Errorf("profile %q has no keys, no sso_role_name and no credential_process (\"aws configure export-credentials\" is one for a profile that assumes a role)", profileName())
	case err != nil && (named || !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "does not exist")):
		return v, nil, fmt.Errorf("profile %q: %w", profileName(), err)
	}
	for _, n := range []string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(n) != "" {
			v, err = (&credentials.IAM{}).RetrieveWithCredContext(with)
			return v, nil, err
		}
	}
	none = errors.New("AWS_ACCESS_KEY_ID, AWS_PROFILE and the files of AWS name none, and the role of the machine was not to be asked for")
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return credentials.Value{}, none, nil
	}
	with.Client = &http.Client{Timeout: time.Second, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}}
	if v, err = (&credentials.IAM{Endpoint: os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")}).RetrieveWithCredContext(with); err == nil {
		return v, nil, nil
	}
	if err := with.Context.Err(); err != nil {
		return credentials.Value{}, nil, err
	}
	none = errors.New("AWS_ACCESS_KEY_ID, AWS_PROFILE and the files of AWS name none, and the machine has no role")
	return credentials.Value{}, none, nil
}
