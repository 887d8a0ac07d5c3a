package depot

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/minio/minio-go/v7/pkg/s3utils"
	"gopkg.in/ini.v1"
)

// An address is a folder of a bucket, on a server that speaks S3.
type address struct{ scheme, host, bucket, folder string }

// String is the address as restic takes it too.
func (a address) String() string {
	return "s3:" + a.scheme + "://" + a.host + "/" + path.Join(a.bucket, a.folder)
}

// IsURL reports whether a text is a URL, and no path.
func IsURL(text string) bool { return strings.HasPrefix(text, "s3:") || strings.Contains(text, "://") }

// Resolve returns the URL that means the same place whatever the environment says later, and that restic takes as it
// is, but for file://. Its errors do not repeat what may be a password.
func Resolve(text string) (string, error) {
	if !strings.HasPrefix(text, "s3:") {
		_, err := Open(text)
		return text, err
	}
	a, err := parse(text, settingsOf())
	return a.String(), err
}

// errPassword does not repeat the URL.
var errPassword = fmt.Errorf("%w: a URL with a name or a password in it would be written down: credentials come from the environment, from the files of AWS, or from the machine's role", ErrURL)

// parse takes a URL as restic writes one: s3:HOST/BUCKET/FOLDER, s3:https://HOST/BUCKET/FOLDER or s3://HOST/BUCKET; and
// s3://BUCKET/FOLDER as others write it, where the server is that of the settings. A host has a dot or a port there.
func parse(text string, set settings) (a address, err error) {
	wrong := func(why string) (address, error) { return address{}, fmt.Errorf("%w: %s", ErrURL, why) }
	rest, named := strings.TrimPrefix(text, "s3:"), false
	a.scheme = "https"
	switch {
	case strings.HasPrefix(rest, "https://"), strings.HasPrefix(rest, "http://"):
		a.scheme, rest, _ = strings.Cut(rest, "://")
	case strings.HasPrefix(rest, "//"):
		rest = rest[2:]
		first, _, _ := strings.Cut(rest, "/")
		named = !strings.ContainsAny(first, ".:@")
	}
	if strings.ContainsFunc(rest, unicode.IsControl) || strings.ContainsAny(rest, "?#\\") {
		return wrong("a URL of S3 has a server, a bucket and a folder, and nothing else")
	}
	if named {
		from, err := set.server()
		if err != nil {
			return a, err
		}
		a.scheme, a.host = from.Scheme, from.Host
	} else {
		a.host, rest, _ = strings.Cut(rest, "/")
		if strings.Contains(a.host, "@") {
			return a, errPassword
		}
	}
	a.host = strings.ToLower(a.host)
	if u, err := url.Parse(a.scheme + "://" + a.host); err != nil || u.Host != a.host || u.Hostname() == "" {
		return wrong("its server is not a name with or without a port")
	}
	a.bucket, a.folder, _ = strings.Cut(rest, "/")
	a.folder = strings.Trim(a.folder, "/")
	name := s3utils.CheckValidBucketName(a.bucket)
	switch {
	case a.bucket == "":
		return wrong("it names no bucket: s3://BUCKET/FOLDER or s3:https://SERVER/BUCKET/FOLDER")
	case name != nil:
		return wrong("no bucket has such a name (" + strings.ToLower(name.Error()) + ")")
	case a.folder != "" && path.Clean("/"+a.folder) != "/"+a.folder:
		return wrong("its folder has a part that is empty or made of dots")
	}
	return a, nil
}

// settings are what the environment and the shared configuration of AWS say.
type settings struct{ region, endpoint, style, authorities string }

// settingsOf reads them. What cannot be read says nothing.
func settingsOf() (s settings) {
	profile := sharedProfile()
	set := func(to *string, key string, names ...string) {
		for _, n := range names {
			if *to == "" {
				*to = os.Getenv(n)
			}
		}
		if *to == "" {
			*to = profile(key)
		}
	}
	set(&s.region, "region", "AWS_REGION", "AWS_DEFAULT_REGION")
	set(&s.endpoint, "endpoint_url", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	set(&s.style, "addressing_style")
	set(&s.authorities, "ca_bundle", "AWS_CA_BUNDLE", "RESTIC_CACERT")
	return s
}

// sharedProfile reads the profile that the files of AWS have: those with credentials win.
func sharedProfile() func(key string) string {
	name := profileName()
	home, _ := os.UserHomeDir()
	at := func(variable, file string) string {
		if path := os.Getenv(variable); path != "" {
			return path
		}
		return filepath.Join(home, ".aws", file)
	}
	var found []*ini.Section
	for _, f := range [][]string{
		{at("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name},
		{at("AWS_CONFIG_FILE", "config"), "profile " + name, name},
	} {
		file, err := ini.LoadSources(ini.LoadOptions{Loose: true, SkipUnrecognizableLines: true}, f[0])
		if err != nil {
			continue
		}
		for _, n := range f[1:] {
			if s, err := file.GetSection(n); err == nil {
				found = append(found, s)
			}
		}
	}
	return func(key string) string {
		for _, s := range found {
			if v := s.Key(key).String(); v != "" {
				return v
			}
		}
		return ""
	}
}

func profileName() string {
	for _, n := range []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE"} {
		if p := os.Getenv(n); p != "" {
			return p
		}
	}
	return "default"
}

// server is where a bucket is whose URL names none.
func (s settings) server() (*url.URL, error) {
	if s.endpoint == "" {
		switch {
		case s.region == "":
			return &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}, nil
		case strings.HasPrefix(s.region, "cn-"):
			return &url.URL{Scheme: "https", Host: "s3." + s.region + ".amazonaws.com.cn"}, nil
		}
		return &url.URL{Scheme: "https", Host: "s3." + s.region + ".amazonaws.com"}, nil
	}
	u, err := url.Parse(s.endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%w: AWS_ENDPOINT_URL, or endpoint_url in the configuration of AWS, is not https://SERVER or http://SERVER", ErrURL)
	}
	return u, nil
}

// regionOf is what requests are signed for, until the server says another one.
func (s settings) regionOf(a address) string {
	if region := s3utils.GetRegionFromURL(url.URL{Scheme: a.scheme, Host: a.host}); region != "" {
		return region
	}
	switch {
	case strings.HasSuffix(a.host, ".r2.cloudflarestorage.com"):
		return "auto"
	case s.region != "":
		return s.region
	}
	return "us-east-1"
}

// inHost reports whether the bucket is a part of the name of the server, as AWS wants it.
func (s settings) inHost(a address) bool {
	switch s.style {
	case "path":
		return false
	case "virtual":
		return true
	}
	return s3utils.IsVirtualHostSupported(url.URL{Scheme: a.scheme, Host: a.host}, a.bucket)
}
