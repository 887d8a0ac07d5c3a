//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A host has what install.sh finds: the shell that runs it, the programs it may call, and
// what the machine says it is.
type host struct {
	shell, fetch   string
	busybox        bool // all programs are its own
	system, chip   string
	home, tmp, bin string
	dir            string // REWIND_INSTALL_DIR
}

// tools are what install.sh calls, beside a program that fetches.
var tools = []string{"mktemp", "mkdir", "rm", "mv", "cp", "chmod", "tar", "gzip", "sha256sum", "cat"}

func newHost(t *testing.T, h host) *host {
	t.Helper()
	root := t.TempDir()
	h.home, h.tmp, h.bin = filepath.Join(root, "home"), filepath.Join(root, "tmp"), filepath.Join(root, "bin")
	for _, dir := range []string{h.home, h.tmp, h.bin} {
		must(t, os.Mkdir(dir, 0o755))
	}
	for _, name := range append([]string{h.shell, h.fetch}, tools...) {
		from := name
		if h.busybox {
			from = "busybox"
		}
		file, err := exec.LookPath(from)
		if err != nil {
			t.Skipf("SKIPPED: there is no %s", from)
		}
		must(t, os.Symlink(file, filepath.Join(h.bin, name)))
	}
	uname := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -m ] && echo %s || echo %s\n", h.chip, h.system)
	must(t, os.WriteFile(filepath.Join(h.bin, "uname"), []byte(uname), 0o755))
	return &h
}

// run hands the installer to the shell and returns what it says.
func (h *host) run(url string, installer []byte) (string, error) {
	if h.busybox { // some builds of it call their own uname, whatever PATH has; a function comes before that
		installer = append([]byte("uname() { "+filepath.Join(h.bin, "uname")+" \"$@\"; }\n"), installer...)
	}
	cmd := exec.Command(filepath.Join(h.bin, h.shell))
	cmd.Stdin, cmd.Dir = bytes.NewReader(installer), h.home
	cmd.Env = []string{"HOME=" + h.home, "TMPDIR=" + h.tmp, "PATH=" + h.bin, "SHELL=/bin/zsh", "REWIND_BASE_URL=" + url}
	if h.dir != "" {
		cmd.Env = append(cmd.Env, "REWIND_INSTALL_DIR="+h.dir)
	}
	said, err := cmd.CombinedOutput()
	return string(said), err
}

