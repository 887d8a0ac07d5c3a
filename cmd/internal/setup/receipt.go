package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/trust"
)

// A receipt is what was done for one agent, so that it can be taken back exactly.
type receipt struct {
	Files []entryOf `json:"files"`
	Dirs  []string  `json:"dirs,omitempty"` // that were made for them, each after the one that it lies in
}

// An entryOf says what one file was before, and what it became.
type entryOf struct {
	Path   string `json:"path"`
	Before []byte `json:"before"` // null: there was none
	Sum    string `json:"after"`  // SHA-256 of what it became, hexadecimal
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// after reports whether a file is as we left it.
func (e *entryOf) after(text []byte) bool { return sum(text) == e.Sum }

// receiptFile is where the receipt of an agent lies.
func (s *Setup) receiptFile(name string) string {
	dir := s.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(homeOf(s.Getenv), ".local", "state")
	}
	return filepath.Join(dir, "rewind", "setup", name+".json")
}

const receiptMax = 64 << 20

// own returns nil if the directory of receipts, and the one that it lies in, are the
// user's, as far as they are there. A receipt says what is written to which file when
// a setup is taken back: one of somebody else's would be an order.
func own(path string) error {
	dir := filepath.Dir(path)
	judge := trust.Judge{}
	if err := judge.Owns("", filepath.Dir(dir), dir); err != nil {
		return fmt.Errorf("%w: set XDG_STATE_HOME to a directory of yours", err)
	}
	return nil
}

func readReceipt(path string) (*receipt, error) {
	r := &receipt{}
	if err := own(path); err != nil {
		return nil, err
	}
	text, err := durable.ReadFile(path, receiptMax)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return nil, fmt.Errorf("what was set up before cannot be read: %w", err)
	}
	return r, nil
}

// has reports whether a file is as we left it.
func (r *receipt) has(path string, now []byte) bool {
	for i := range r.Files {
		if r.Files[i].Path == path {
			return r.Files[i].after(now)
		}
	}
	return false
}

// with adds what is done to one file. What it was before anything was set up stays
// known as long as nobody else changed it.
func (r *receipt) with(path string, before, after []byte) *receipt {
	out := &receipt{Dirs: slices.Clone(r.Dirs)}
	var made []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || slices.Contains(out.Dirs, dir) || dir == filepath.Dir(dir) {
			break
		}
		made = append([]string{dir}, made...)
	}
	out.Dirs = append(out.Dirs, made...)
	e := entryOf{Path: path, Before: bytes.Clone(before), Sum: sum(after)}
	for _, f := range r.Files {
		if f.Path != path {
			out.Files = append(out.Files, f)
		} else if f.after(before) {
			e.Before = f.Before
		}
	}
	out.Files = append(out.Files, e)
	return out
}

// scriptBeside is what a script's name ends in where the name itself is somebody else's.
const scriptBeside = ".sh"

// beside returns where one script of several for an event goes: not in the place of the
// user's own, which is called beside it.
func (r *receipt) beside(path string, text []byte) string {
	other := path + scriptBeside
	if now, err := content(other); err == nil && now != nil && (r.has(other, now) || bytes.Equal(now, text)) {
		return other
	}
	ours := slices.ContainsFunc(r.Files, func(f entryOf) bool { return f.Path == path })
	if now, err := content(path); ours || err != nil || now == nil || bytes.Equal(now, text) {
		return path
	}
	return other
}

func (r *receipt) write(path string) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = durable.MakeDir(filepath.Dir(path))
	}
	if err == nil {
		err = own(path) // somebody may have been faster
	}
	if err != nil {
		return err
	}
	return durable.WriteFile(path, text, 0o600)
}

func forget(path string) error {
	err := durable.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// replace writes a file of the user's: through a link to where it leads, with the
// permissions that it has, whole or not at all.
func replace(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	if bytes.HasPrefix(text, []byte("#!")) {
		mode = 0o755
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".rewind-setup-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// removeDirs removes the directories that were made, as far as nothing is in them.
func (r *receipt) removeDirs() {
	for _, dir := range slices.Backward(r.Dirs) {
		_ = os.Remove(dir)
	}
}
