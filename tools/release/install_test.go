package release

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestInstallShInstallsThisRelease(t *testing.T) {
	needs(t, false, "curl")
	server := httptest.NewServer(http.FileServer(http.Dir(dist(t))))
	defer server.Close()
	home := t.TempDir()
	run(t, []string{"HOME=" + home, "REWIND_BASE_URL=" + server.URL}, "sh", filepath.Join(filepath.Dir(dist(t)), "install.sh"))
	isIt(t, run(t, nil, filepath.Join(home, ".local/bin/rewind"), "version", "--json"))
}

// works runs the program in a root directory where there is nothing but what is
// installed: no library, no git, no shell.
func works(t *testing.T, root, program string) {
	t.Helper()
	for _, dir := range []string{"w", "root", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(root, "w/file")
	in := func(args ...string) string {
		t.Helper()
		return run(t, []string{"HOME=/root", "XDG_STATE_HOME="}, "chroot", append([]string{root, program, "-C", "/w"}, args...)...)
	}
	isIt(t, in("version", "--json"))
	for _, text := range []string{"one", "two"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		in("snapshot", "-m", text)
	}
	in("restore", "--yes", "label:one")
	if text := must(os.ReadFile(file)); string(text) != "one" {
		t.Errorf("restored %q", text)
	}
}

func TestTheDebIsInstalledAndWorksWhereThereIsNothingElse(t *testing.T) {
	deb := filepath.Join(dist(t), "rewind_linux_"+runtime.GOARCH+".deb")
	needs(t, true, "dpkg", "chroot")
	root := t.TempDir()
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, nil, "dpkg", "--root="+root, "--log=/dev/null", "--install", deb)
	works(t, root, "/usr/bin/rewind")
	for _, file := range installed("deb") {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Error(err)
		}
	}
	run(t, nil, "dpkg", "--root="+root, "--log=/dev/null", "--remove", "rewind")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/rewind")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the removal: %v", err)
	}
}

// installed lists the files of a package.
func installed(kind string) []string {
	zsh := "usr/share/zsh/site-functions/_rewind"
	if kind == "deb" {
		zsh = "usr/share/zsh/vendor-completions/_rewind"
	}
	return []string{"usr/bin/rewind", "usr/share/bash-completion/completions/rewind", "usr/share/doc/rewind/THIRD-PARTY-NOTICES.txt", "usr/share/doc/rewind/copyright", "usr/share/fish/vendor_completions.d/rewind.fish", "usr/share/man/man1/rewind.1", zsh}
}

func TestTheRpmHasTheFilesAndWorksWhereThereIsNothingElse(t *testing.T) {
	file := func(arch string) string { return filepath.Join(dist(t), "rewind_linux_"+arch+".rpm") }
	needs(t, true, "rpm", "chroot")
	for _, arch := range []string{"amd64", "arm64"} {
		names := strings.Split(strings.ReplaceAll(strings.TrimSpace(run(t, nil, "rpm", "-qlp", file(arch))), "\n/", "\n"), "\n")
		names[0] = strings.TrimPrefix(names[0], "/")
		if slices.Sort(names); !slices.Equal(names, installed("rpm")) {
			t.Errorf("%s: %q", arch, names)
		}
	}
	root := t.TempDir()
	run(t, nil, "rpm", "--root="+root, "--dbpath=/var/lib/rpm", "-i", file(runtime.GOARCH))
	works(t, root, "/usr/bin/rewind")
}

func TestTheApkHasTheFiles(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		names := tarred(t, must(os.Open(filepath.Join(dist(t), "rewind_linux_"+arch+".apk"))))
		if want := append([]string{".PKGINFO"}, installed("apk")...); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
			t.Errorf("%s: %q", arch, names)
		}
	}
}

// No engine for containers is needed to see whether the program works in an image that
// has nothing else. That the Dockerfile can be built is for the workflow to show.
func TestTheProgramWorksInAnEmptyImage(t *testing.T) {
	from := program(t, here)
	needs(t, true, "chroot")
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "rewind"), must(os.ReadFile(from)), 0o755); err != nil {
		t.Fatal(err)
	}
	works(t, root, "/rewind")
}

func TestShellsAndManReadThePages(t *testing.T) {
	pages := t.TempDir()
	run(t, nil, "tar", "-xzf", filepath.Join(dist(t), "rewind_linux_amd64.tar.gz"), "-C", pages)
	for _, c := range []struct{ name, script, want string }{
		{"bash", "source completions/rewind.bash && complete -p rewind", "complete -o default -F __start_rewind rewind"},
		{"zsh", "autoload -U compinit && compinit -u -d dump && source completions/_rewind && echo $_comps[rewind]", "_rewind"},
		{"fish", "source completions/rewind.fish && complete -c rewind", "complete"},
		{"man", "", "rewind snapshot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			needs(t, false, c.name)
			cmd := exec.Command(c.name, "-c", c.script)
			if c.name == "man" {
				cmd = exec.Command("man", "-l", "--warnings", "man/rewind.1")
			}
			cmd.Dir, cmd.Env = pages, append(os.Environ(), "HOME="+pages)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "warning") {
				t.Errorf("%v: %.300s", err, out)
			}
		})
	}
}

// npm installs from a registry on this machine, and without scripts: none is needed.
func TestNpmInstallsTheProgramOfTheSystemAlone(t *testing.T) {
	dir := filepath.Join(dist(t), "npm")
	needs(t, false, "node", "npm", "tar")
	registry := exec.Command("node", "../npm/registry.mjs", dir)
	stop := must(registry.StdinPipe())
	out := must(registry.StdoutPipe())
	if err := registry.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop.Close(); _ = registry.Wait() }()
	url := strings.TrimSpace(must(bufio.NewReader(out).ReadString('\n')))

	for _, c := range [][3]string{{runtime.GOOS, node(runtime.GOARCH), "rewind"}, {"darwin", "arm64", "rewind"}, {"win32", "x64", "rewind.exe"}} {
		prefix := t.TempDir()
		env := []string{"HOME=" + prefix, "npm_config_registry=" + url, "npm_config_cache=" + prefix + "/cache", "npm_config_userconfig=" + prefix + "/npmrc", "npm_config_update_notifier=false"}
		run(t, env, "npm", "install", "-g", "--prefix", prefix, "--ignore-scripts", "--no-audit", "--no-fund", "--os", c[0], "--cpu", c[1], "@seed-82afce7a/pi-rewind", "@seed-82afce7a/rewind")
		found := must(filepath.Glob(filepath.Join(prefix, "lib/node_modules/@seed-82afce7a/*/node_modules/@seed-82afce7a/rewind-*")))
		found = append(found, must(filepath.Glob(filepath.Join(prefix, "lib/node_modules/@seed-82afce7a/rewind-*")))...)
		want := "rewind-" + c[0] + "-" + c[1]
		if len(found) == 0 || slices.ContainsFunc(found, func(dir string) bool { return path.Base(dir) != want }) {
			t.Errorf("for %s on %s npm installed %q", c[0], c[1], found)
			continue
		}
		if _, err := os.Stat(filepath.Join(found[0], "bin", c[2])); err != nil {
			t.Error(err)
		}
		if c[0] == runtime.GOOS {
			isIt(t, run(t, env, filepath.Join(prefix, "bin/rewind"), "version", "--json"))
		}
	}
}

// node is its name of an architecture of Go.
func node(arch string) string {
	if arch == "amd64" {
		return "x64"
	}
	return arch
}
