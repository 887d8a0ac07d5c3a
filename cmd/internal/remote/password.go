package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
	"github.com/seed-82afce7a/rewind/cmd/internal/show"
	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// passwordMost bounds a file with a password.
const passwordMost = 1 << 16

// errNoPassword says that nobody told a password.
var errNoPassword = errors.New("the password of the repository is not known here: set RESTIC_PASSWORD, RESTIC_PASSWORD_FILE or RESTIC_PASSWORD_COMMAND")

// ownFile is where rewind keeps the password of a repository that it has made.
func ownFile(url string) string {
	base := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home, _ := os.UserHomeDir()
		base = filepath.Join(home, ".config")
	}
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(base, "rewind", "passwords", hex.EncodeToString(sum[:8]))
}

// password returns the password of a repository: from where restic has it, else from our own file.
func (a *app) password(ctx context.Context, url string) (string, error) {
	if p, ok := os.LookupEnv("RESTIC_PASSWORD"); ok && p != "" {
		return p, nil
	}
	if path := os.Getenv("RESTIC_PASSWORD_FILE"); path != "" {
		text, err := regular.Read(path, passwordMost)
		if err != nil {
			return "", fmt.Errorf("RESTIC_PASSWORD_FILE: %w", err)
		}
		return firstLine(text), nil
	}
	if command := os.Getenv("RESTIC_PASSWORD_COMMAND"); command != "" {
		words, err := split(command)
		if err != nil {
			return "", exit.Usagef("RESTIC_PASSWORD_COMMAND: %w", err)
		}
		cmd := exec.CommandContext(ctx, words[0], words[1:]...)
		cmd.Stderr = a.Err
		text, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("RESTIC_PASSWORD_COMMAND: %s: %w", words[0], err)
		}
		return firstLine(text), nil
	}
	text, err := durable.ReadFile(ownFile(url), passwordMost)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoPassword
	}
	return firstLine(text), err
}

// firstLine is what restic takes of a file with a password.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return strings.TrimRight(string(line), "\r")
}

// split parts a command into words: quotes hold them together, and no shell reads it.
func split(command string) (words []string, err error) {
	var word []rune
	quote, in := rune(0), false
	for _, c := range command {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words = append(words, string(word))
			}
			word, in = nil, false
		default:
			word, in = append(word, c), true
		}
	}
	if in {
		words = append(words, string(word))
	}
	if quote != 0 || len(words) == 0 {
		return nil, errors.New("a quotation mark stands alone, or there is no word")
	}
	return words, nil
}

// newPassword makes a password and its file, which must not be there.
func newPassword(url string) (password, file string, err error) {
	file = ownFile(url)
	if err := durable.MakeDir(filepath.Dir(file)); err != nil {
		return "", "", err
	}
	password = away.NewPassword()
	return password, file, durable.WriteFile(file, []byte(password+"\n"), 0o600)
}

// tellOfPassword says once what a lost password means.
func (a *app) tellOfPassword(file string) {
	show.Say(a.Err, "The repository is encrypted, and its password is in %s alone. Copy it to where this machine's loss does not reach: without it nobody can read the repository, ever. On another machine give that file as RESTIC_PASSWORD_FILE.\n", file)
}
