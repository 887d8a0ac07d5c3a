package trust

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

const somebody = 12345

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files to another user")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsOursAndWhatIsNot(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"ours", "theirs"} {
		must(t, os.WriteFile(at(name), nil, 0o600), os.Symlink(at(name), at("our link to "+name)), os.Symlink(at(name), at("their link to "+name)))
		must(t, os.Lchown(at("their link to "+name), somebody, somebody))
	}
	must(t, os.Lchown(at("theirs"), somebody, somebody))
	for path, owner := range map[string]string{
		"": "", at("ours"): "", at("nothing"): "", at("ours/below a file"): "", at("our link to ours"): "",
		at("theirs"): "user 12345", at("our link to theirs"): "user 12345", at("their link to ours"): "user 12345",
	} {
		j := &Judge{Env: func(string) string { return "" }}
		err := j.Owns("name", at("ours"), path)
		var f *Foreign
		if errors.As(err, &f) != (owner != "") || f != nil && (f.Owner != owner || f.Path != path || f.Named != "name" || !errors.Is(err, ErrForeign)) {
			t.Errorf("%q: %v", path, err)
		}
		j.Env = func(name string) string { return map[string]string{"SUDO_UID": "12345"}[name] }
		if err := j.Owns("", path); err != nil {
			t.Errorf("%q by sudo of its owner: %v", path, err)
		}
		j.Env = func(name string) string { return "12346" }
		if err := j.Owns("", path); (err != nil) != (owner != "") {
			t.Errorf("%q by sudo of another user: %v", path, err)
		}
	}
}

func TestAnExceptionIsAskedForOnlyWhereItIsNeeded(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	asked := 0
	j := &Judge{Allowed: func(name string) bool { asked++; return name == "allowed" }}
	if err := j.Owns("allowed", dir, dir); err != nil || asked != 0 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	must(t, os.Lchown(dir, somebody, somebody))
	if err := j.Owns("allowed", dir, dir); err != nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	for _, name := range []string{"other", ""} {
		if err := j.Owns(name, dir); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if !SameOwner(dir, dir) || SameOwner(dir, filepath.Dir(dir)) || SameOwner(dir, filepath.Join(dir, "nothing")) {
		t.Error("owners are confused")
	}
}
