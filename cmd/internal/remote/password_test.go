package remote

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
)

// setPassword sets the variables that restic knows, and no others.
func setPassword(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, name := range []string{"RESTIC_PASSWORD", "RESTIC_PASSWORD_FILE", "RESTIC_PASSWORD_COMMAND"} {
		t.Setenv(name, vars[name])
	}
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it is")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPasswordsAreReadAsResticReadsThem(t *testing.T) {
	script := fileOf(t, "#!/bin/sh\n[ $# = 2 ] && printf ' %s,%s \\n\\n' \"$1\" \"$2\"\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	made := map[string]string{}
	run := `"` + script + `" `
	const env, file, command = "RESTIC_PASSWORD", "RESTIC_PASSWORD_FILE", "RESTIC_PASSWORD_COMMAND"
	for _, c := range []struct {
		vars map[string]string
		want string // "": it is refused
	}{
		{map[string]string{env: " as it is\n"}, " as it is\n"},
		{map[string]string{file: fileOf(t, "\t a,b \r\n")}, "a,b"},
		{map[string]string{file: fileOf(t, "\n\ntwo\nlines \n")}, "two\nlines"},
		{map[string]string{file: fileOf(t, "\xef\xbb\xbfa,b\n")}, "a,b"},
		{map[string]string{file: fileOf(t, "\xff\xfea\x00,\x00b\x00\n\x00")}, "a,b"},
		{map[string]string{file: fileOf(t, "\xfe\xff\x00a\xd8\x34\xdd\x1e")}, "a\U0001d11e"},
		{map[string]string{file: fileOf(t, "a,b"), env: "of the environment"}, "a,b"},
		{map[string]string{command: run + "a b", env: "of the environment"}, "a,b"},
		{map[string]string{command: run + `'a "b' "c\" d"`}, `a "b,c\" d`},
		{map[string]string{command: run + `a"b c"`}, "a,b c"},
		{map[string]string{command: run + `a\b`}, "a,b"},
		{map[string]string{command: run + "a\u00a0b"}, "a,b"},
		{map[string]string{command: run + `\"a b`}, `"a,b`},
		{map[string]string{command: run + "a b", file: fileOf(t, "both")}, ""},
		{map[string]string{command: run + `a "b`}, ""},
		{map[string]string{command: run + "a"}, ""},
		{map[string]string{file: fileOf(t, " \n\n")}, ""},
		{map[string]string{file: fileOf(t, " \n"), env: "not asked"}, ""},
		{map[string]string{file: filepath.Join(t.TempDir(), "none"), env: "not asked"}, ""},
	} {
		setPassword(t, c.vars)
		a := &app{&cli.App{Stdio: cli.Stdio{Err: &bytes.Buffer{}}}}
		if got, _, err := a.password(t.Context(), "/none"); got != c.want && err == nil || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v", c.vars, got, err)
		}
		sameForRestic(t, c.vars, c.want, made)
	}
}

// sameForRestic opens a repository that has the one password, and no other. Making them is slow, so they are kept in made.
func sameForRestic(t *testing.T, vars map[string]string, want string, made map[string]string) {
	t.Helper()
	if _, err := exec.LookPath("restic"); err != nil {
		t.Skip("SKIPPED: restic is not installed, and nothing else can say what it reads")
	}
	refused := want == ""
	if refused {
		want = "a,b"
	}
	restic := func(vars map[string]string, args ...string) (string, error) {
		cmd := exec.Command("restic", append([]string{"-r", made[want], "--no-cache"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		for name, value := range vars {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if made[want] == "" {
		made[want] = filepath.Join(t.TempDir(), "repo")
		if out, err := restic(map[string]string{"RESTIC_PASSWORD": want}, "init"); err != nil {
			t.Fatal(out, err)
		}
	}
	if out, err := restic(vars, "cat", "config"); refused != (err != nil) {
		t.Errorf("of %q restic says %v: %s", vars, err, out)
	}
}

func TestOfManyWhoMakeAPasswordAllGetTheSame(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwords", "x")
	var mu sync.Mutex
	got := map[string]bool{}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			p, err := newPassword(t.Context(), file)
			mu.Lock()
			defer mu.Unlock()
			if got[p] = true; err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	kept, err := readOwn(file)
	if err != nil || len(got) != 1 || !got[kept] {
		t.Errorf("%v, and in the file %q: %v", got, kept, err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 { // there the folder's list says who may
		t.Errorf("%v %v", info, err)
	}
}
