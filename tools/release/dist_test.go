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
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const most = 20_000_000 // bytes of a program (decision 0033)

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
	text := must(os.ReadFile(filepath.Join(dist(t), "checksums.txt")))
	key := strings.TrimSpace(run(t, nil, "ssh-keygen", "-y", "-f", os.Getenv("REWIND_SIGNING_KEY")))
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, []byte("release "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
