// Package release tests what goreleaser has made, in the directory that REWIND_DIST
// names: `make dist` does so, which builds it twice.
package release

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

const most = 16_000_000 // bytes of a program

// platforms are what a release has, as system and architecture.
var platforms = []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64", "windows_arm64"}

var here = runtime.GOOS + "_" + runtime.GOARCH

func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("REWIND_DIST")
	if dir == "" {
		t.Skip("SKIPPED: REWIND_DIST names no release; make dist makes one")
	}
	return dir
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// program is the file of a platform that goreleaser has built.
func program(t *testing.T, platform string) string {
	t.Helper()
	found := must(filepath.Glob(filepath.Join(dist(t), "rewind_"+platform+"_*", "rewind*")))
	if len(found) != 1 {
		t.Fatalf("%s: %q", platform, found)
	}
	return found[0]
}

// run runs a command, which must not fail.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, exit.Stderr...)
		}
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// needs skips a test where a program, or root, is missing.
func needs(t *testing.T, root bool, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: there is no %s", name)
		}
	}
	if root && os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can change its root directory")
	}
}

type build struct{ Version, Commit, Date, Go string }

// metadata is what goreleaser says that it has built.
func metadata(t *testing.T) (m build) {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(dist(t), "metadata.json")))
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// isIt compares what a program says of itself with what was built.
func isIt(t *testing.T, said string) {
	t.Helper()
	var got build
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	want := metadata(t)
	if got.Version != want.Version || got.Commit != want.Commit || got.Date == "" || got.Go != runtime.Version() {
		t.Errorf("the program says %+v, and is %+v", got, want)
	}
}

func TestEachProgramIsStaticStrippedSmallAndFromNowhere(t *testing.T) {
	for _, platform := range platforms {
		file := program(t, platform)
		text := must(os.ReadFile(file))
		if len(text) > most {
			t.Errorf("%s has %d bytes", platform, len(text))
		}
		if bytes.Contains(text, []byte(filepath.Dir(dist(t)))) {
			t.Errorf("%s has the name of the directory in which it was built", platform)
		}
		settings := map[string]string{}
		for _, s := range must(buildinfo.ReadFile(file)).Settings {
			settings[s.Key] = s.Value
		}
		if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" || settings["GOOS"]+"_"+settings["GOARCH"] != platform {
			t.Errorf("%s: %v", platform, settings)
		}
		for _, section := range sections(t, platform, file) {
			if slices.Contains([]string{".interp", ".symtab", ".debug_info", ".zdebug_info", "__debug_info", "__zdebug_info"}, section) {
				t.Errorf("%s has a section %s", platform, section)
			}
		}
		t.Logf("%s: %d bytes", platform, len(text))
	}
}

// sections lists the parts of a program; on macOS every program loads the system's library.
func sections(t *testing.T, platform, file string) (names []string) {
	t.Helper()
	switch system, _, _ := strings.Cut(platform, "_"); system {
	case "linux":
		for _, s := range must(elf.Open(file)).Sections {
			names = append(names, s.Name)
		}
	case "darwin":
		for _, s := range must(macho.Open(file)).Sections {
			names = append(names, s.Name)
		}
	case "windows":
		f := must(pe.Open(file))
		if len(f.Symbols) > 0 {
			t.Errorf("%s has %d symbols", platform, len(f.Symbols))
		}
		for _, s := range f.Sections {
			names = append(names, strings.Replace(s.Name, ".symtab", ".empty", 1)) // Go's linker always makes one
		}
	}
	if len(names) < 3 {
		t.Fatalf("%s has the sections %q", file, names)
	}
	return names
}

func TestTheProgramSaysWhatItIs(t *testing.T) {
	isIt(t, run(t, nil, program(t, here), "version", "--json"))
}

// packed are the names in each archive, without those of the program itself.
var packed = []string{"LICENSE", "README.md", "THIRD-PARTY-NOTICES.txt", "completions/_rewind", "completions/rewind.bash", "completions/rewind.fish", "completions/rewind.ps1", "man/rewind.1"}

func TestTheArchivesHaveTheProgramItsPagesAndItsLicences(t *testing.T) {
	for _, platform := range platforms {
		var names []string
		want := append(slices.Clone(packed), "rewind")
		if strings.HasPrefix(platform, "windows") {
			want = append(slices.Clone(packed), "rewind.exe")
			z := must(zip.OpenReader(filepath.Join(dist(t), "rewind_"+platform+".zip")))
			for _, f := range z.File {
				names = append(names, f.Name)
			}
		} else {
			names = tarred(t, must(os.Open(filepath.Join(dist(t), "rewind_"+platform+".tar.gz"))))
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%s has %q", platform, names)
		}
	}
}

