package gitbridge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/gitbridge/gitconf"
)

// command makes a command of the git program in the repository. It is the only
// place that does. Nothing in the command's environment points elsewhere, and
// nothing of the repository's configuration, whoever wrote it, runs a program
// or reaches the network (docs/decisions/0013-trust.md).
func (r *Repo) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	// Whatever condition a file is included under: only git can judge some.
	conf, err := r.layout.Everything()
	if err != nil {
		return nil, fmt.Errorf("%w, which is not started: of what it may run nothing is known: %w", ErrUnsupportedRepository, err)
	}
	cmd := exec.CommandContext(ctx, r.program, append([]string{"--no-pager", "--git-dir=" + r.layout.GitDir}, args...)...)
	cmd.Dir = r.layout.GitDir
	cmd.Env = append(programEnv(os.Environ()), settingsEnv(inert(conf))...)
	return cmd, nil
}

// keptEnv are the variables of git's that say where the user's own
// configuration is.
var keptEnv = []string{"GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"}

// quietEnv forbids, and wins over any configuration. A protocol of this name
// there is not, so that none is allowed.
var quietEnv = []string{
	"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=-", "GIT_PROTOCOL_FROM_USER=0",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false", "GIT_PROXY_COMMAND=false",
	"GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",
}

// programEnv is an environment for the git program.
func programEnv(env []string) (out []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "GIT_") || slices.Contains(keptEnv, name) {
			out = append(out, v)
		}
	}
	return append(out, quietEnv...)
}

// settingsEnv hands settings to the git program. Unlike with -c their names may
// have an equals sign.
func settingsEnv(settings [][2]string) []string {
	out := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		out = append(out, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return out
}

// off is a command that does nothing, and fails.
const off = "false"

// programs are the settings of git (git-config(1)) that name a program, a place
// to send something to, or something that leads to either, and the value that
// makes each harmless. A star is any name between two dots. Not here are those
// that git takes from the user's own configuration alone (trace2.*,
// uploadpack.packObjectsHook is here all the same), and alias.*, which git's own
// commands go before.
var programs = map[string]string{
	"core.hookspath":             "/dev/null",
	"core.fsmonitor":             "false",
	"core.alternaterefscommand":  off,
	"core.askpass":               off,
	"core.editor":                off,
	"core.gitproxy":              off,
	"core.pager":                 "cat",
	"core.sshcommand":            off,
	"sequence.editor":            off,
	"pager.*":                    "false",
	"credential.helper":          "", // forgets those before it
	"credential.*.helper":        "",
	"protocol.allow":             "never",
	"protocol.*.allow":           "never",
	"hook.*.enabled":             "false",
	"hook.*.command":             off,
	"fetch.bundleuri":            "",
	"gc.auto":                    "0",
	"gc.recentobjectshook":       "",
	"maintenance.auto":           "false",
	"gpg.program":                off,
	"gpg.*.program":              off,
	"gpg.ssh.defaultkeycommand":  off,
	"diff.external":              off,
	"diff.*.command":             off,
	"diff.*.textconv":            off,
	"filter.*.clean":             "",
	"filter.*.smudge":            "",
	"filter.*.process":           "",
	"merge.*.driver":             off,
	"remote.*.uploadpack":        off,
	"remote.*.receivepack":       off,
	"remote.*.vcs":               "-",
	"submodule.*.update":         "none",
	"tar.*.command":              off,
	"trailer.*.command":          off,
	"trailer.*.cmd":              off,
	"uploadpack.packobjectshook": off,
	"interactive.difffilter":     off,
	"difftool.*.cmd":             off,
	"difftool.*.path":            off,
	"mergetool.*.cmd":            off,
	"mergetool.*.path":           off,
	"guitool.*.cmd":              off,
	"browser.*.cmd":              off,
	"browser.*.path":             off,
	"man.*.cmd":                  off,
	"man.*.path":                 off,
	"instaweb.browser":           off,
	"instaweb.httpd":             off,
	"imap.tunnel":                off,
	"sendemail.cccmd":            off,
	"sendemail.headercmd":        off,
	"sendemail.sendmailcmd":      off,
	"sendemail.smtpserver":       off,
	"sendemail.tocmd":            off,
	"sendemail.*.cccmd":          off,
	"sendemail.*.headercmd":      off,
	"sendemail.*.sendmailcmd":    off,
	"sendemail.*.smtpserver":     off,
	"sendemail.*.tocmd":          off,
}

// inert lists settings by which nothing that a configuration names is run. Those
// whose name has no star are set in any case.
func inert(conf *gitconf.Config) [][2]string {
	out := [][2]string{{"hook.reference-transaction.enabled", "false"}}
	for name, value := range programs {
		if !strings.Contains(name, "*") {
			out = append(out, [2]string{name, value})
		}
	}
	done := map[string]bool{}
	for _, s := range conf.Settings() {
		if done[s.Name] {
			continue
		}
		done[s.Name] = true
		section, rest, _ := strings.Cut(s.Name, ".")
		dot := strings.LastIndexByte(rest, '.')
		if section == "hook" && dot > 0 { // of each there is more than one setting
			out = append(out, [2]string{"hook." + rest[:dot] + ".enabled", "false"})
		}
		pattern := section + ".*"
		if dot >= 0 {
			pattern += rest[dot:]
		}
		if value, ok := programs[pattern]; ok {
			out = append(out, [2]string{s.Name, value})
		}
	}
	return out
}
