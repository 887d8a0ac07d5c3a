package depot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/s3test"
)

func TestAURLMeansWhatResticMeans(t *testing.T) {
	s3test.Alone(t)
	for text, want := range map[string]string{
		"s3:s3.amazonaws.com/bucket":                    "s3:https://s3.amazonaws.com/bucket",
		"s3:s3.eu-west-1.amazonaws.com/bucket/a/b/":     "s3:https://s3.eu-west-1.amazonaws.com/bucket/a/b",
		"s3:https://Host:9000/bucket/a":                 "s3:https://host:9000/bucket/a",
		"s3:http://127.0.0.1:9000/bucket":               "s3:http://127.0.0.1:9000/bucket",
		"s3:http://[::1]:9000/bucket":                   "s3:http://[::1]:9000/bucket",
		"s3://s3.amazonaws.com/bucket/a":                "s3:https://s3.amazonaws.com/bucket/a",
		"s3://bucket":                                   "s3:https://s3.amazonaws.com/bucket",
		"s3://bucket/a folder/@b":                       "s3:https://s3.amazonaws.com/bucket/a folder/@b",
		"s3:https://0123.r2.cloudflarestorage.com/some": "s3:https://0123.r2.cloudflarestorage.com/some",
	} {
		got, err := Resolve(text)
		if err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
		if again, err := Resolve(got); again != got {
			t.Errorf("%s becomes %s, %v", got, again, err)
		}
	}
	for _, text := range []string{"s3:", "s3://", "s3:host", "s3:host/", "s3:https://host", "s3://bucket/../x", "s3:host/bucket/a//b", "s3:host/bucket/.", "s3:host/x", "s3:ho st/bucket",
		"s3:https://host/bucket?x=y", "s3:https://host/bucket#x", "s3:host/bucket/a\x1b", "s3:https://me:a-secret@host/bucket", "s3://me:a-secret@host/bucket", "s3:me:a-secret@host/bucket", "https://me:a-secret@host/x", "ftp://host/x"} {
		got, err := Resolve(text)
		if !errors.Is(err, ErrURL) || strings.Contains(err.Error(), "a-secret") {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

func TestTheServerOfABucketIsThatOfTheSettings(t *testing.T) {
	s3test.Alone(t)
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[default]\nregion = eu-central-1\n[profile mine]\nendpoint_url = http://minio.lan:9000\nregion=home\ns3 =\n  addressing_style = virtual\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	is := func(text, want string) {
		t.Helper()
		if got, err := Resolve(text); got != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	t.Setenv("AWS_REGION", "cn-north-1")
	is("s3://bucket", "s3:https://s3.cn-north-1.amazonaws.com.cn/bucket")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", config)
	is("s3://bucket", "s3:https://s3.eu-central-1.amazonaws.com/bucket")
	t.Setenv("AWS_PROFILE", "mine")
	is("s3://bucket/x", "s3:http://minio.lan:9000/bucket/x")
	if set := settingsOf(); !set.inHost(address{scheme: "http", host: "minio.lan:9000", bucket: "bucket"}) || set.regionOf(address{host: "minio.lan:9000"}) != "home" {
		t.Errorf("the profile says %+v", set)
	}
	t.Setenv("AWS_ENDPOINT_URL", "https://other.lan")
	is("s3://bucket", "s3:https://other.lan/bucket")
	t.Setenv("AWS_ENDPOINT_URL_S3", "https://s3.lan/")
	is("s3://bucket", "s3:https://s3.lan/bucket")
	t.Setenv("AWS_ENDPOINT_URL_S3", "https://me:a-secret@s3.lan/")
	if _, err := Resolve("s3://bucket"); err == nil || strings.Contains(err.Error(), "a-secret") {
		t.Error(err)
	}
	for host, want := range map[string]string{"s3.us-west-2.amazonaws.com": "us-west-2", "s3.dualstack.us-west-2.amazonaws.com": "us-west-2", "s3.amazonaws.com": "home", "0123.r2.cloudflarestorage.com": "auto", "s3.lan": "home"} {
		a := address{scheme: "https", host: host, bucket: "bucket"}
		if got := settingsOf().regionOf(a); got != want {
			t.Errorf("requests to %s are signed for %s, want %s", host, got, want)
		}
	}
	plain := settings{}
	for host, want := range map[string]bool{"s3.us-west-2.amazonaws.com": true, "127.0.0.1:9000": false, "minio.lan": false, "0123.r2.cloudflarestorage.com": false} {
		if got := plain.inHost(address{scheme: "https", host: host, bucket: "bucket"}); got != want {
			t.Errorf("the bucket is in the name of %s: %v", host, got)
		}
	}
}

// signedBy returns whose key a request is signed with, and with which token.
func signedBy(t *testing.T) string {
	t.Helper()
	var got string
	front := s3test.NewFront(t, "http://127.0.0.1:1", func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		key, _, _ = strings.Cut(key, "/")
		got = strings.TrimSuffix(key+" "+r.Header.Get("X-Amz-Security-Token"), " ")
		code(w, 403, "AccessDenied")
	})
	p := at(t, front.URL)
	_, err := p.Get(context.Background(), "config", 0, 0)
	_, _ = p.Get(context.Background(), "config", 0, 0)
	secretless(t, err.Error())
	if got == "" {
		return err.Error()
	}
	return got
}

// TestCredentialsComeFromWhereTheyAreForOthers has those of each kind.
func TestCredentialsComeFromWhereTheyAreForOthers(t *testing.T) {
	hurry(t)
	dir, asked := t.TempDir(), 0
	role := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		end := time.Now().Add(time.Hour)
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			fmt.Fprint(w, "imds2")
		case strings.HasPrefix(r.URL.Path, "/latest/") && r.Header.Get("X-Aws-Ec2-Metadata-Token") != "imds2":
			w.WriteHeader(401)
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			fmt.Fprint(w, "role")
		case r.URL.Path == "/task" && r.Header.Get("Authorization") != "container-token":
			w.WriteHeader(401)
		case strings.HasSuffix(r.URL.Path, "/role"), r.URL.Path == "/task":
			_ = json.NewEncoder(w).Encode(map[string]any{"Code": "Success", "AccessKeyId": "OFROLE", "SecretAccessKey": s3test.Secret, "Token": "token", "Expiration": end})
		default:
			w.WriteHeader(404)
		}
	})
	front := s3test.NewFront(t, "http://127.0.0.1:1", func(w http.ResponseWriter, r *http.Request, _ http.Handler) { role(w, r) })
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("credentials", "[default]\naws_access_key_id=OFFILE\naws_secret_access_key="+s3test.Secret+"\n[half]\naws_access_key_id=OFHALF\n")
	process := write("process", "#!/bin/sh\necho x >>\"$0.runs\"\necho '{\"Version\":1,\"AccessKeyId\":\"OFPROCESS\",\"SecretAccessKey\":\""+s3test.Secret+"\"}'\n")
	config := write("config", "[profile conf]\naws_access_key_id=OFCONFIG\naws_secret_access_key="+s3test.Secret+"\naws_session_token=token\n[profile proc]\ncredential_process="+process+" now\n[profile assumed]\nrole_arn=arn:x\nsource_profile=default\n")
	for _, c := range []struct {
		name, want string
		env        map[string]string
	}{
		{"environment", "OFENV", map[string]string{"AWS_ACCESS_KEY_ID": "OFENV", "AWS_SECRET_ACCESS_KEY": s3test.Secret, "AWS_SHARED_CREDENTIALS_FILE": file}},
		{"session", "OFENV token", map[string]string{"AWS_ACCESS_KEY_ID": "OFENV", "AWS_SECRET_ACCESS_KEY": s3test.Secret, "AWS_SESSION_TOKEN": "token"}},
		{"half", "one is set and one is not", map[string]string{"AWS_SECRET_ACCESS_KEY": s3test.Secret}},
		{"file", "OFFILE", map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file}},
		{"half a profile", "partial static credentials", map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "half"}},
		{"no such profile", `profile "none"`, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "none"}},
		{"configuration", "OFCONFIG token", map[string]string{"AWS_CONFIG_FILE": config, "AWS_PROFILE": "conf"}},
		{"default profile", "OFCONFIG token", map[string]string{"AWS_CONFIG_FILE": config, "AWS_DEFAULT_PROFILE": "conf"}},
		{"no such default profile", `profile "none"`, map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_DEFAULT_PROFILE": "none"}},
		{"the profile before the default one", "OFCONFIG token", map[string]string{"AWS_CONFIG_FILE": config, "AWS_PROFILE": "conf", "AWS_DEFAULT_PROFILE": "none"}},
		{"process", "OFPROCESS", map[string]string{"AWS_CONFIG_FILE": config, "AWS_PROFILE": "proc"}},
		{"a profile that assumes", "no sso_role_name and no credential_process", map[string]string{"AWS_CONFIG_FILE": config, "AWS_PROFILE": "assumed"}},
		{"machine", "OFROLE token", map[string]string{"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": front.URL}},
		{"container", "OFROLE token", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": front.URL + "/task", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-token"}},
		{"none", "it needs credentials", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "process" && runtime.GOOS == "windows" {
				t.Skip("SKIPPED: the program for credentials is a shell script")
			}
			s3test.Alone(t)
			asked = 0
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			if got := signedBy(t); got != c.want && !strings.Contains(got, c.want) || strings.Contains(got, " ") != strings.Contains(c.want, " ") || asked > 3 {
				t.Errorf("signed by %s after the role was asked for %d times, want %s", got, asked, c.want)
			}
		})
	}
	if runs, err := os.ReadFile(process + ".runs"); runtime.GOOS != "windows" && (err != nil || len(runs) != 2) {
		t.Errorf("the program for credentials was run %d times: %v", len(runs)/2, err)
	}
}