// tarred lists the files of a tar, or of several, one behind the other.
func tarred(t *testing.T, r io.Reader) (names []string) {
	t.Helper()
	z := bufio.NewReader(must(gzip.NewReader(r)))
	for {
		if _, err := z.Peek(1); err == io.EOF {
			return names
		}
		files := tar.NewReader(z)
		for {
			h, err := files.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Typeflag != tar.TypeDir {
				names = append(names, h.Name)
			}
		}
	}
}

// sums reads checksums.txt.
func sums(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(dist(t), "checksums.txt"))))) {
		words := strings.Fields(line)
		out[words[1]] = words[0]
	}
	return out
}

func TestTheSumsNameEveryFileOfTheRelease(t *testing.T) {
	want := []string{"install.sh"}
	for _, platform := range platforms {
		ends := []string{".tar.gz", ".cdx.json"}
		switch system, _, _ := strings.Cut(platform, "_"); system {
		case "windows":
			ends[0] = ".zip"
		case "linux":
			ends = append(ends, ".deb", ".rpm", ".apk")
		}
		for _, end := range ends {
			want = append(want, "rewind_"+platform+end)
		}
	}
	got := sums(t)
	for _, name := range want {
		dir := dist(t)
		if name == "install.sh" {
			dir = filepath.Dir(dir)
		}
		text := must(os.ReadFile(filepath.Join(dir, name)))
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); got[name] != sum {
			t.Errorf("%s has the sum %s, and is said to have %q", name, sum, got[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files have sums, and there are %d", len(got), len(want))
	}
}

func TestTheListOfPartsNamesEachModule(t *testing.T) {
	for _, platform := range platforms {
		var list struct {
			BOMFormat  string
			Components []struct{ Name, Version string }
		}
		text := must(os.ReadFile(filepath.Join(dist(t), "rewind_"+platform+".cdx.json")))
		if err := json.Unmarshal(text, &list); err != nil || list.BOMFormat != "CycloneDX" {
			t.Fatalf("%s: %v", platform, err)
		}
		for _, module := range must(buildinfo.ReadFile(program(t, platform))).Deps {
			if !slices.ContainsFunc(list.Components, func(c struct{ Name, Version string }) bool {
				return c.Name == module.Path && c.Version == module.Version
			}) {
				t.Errorf("%s: %s %s is not named", platform, module.Path, module.Version)
			}
		}
	}
}

func TestASignatureHoldsForTheSumsAndForNothingElse(t *testing.T) {
	needs(t, false, "ssh-keygen")
	key := strings.TrimSpace(run(t, nil, "ssh-keygen", "-y", "-f", os.Getenv("REWIND_SIGNING_KEY")))
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, []byte("release "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := must(os.ReadFile(filepath.Join(dist(t), "checksums.txt")))
	check := func(text []byte) error {
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", signers, "-I", "release", "-n", "file", "-s", filepath.Join(dist(t), "checksums.txt.sig"))
		cmd.Stdin = bytes.NewReader(text)
		return cmd.Run()
	}
	if err := check(text); err != nil {
		t.Errorf("the signature does not hold: %v", err)
	}
	if check(append(text, '\n')) == nil {
		t.Error("the signature holds for another text")
	}
}

func TestTheCaskAndTheScoopManifestNameTheArchives(t *testing.T) {
	for file, systems := range map[string][]string{"homebrew/Casks/rewind.rb": platforms[:4], "scoop/rewind.json": platforms[4:]} {
		text := string(must(os.ReadFile(filepath.Join(dist(t), file))))
		for _, platform := range systems {
			name := "rewind_" + platform + ".tar.gz"
			if strings.HasPrefix(platform, "windows") {
				name = "rewind_" + platform + ".zip"
			}
			_, behind, ok := strings.Cut(text, "/"+name+"\"")
			if !ok || !strings.Contains(behind[:min(len(behind), 250)], `"`+sums(t)[name]+`"`) {
				t.Errorf("%s does not name %s with its sum", file, name)
			}
		}
	}
}

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

func TestTwoBuildsInTwoDirectoriesAreTheSameToTheByte(t *testing.T) {
	again := os.Getenv("REWIND_DIST_AGAIN")
	if again == "" {
		t.Skip("SKIPPED: REWIND_DIST_AGAIN names no second build")
	}
	names := []string{"checksums.txt", "checksums.txt.sig", "homebrew/Casks/rewind.rb", "scoop/rewind.json"}
	for name := range sums(t) {
		if name != "install.sh" {
			names = append(names, name)
		}
	}
	for _, name := range names {
		one, two := must(os.ReadFile(filepath.Join(dist(t), name))), must(os.ReadFile(filepath.Join(again, name)))
		if !bytes.Equal(one, two) {
			t.Errorf("%s differs", name)
		}
	}
	anew := must(os.ReadFile(os.Getenv("REWIND_ANEW")))
	if !bytes.Equal(anew, must(os.ReadFile(program(t, "linux_amd64")))) {
		t.Error("a build without what the compiler remembered differs")
	}
}
