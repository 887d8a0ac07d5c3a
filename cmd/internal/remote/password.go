package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
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
	return filepath.Join(cli.UserDir(), "passwords", cli.URLName(url))
}

// password returns the password of a repository: from where restic has it and as restic reads it, else from our own
// file, which it names then.
func (a *app) password(ctx context.Context, url string) (password, own string, err error) {
	file, command := os.Getenv("RESTIC_PASSWORD_FILE"), os.Getenv("RESTIC_PASSWORD_COMMAND")
	switch {
	case file != "" && command != "":
		return "", "", exit.Usagef("RESTIC_PASSWORD_FILE and RESTIC_PASSWORD_COMMAND are both set: set one of them")
	case command != "":
		password, err = a.ask(ctx, command)
	case file != "":
		var text []byte
		if text, err = regular.Read(file, passwordMost); err != nil {
			return "", "", fmt.Errorf("RESTIC_PASSWORD_FILE: %w", err)
		}
		password = strings.TrimSpace(decoded(text))
	default:
		if password = os.Getenv("RESTIC_PASSWORD"); password == "" {
			if own = ownFile(url); !filepath.IsAbs(own) {
				return "", "", errors.New("there is no home directory (HOME), so no file with the password: set RESTIC_PASSWORD, RESTIC_PASSWORD_FILE or RESTIC_PASSWORD_COMMAND")
			}
			password, err = readOwn(own)
		}
	}
	if hidden := ownFile(url); own == "" && err == nil && filepath.IsAbs(hidden) {
		if made, bad := readOwn(hidden); bad == nil && made != password {
			a.Warn(fmt.Errorf("the password of the environment (RESTIC_PASSWORD…) is taken, and not that of %s, which was made for this repository", hidden))
		}
	}
	if err == nil && password == "" {
		err = errors.New("an empty password is not a password")
	}
	return password, own, err
}

func readOwn(file string) (string, error) {
	text, err := durable.ReadFile(file, passwordMost)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoPassword
	}
	return strings.TrimSpace(string(text)), err
}

// ask runs a command that prints a password.
func (a *app) ask(ctx context.Context, command string) (string, error) {
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
	return strings.TrimSpace(string(text)), nil
}

// decoded is a text without its byte order mark, which may say that it is UTF-16.
func decoded(text []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return string(text[3:])
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return string(text)
	}
	var units []uint16
	for rest := text[2:]; len(rest) > 1; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	return string(utf16.Decode(units))
}

// split parts a command into words as restic does; no shell reads it. Space, a quotation mark, and outside of these a
// backslash end a word. Behind a backslash a quotation mark is none, and the backslash stays if it is inside of others.
func split(command string) (words []string, err error) {
	quote, last, from := rune(0), rune(0), -1
	for at, c := range command {
		ends := false
		switch {
		case last != '\\' && quote != 0 && c == quote:
			quote, ends = 0, true
		case last != '\\' && quote == 0 && (c == '"' || c == '\''):
			quote, ends = c, true
		default:
			last = c
			ends = quote == 0 && (c == '\\' || unicode.IsSpace(c))
		}
		if !ends && from < 0 {
			from = at
		} else if ends && from >= 0 {
			words, from = append(words, command[from:at]), -1
		}
	}
	if from >= 0 {
		words = append(words, command[from:])
	}
	if quote != 0 || len(words) == 0 {
		return nil, errors.New("a quotation mark stands alone, or there is no word")
	}
	return words, nil
}

// newPassword makes a password and its file, unless somebody else was first.
func newPassword(ctx context.Context, file string) (string, error) {
	if err := durable.MakeDir(filepath.Dir(file)); err != nil {
		return "", err
	}
	lock, err := durable.Lock(ctx, filepath.Join(filepath.Dir(file), ".lock"), durable.Exclusive)
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if password, err := readOwn(file); !errors.Is(err, errNoPassword) {
		return password, err
	}
	password := away.NewPassword()
	return password, durable.WriteFile(file, []byte(password+"\n"), 0o600)
}

// tellOfPassword says once what a lost password means.
func (a *app) tellOfPassword(file string) {
	show.Say(a.Err, "The repository is encrypted. Its password is in one file alone:\n  %s\nCopy that to where this machine's loss does not reach: without it nobody can read the repository, ever.\nOn another machine name the copy in RESTIC_PASSWORD_FILE.\n", file)
}
