package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// UserDir is where the files are that a user has beside the configuration. Where the user has no home it is no absolute
// path, and nothing in it is the user's.
func UserDir() string {
	base := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home, _ := os.UserHomeDir()
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "rewind")
}

// URLName is the name of a file that belongs to a URL.
func URLName(url string) string {
	sum := sha256.Sum256([]byte(url))
	return hex.EncodeToString(sum[:8])
}

// vouchedMost bounds a file that Vouch writes.
const vouchedMost = 1 << 16

// Vouch notes that the user has named a URL to push to. The list of remotes lies beside the store, and may have come
// along with somebody's archive: to those nothing is pushed unasked. Where there is no [UserDir] it notes nothing.
func Vouch(url string) error {
	if Vouched(url) {
		return nil
	}
	dir := filepath.Join(UserDir(), "remotes")
	if !filepath.IsAbs(dir) {
		return nil // nothing is pushed unasked then
	}
	if err := durable.MakeDir(dir); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, URLName(url)), []byte(url+"\n"), 0o600)
}

// Vouched reports whether the user has named a URL.
func Vouched(url string) bool {
	text, err := durable.ReadFile(filepath.Join(UserDir(), "remotes", URLName(url)), vouchedMost)
	return err == nil && filepath.IsAbs(UserDir()) && string(text) == url+"\n"
}
