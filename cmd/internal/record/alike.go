package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/cmd/internal/cli"
)

// A snapshot depends on more than the files: on the environment in which it is taken,
// and on what its process may see. Where another process is to take it, both have to
// be alike.

// alikeNames are the variables, beside those that begin with REWIND_ or GIT_, by
// which one process could record something else than another.
var alikeNames = []string{"HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "SUDO_UID",
	"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "TALLOW_CODING_AGENT_DIR"}

// anyhow are variables of these two kinds that change no snapshot: what they say is
// said anew for each hook, or for each git that is started.
var anyhow = []string{"REWIND_HOOK_TOOLS", "REWIND_HOOK_LAYOUT", "REWIND_WATCH", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "GIT_ASKPASS",
	"GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PROXY_COMMAND"}

// alike says what has to be equal, as far as it is set: a name, and a digest of the value.
func (a *app) alike() map[string]string {
	out := map[string]string{}
	set := func(name, value string) {
		sum := sha256.Sum256([]byte(value))
		out[name] = hex.EncodeToString(sum[:8])
	}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		ours := strings.HasPrefix(name, "REWIND_") || strings.HasPrefix(name, "GIT_")
		if ours && !slices.Contains(anyhow, name) || slices.Contains(alikeNames, name) {
			set(name, value)
		}
	}
	set("--force", fmt.Sprint(a.Force))
	set("--no-git", fmt.Sprint(a.NoGit))
	for name, value := range powers() {
		set(name, value)
	}
	return out
}

// differences names what is not alike in two processes.
func differences(mine, theirs map[string]string) (names []string) {
	all := maps.Clone(mine)
	maps.Copy(all, theirs)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if mine[name] != theirs[name] {
			names = append(names, name)
		}
	}
	return names
}

// programIn returns the file that a name stands for in a PATH; "" if there is none.
func programIn(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// program names the program that runs, so that no other version of it is taken for
// the same. What has no version of its own is told by its file.
func program() string {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return cli.Version()
	}
	return programOf(info)
}

func programOf(file os.FileInfo) string {
	v := cli.Version()
	if v != "(devel)" && v != "unknown" && !strings.Contains(v, "dirty") {
		return v
	}
	return fmt.Sprintf("%s of %d bytes, %v", v, file.Size(), file.ModTime().UnixNano())
}
