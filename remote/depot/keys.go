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

	mu    sync.Mutex
	asked bool
	value credentials.Value
	until time.Time // zero: for ever
	none  error     // why there are none; requests are not signed then
}

// early is how long before their end credentials are asked for anew.
const early = 5 * time.Minute

// get returns what to sign with; without an access key: nothing is signed.
func (k *keys) get(ctx context.Context) (credentials.Value, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked && (k.until.IsZero() || time.Now().Before(k.until)) {
		return k.value, nil
	}
	v, err := k.find(&credentials.CredContext{Client: k.client, Context: ctx})
	if err != nil {
		return v, fmt.Errorf("no credentials: %w", err)
	}
	k.value, k.asked, k.until = v, true, v.Expiration
	if !k.until.IsZero() {
		k.until = k.until.Add(-min(early, time.Until(k.until)/5))
	}
	return v, nil
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

func (k *keys) find(with *credentials.CredContext) (credentials.Value, error) {
	v, err := (&credentials.EnvAWS{}).RetrieveWithCredContext(with)
	switch {
	case v.AccessKeyID != "" && v.SecretAccessKey != "", err != nil:
		return v, err
	case v.AccessKeyID != "" || v.SecretAccessKey != "":
		return credentials.Value{}, errors.New("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is set and one is not")
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		return (&credentials.IAM{Region: k.region}).RetrieveWithCredContext(with)
	}
	v, err = (&credentials.FileAWSCredentials{Profile: profileName()}).RetrieveWithCredContext(with)
	named := os.Getenv("AWS_PROFILE") != ""
	switch {
	case err == nil && v.AccessKeyID != "":
		return v, nil
	case err == nil && named:
		return v, fmt.Errorf("profile %q has no keys, no sso_role_name and no credential_process (\"aws configure export-credentials\" is one for a profile that assumes a role)", profileName())
	case err != nil && (named || !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "does not exist")):
		return v, fmt.Errorf("profile %q: %w", profileName(), err)
	}
	for _, n := range []string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if os.Getenv(n) != "" {
			return (&credentials.IAM{}).RetrieveWithCredContext(with)
		}
	}
	k.none = errors.New("AWS_ACCESS_KEY_ID, AWS_PROFILE and the files of AWS name none, and the role of the machine was not to be asked for")
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return credentials.Value{}, nil
	}
	with.Client = &http.Client{Timeout: time.Second, Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext}}
	if v, err = (&credentials.IAM{Endpoint: os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")}).RetrieveWithCredContext(with); err == nil {
		return v, nil
	}
	if err := with.Context.Err(); err != nil {
		return credentials.Value{}, err
	}
	k.none = errors.New("AWS_ACCESS_KEY_ID, AWS_PROFILE and the files of AWS name none, and the machine has no role")
	return credentials.Value{}, nil
}