// left lists the files in the home and among the temporary ones.
func (h *host) left(t *testing.T) (files []string) {
	t.Helper()
	for _, top := range []string{h.home, h.tmp} {
		must(t, filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err == nil && (!d.IsDir() || top == h.tmp && name != top) {
				files = append(files, strings.TrimPrefix(name, filepath.Dir(top)+"/"))
			}
			return err
		}))
	}
	return files
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// release serves a release for one system, whose program is a script.
func release(t *testing.T, program string, change func(files map[string][]byte)) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, file := range [][2]string{{"README.md", "read me"}, {"rewind", program}} {
		must(t, w.WriteHeader(&tar.Header{Name: file[0], Mode: 0o755, Size: int64(len(file[1]))}))
		_, err := w.Write([]byte(file[1]))
		must(t, err)
	}
	must(t, w.Close())
	must(t, z.Close())
	files := map[string][]byte{"rewind_linux_arm64.tar.gz": packed.Bytes()}
	files["checksums.txt"] = fmt.Appendf(nil, "0000  rewind_linux_amd64.tar.gz\n%x  rewind_linux_arm64.tar.gz\n", sha256.Sum256(packed.Bytes()))
	if change != nil {
		change(files)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := files[path.Base(r.URL.Path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if cut, ok := bytes.CutSuffix(body, []byte("CUT")); ok { // more was announced
			body = cut
			w.Header().Set("Content-Length", strconv.Itoa(len(body)+1000))
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const fake = "#!/bin/sh\necho rewind version 9.9.9\n"

// hosts are three kinds of machine, of which the last has little.
var hosts = []host{
	{shell: "sh", fetch: "curl", system: "Linux", chip: "aarch64"},
	{shell: "dash", fetch: "wget", system: "Linux", chip: "arm64"},
	{shell: "sh", fetch: "wget", busybox: true, system: "Linux", chip: "aarch64"},
}

func onEach(t *testing.T, f func(t *testing.T, h *host)) {
	for _, h := range hosts {
		name := h.shell + "-" + h.fetch
		if h.busybox {
			name = "busybox"
		}
		t.Run(name, func(t *testing.T) { f(t, newHost(t, h)) })
	}
}

func TestInstallPutsTheProgramInPlaceAndSaysWhatToDo(t *testing.T) {
	url := release(t, fake, nil)
	onEach(t, func(t *testing.T, h *host) {
		said, err := h.run(url, script(t))
		program := filepath.Join(h.home, ".local/bin/rewind")
		want := "rewind version 9.9.9 is now " + program + "\n" + filepath.Dir(program) + " is not in your PATH. To add it, run this, and open a new terminal:\n    echo 'export PATH=\"" + filepath.Dir(program) + ":$PATH\"' >>~/.zshrc\n"
		if err != nil || said != want {
			t.Errorf("%v: %s", err, said)
		}
		if left := h.left(t); len(left) != 1 || left[0] != "home/.local/bin/rewind" {
			t.Errorf("left %q", left)
		}
		h.dir = h.bin // which is in PATH
		if said, err := h.run(url, script(t)); err != nil || said != "rewind version 9.9.9 is now "+h.bin+"/rewind\n" {
			t.Errorf("in PATH: %v: %s", err, said)
		}
	})
}

func TestInstallChangesNothingWhereItFails(t *testing.T) {
	good := release(t, fake, nil)
	arm := "rewind_linux_arm64.tar.gz"
	wrong := release(t, fake, func(f map[string][]byte) { f[arm] = append(f[arm], 0) })
	cut := release(t, fake, func(f map[string][]byte) { f[arm] = append(f[arm][:len(f[arm])/2:len(f[arm])/2], "CUT"...) })
	short := release(t, fake, func(f map[string][]byte) { f[arm] = f[arm][:len(f[arm])/2] })
	absent := release(t, fake, func(f map[string][]byte) { delete(f, arm) })
	unnamed := release(t, fake, func(f map[string][]byte) { f["checksums.txt"] = []byte("00  other\n") })
	broken := release(t, "#!/bin/sh\nexit 1\n", nil)
	onEach(t, func(t *testing.T, h *host) {
		for _, c := range []struct {
			name, url, want string
			change          func(h *host)
		}{
			{"a wrong sum", wrong, "should have", nil},
			{"a cut download", cut, "", nil},
			{"a cut download that the server does not tell of", short, "cut off or changed", nil},
			{"no archive", absent, "could not be fetched", nil},
			{"no sum", unnamed, "does not name rewind_linux_arm64.tar.gz", nil},
			{"a program that does not run", broken, "does not run on this machine", nil},
			{"no server", "http://127.0.0.1:1", "could not be fetched", nil},
			{"a system without a build", good, "there is no build for Plan9", func(h *host) { h.system = "Plan9" }},
			{"Windows", good, "on Windows use: npm", func(h *host) { h.system = "MINGW64_NT-10.0" }},
			{"a processor without a build", good, "no build for the processor riscv64", func(h *host) { h.chip = "riscv64" }},
		} {
			h := *h
			if c.change != nil {
				c.change(&h)
			}
			h = *newHost(t, h)
			old := filepath.Join(h.home, ".local/bin/rewind")
			must(t, os.MkdirAll(filepath.Dir(old), 0o755))
			must(t, os.WriteFile(old, []byte("the one before"), 0o755))
			said, err := h.run(c.url, script(t))
			if err == nil || !strings.Contains(said, "rewind was not installed: ") || !strings.Contains(said, c.want) {
				t.Errorf("%s: %v: %s", c.name, err, said)
			}
			kept, _ := os.ReadFile(old)
			if left := h.left(t); len(left) != 1 || string(kept) != "the one before" {
				t.Errorf("%s: left %q, of which the program is %q", c.name, left, kept)
			}
		}
	})
}

// A shell that reads a script from the network runs what came of it.
func TestHalfOfTheInstallerDoesNothing(t *testing.T) {
	url := release(t, fake, nil)
	h := newHost(t, hosts[0])
	lines := bytes.SplitAfter(script(t), []byte("\n"))
	for i := range len(lines) - 1 {
		part := bytes.Join(lines[:i], nil)
		said, _ := h.run(url, part)
		if left := h.left(t); len(left) > 0 || strings.Contains(said, "rewind version") {
			t.Errorf("after %d lines: left %q: %s", i, left, said)
		}
	}
}

func script(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../install.sh")
	must(t, err)
	return text
}