// TestAProgramForCredentialsThatHangsHasALimit runs one that never ends: two who ask are told soon, and it is run once.
func TestAProgramForCredentialsThatHangsHasALimit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the program for credentials is a shell script")
	}
	s3test.Alone(t)
	old := findMost
	t.Cleanup(func() { findMost = old })
	findMost = 300 * time.Millisecond
	dir := t.TempDir()
	hangs, config, gate := filepath.Join(dir, "hangs"), filepath.Join(dir, "config"), filepath.Join(dir, "gate")
	if err := errors.Join(os.WriteFile(hangs, []byte("#!/bin/sh\necho x >>"+hangs+".runs\nwhile ! [ -e "+gate+" ]; do sleep 0.1; done\necho '{\"Version\":1,\"AccessKeyId\":\"LATE\",\"SecretAccessKey\":\"x\"}'\n"), 0o700),
		os.WriteFile(config, []byte("[profile proc]\ncredential_process="+hangs+" now\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_PROFILE", "proc")
	k := &keys{client: http.DefaultClient}
	for range 2 {
		if _, err := k.get(t.Context()); err == nil || !strings.Contains(err.Error(), "credential_process") {
			t.Errorf("%v", err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.get(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who does not want to wait any more is told %v", err)
	}
	if runs, err := os.ReadFile(hangs + ".runs"); err != nil || string(runs) != "x\n" {
		t.Errorf("it was run: %q, %v", runs, err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	findMost = time.Minute
	if v, err := k.get(t.Context()); err != nil || v.AccessKeyID != "LATE" {
		t.Errorf("when it has come to an end there are %q, %v", v.AccessKeyID, err)
	}
}
