package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

// fileMax bounds the user's own file, as gitconf does.
const fileMax = 64 << 20

// ErrByHand says that a file has a form that is not changed here.
var ErrByHand = errors.New("its form is not one that is changed here, and it was left alone: edit it by hand")

// Write gives a setting these values in the user's own file, or takes it away if there are
// none, and leaves all else there as it is, to the byte. It does as git does: the new text
// is written beside it, under the name by which git locks it too, looked at by check, and
// put in its place at once.
func Write(file, key string, values []string, check func(candidate string) error) (err error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // people keep such files elsewhere
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	lock := file + ".lock"
	f, err := durable.CreateNew(lock, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there: another program changes the settings now, or was interrupted (then remove it)", lock)
	}
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()
		if err != nil {
			_ = durable.Remove(lock)
		}
	}()
	text, err := changed(file, key, values)
	if err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil {
		_ = f.Chmod(info.Mode().Perm())
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := sameBut(file, lock, key, values); err != nil {
		return err
	}
	if err := check(lock); err != nil {
		return err
	}
	return durable.Rename(lock, file)
}

// changed is the text of a file with other values of a setting.
func changed(file, key string, values []string) ([]byte, error) {
	text, err := regular.Read(file, fileMax)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	old, err := settingsIn(file)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(text))
	after := -1 // the line behind the last setting of ours that stays
	for _, s := range old {
		section, name, _ := strings.Cut(s.Name, ".")
		switch {
		case s.File != file || section != "rewind" || strings.Contains(name, "."):
		case name == key:
			for at := s.Line - 1; at >= 0 && at < len(lines); at-- {
				lines[at] = nil
				if at == 0 || !bytes.HasSuffix(bytes.TrimRight(lines[at-1], "\r\n"), []byte(`\`)) {
					break
				}
			}
		default:
			after = s.Line
		}
	}
	var added []byte
	for _, v := range values {
		added = fmt.Appendf(added, "\t%s = %s\n", known()[key].name, quoted(v))
	}
	if after < 0 {
		after = len(lines)
		if len(added) > 0 {
			added = append([]byte("[rewind]\n"), added...)
		}
	}
	head := bytes.Join(lines[:min(after, len(lines))], nil)
	if len(head) > 0 && len(added) > 0 && head[len(head)-1] != '\n' {
		head = append(head, '\n')
	}
	return slices.Concat(head, added, bytes.Join(lines[min(after, len(lines)):], nil)), nil
}

// quoted is a value as git's configuration has it.
func quoted(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(v) + `"`
}

func settingsIn(file string) ([]gitconf.Setting, error) {
	c, err := gitconf.ReadFile(file, &gitconf.Options{Env: os.Getenv})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c.Settings(), err
}

// sameBut makes sure that two files say the same but for the values of one setting.
func sameBut(file, candidate, key string, values []string) error {
	old, err := settingsIn(file)
	if err != nil {
		return err
	}
	now, err := settingsIn(candidate)
	if err != nil {
		return fmt.Errorf("%s: %w", file, ErrByHand)
	}
	type said struct{ name, value string }
	rest := func(list []gitconf.Setting) (others []said, ours []string) {
		for _, s := range list {
			if s.Name == "rewind."+key && (s.File == file || s.File == candidate) {
				ours = append(ours, s.Value)
			} else {
				others = append(others, said{s.Name, s.Value})
			}
		}
		return others, ours
	}
	before, _ := rest(old)
	after, ours := rest(now)
	if !slices.Equal(before, after) || !slices.Equal(ours, values) {
		return fmt.Errorf("%s: %w", file, ErrByHand)
	}
	return nil
}
