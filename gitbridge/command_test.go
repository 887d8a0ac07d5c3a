package gitbridge

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// named gives a pattern of [programs] a name, or another one.
func named(pattern string, another bool) string {
	name := "x y.z = a"
	switch {
	case strings.HasSuffix(pattern, "*") && another:
		name = "another"
	case strings.HasSuffix(pattern, "*"):
		name = "one"
	case another:
		name = "Another"
	}
	return strings.ReplaceAll(pattern, "*", name)
}

// TestEachSettingThatNamesAProgramIsOverridden asks git itself what is in force,
// where the repository has each of them twice: in its own file, and in one that
// is included under a condition which only git can judge.
func TestEachSettingThatNamesAProgramIsOverridden(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	included := r.Path("included")
	for _, file := range []string{r.Path(".git", "config"), included} {
		for pattern := range programs {
			name, value := named(pattern, file == included), "tripwire"
			if pattern == "core.fsmonitor" || pattern == "gc.auto" || strings.HasSuffix(pattern, "enabled") {
				value = "1"
			} else if strings.HasPrefix(pattern, "protocol.") {
				value = "always"
			} else if strings.HasPrefix(pattern, "submodule.") {
				value = "!tripwire"
			}
			r.Git("config", "--file", file, name, value)
		}
	}
	r.Git("config", "remote.o.url", "x")
	r.Git("config", "includeIf.hasconfig:remote.*.url:x.path", included)
	b := r.open()
	for pattern, want := range programs {
		for _, name := range []string{named(pattern, false), named(pattern, true)} {
			if got, err := b.git(t.Context(), nil, "config", "--get", name); err != nil || got != want {
				t.Errorf("%s is %q in force, not %q (%v)", name, got, want, err)
			}
			if was := r.Git("config", "--get", name); was == want {
				t.Errorf("%s is %q anyway: nothing is shown", name, was)
			}
		}
	}
}

// harmless are documented settings that look as if they named a program or a
// place, and why they lead to none.
var harmless = map[string]string{
	"color.pager": "a colour", "core.fsmonitorhookversion": "a number", "core.logallrefupdates": "a kind", "core.quotepath": "a bool",
	"clean.requireforce": "a bool", "column.clean": "a layout", "commit.cleanup": "a mode", "completion.commands": "names of verbs",
	"diff.tool": "of difftool.*.cmd", "diff.guitool": "of difftool.*.cmd", "merge.tool": "of mergetool.*.cmd", "merge.guitool": "of mergetool.*.cmd",
	"difftool.trustexitcode": "a bool", "mergetool.*.trustexitcode": "a bool", "merge.*.recursive": "names a driver",
	"help.browser": "of browser.*.cmd", "web.browser": "of browser.*.cmd", "help.htmlpath": "a directory of the user's browser",
	"instaweb.modulepath": "of instaweb.httpd", "gitcvs.dbdriver": "of a server that nobody starts here",
	"remote.*.proxy": "no protocol is allowed", "http.proxy": "no protocol is allowed", "http.*": "no protocol is allowed",
	"remote.*.url": "no protocol is allowed", "remote.*.pushurl": "no protocol is allowed", "bundle.*.uri": "no protocol is allowed",
	"submodule.*.url": "no protocol is allowed", "url.*.insteadof": "no protocol is allowed", "url.*.pushinsteadof": "no protocol is allowed",
	"remote.*.skipdefaultupdate": "a bool", "remote.*.partialclonefilter": "a filter of objects", "receive.shallowupdate": "a bool",
	"rerere.autoupdate": "a bool", "receive.updateserverinfo": "a bool", "repack.updateserverinfo": "a bool", "status.color": "a colour",
	"include.path": "a file of settings, which count like the others", "includeif.*.path": "the same", "http.sslcapath": "a directory",
	"diff.*.cachetextconv": "a bool", "sendemail.smtpsslcertpath": "certificates", "transfer.credentialsinurl": "a kind",
	"status.relativepaths": "a bool", "commitgraph.readchangedpaths": "a bool", "sendemail.smtpserveroption": "an option",
	"credential.*": "credential.*.helper is overridden", "credential.usehttppath": "a bool", "gitweb.url": "a link in a page", "notes.rewrite.*": "a bool",
}

var suspicious = regexp.MustCompile(`(cmd|command|program|helper|driver|textconv|clean|smudge|process|editor|pager|path|pager\.\*|hook|external|browser|tunnel|askpass|proxy|uploadpack|receivepack|vcs|\.update|httpd|tool|smtpserver|uri|url|insteadof|fsmonitor|difffilter)$`)

// TestEveryDocumentedSettingThatMayNameAProgramIsKnown walks through the list
// that this git prints of what it documents.
func TestEveryDocumentedSettingThatMayNameAProgramIsKnown(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	seen := 0
	for name := range strings.SplitSeq(r.Git("help", "-c"), "\n") {
		name = strings.ToLower(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.TrimSpace(name), "*"))
		if !suspicious.MatchString(name) || strings.HasPrefix(name, "advice.") || strings.Contains(name, "fsck.") {
			continue
		}
		seen++
		if _, ok := programs[name]; !ok && harmless[name] == "" {
			t.Errorf("%s is neither overridden nor said to be harmless", name)
		}
	}
	if seen < 50 {
		t.Errorf("git documents %d such settings: is this its list?", seen)
	}
}

// A wire is a way by which git runs what a repository names.
type wire struct {
	settings []string // names and values; WIRE stands for a command that leaves a file behind
	args     []string
	stdin    string
}

var wires = map[string]wire{
	"hook of core.hooksPath": {[]string{"core.hooksPath", "HOOKS"}, []string{"update-ref", "refs/heads/y", "HEAD"}, ""},
	"hook":                   {nil, []string{"update-ref", "refs/heads/y", "HEAD"}, ""},
	"fsmonitor":              {[]string{"core.fsmonitor", "WIRE"}, []string{"--work-tree=..", "status"}, ""},
	"alternates":             {[]string{"core.alternateRefsCommand", "WIRE"}, []string{"rev-list", "--alternate-refs"}, ""},
	"askpass":                {[]string{"core.askPass", "SCRIPT"}, []string{"credential", "fill"}, "protocol=https\nhost=h\n\n"},
	"credential helper":      {[]string{"credential.helper", "!WIRE"}, []string{"credential", "fill"}, "protocol=https\nhost=h\n\n"},
	"helper of a URL":        {[]string{"credential.https://h.helper", "!WIRE"}, []string{"credential", "fill"}, "protocol=https\nhost=h\n\n"},
	"editor":                 {[]string{"core.editor", "WIRE"}, []string{"--work-tree=..", "commit", "--allow-empty"}, ""},
	"sequence editor":        {[]string{"sequence.editor", "WIRE"}, []string{"--work-tree=..", "rebase", "-i", "--root"}, ""},
	"gpg":                    {[]string{"gpg.program", "SCRIPT", "user.signingKey", "k"}, []string{"--work-tree=..", "commit", "-S", "--allow-empty", "-m", "x"}, ""},
	"gpg of a format":        {[]string{"gpg.x509.program", "SCRIPT", "gpg.format", "x509", "user.signingKey", "k"}, []string{"--work-tree=..", "commit", "-S", "--allow-empty", "-m", "x"}, ""},
	"external diff":          {[]string{"diff.external", "WIRE"}, []string{"diff", "HEAD~", "HEAD"}, ""},
	"diff driver":            {[]string{"diff.a.command", "WIRE"}, []string{"diff", "HEAD~", "HEAD"}, ""},
	"textconv":               {[]string{"diff.a.textconv", "WIRE"}, []string{"diff", "HEAD~", "HEAD"}, ""},
	"clean filter":           {[]string{"filter.a.clean", "WIRE"}, []string{"hash-object", "--stdin", "--path", "file"}, "x"},
	"filter process":         {[]string{"filter.a.process", "WIRE"}, []string{"hash-object", "--stdin", "--path", "file"}, "x"},
	"smudge filter":          {[]string{"filter.a.smudge", "WIRE"}, []string{"cat-file", "--filters", "HEAD:file"}, ""},
	"merge driver":           {[]string{"merge.a.driver", "WIRE"}, []string{"merge-tree", "--write-tree", "main", "other"}, ""},
	"lazy fetch":             {[]string{"extensions.partialClone", "o", "remote.o.promisor", "true", "remote.o.uploadpack", "WIRE"}, []string{"update-ref", "refs/heads/y", strings.Repeat("1", 40)}, ""},
	"lazy fetch, allowed":    {[]string{"protocol.file.allow", "always", "extensions.partialClone", "o", "remote.o.promisor", "true", "remote.o.uploadpack", "WIRE"}, []string{"rev-parse", strings.Repeat("1", 40) + "^{tree}"}, ""},
	"uploadpack":             {[]string{"remote.o.uploadpack", "WIRE"}, []string{"ls-remote", "o"}, ""},
	"receivepack":            {[]string{"remote.o.receivepack", "WIRE"}, []string{"push", "o", "HEAD:refs/heads/z"}, ""},
	"ext transport":          {[]string{"protocol.ext.allow", "always"}, []string{"ls-remote", "ext::SCRIPT"}, ""},
	"vcs":                    {[]string{"remote.o.vcs", "ext", "protocol.ext.allow", "always", "remote.o.url", "SCRIPT"}, []string{"ls-remote", "o"}, ""},
	"ssh":                    {[]string{"core.sshCommand", "WIRE"}, []string{"ls-remote", "ssh://h/x"}, ""},
	"proxy":                  {[]string{"core.gitProxy", "SCRIPT"}, []string{"ls-remote", "git://h/x"}, ""},
	"trailer":                {[]string{"trailer.a.command", "WIRE"}, []string{"interpret-trailers", "--trailer", "a=1"}, "x\n"},
	"trailer's cmd":          {[]string{"trailer.a.cmd", "WIRE"}, []string{"interpret-trailers", "--trailer", "a=1"}, "x\n"},
	"archive format":         {[]string{"tar.a.command", "WIRE"}, []string{"archive", "--format=a", "HEAD"}, ""},
}

// wired makes a repository with a wire in it.
func wired(t *testing.T, name string, w wire) (r *repo, args []string, tripped func() bool) {
	r = newRepo(t, oid.SHA1)
	ran := filepath.Join(t.TempDir(), "ran")
	hook := "touch '" + ran + "'\nexit 1"
	r.Write("file", "one")
	r.Git("add", ".")
	r.Git("commit", "-qm", "one")
	r.Git("branch", "other")
	for branch, text := range map[string]string{"other": "two", "main": "three"} {
		r.Git("checkout", "-q", branch)
		r.Write("file", text)
		r.Git("commit", "-qam", text)
	}
	r.Git("checkout", "-q", "main")
	r.Git("init", "-q", "--bare", "alternate")
	r.Git("remote", "add", "o", r.Path("alternate"))
	r.Write(".git/objects/info/alternates", r.Path("alternate", "objects")+"\n")
	r.Write(".git/info/attributes", "* diff=a filter=a merge=a\n")
	r.Script("script", hook)
	r.Script("hooks/reference-transaction", hook)
	if name == "hook" {
		r.Script(".git/hooks/reference-transaction", hook)
	}
	put := strings.NewReplacer("WIRE", "touch '"+ran+"'; false", "SCRIPT", r.Path("script"), "HOOKS", r.Path("hooks")).Replace
	for i := 0; i < len(w.settings); i += 2 {
		r.Git("config", w.settings[i], put(w.settings[i+1]))
	}
	for _, a := range w.args {
		args = append(args, put(a))
	}
	return r, args, func() bool { _, err := os.Stat(ran); return err == nil }
}

// TestNoWireIsTripped runs git where it runs what the repository names, first as
// a user would, to see the wire work, and then as we do.
func TestNoWireIsTripped(t *testing.T) {
	gittest.Programs(t)
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			r, args, tripped := wired(t, name, w)
			b := r.open()
			cmd, err := b.command(t.Context(), args...)
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdin = strings.NewReader(w.stdin)
			out, _ := cmd.CombinedOutput() // it may well fail
			if tripped() {
				t.Errorf("the wire is tripped: %s", out)
			}
			control := exec.Command("git", append([]string{"--git-dir=" + cmd.Dir}, args...)...)
			control.Dir, control.Stdin = cmd.Dir, strings.NewReader(w.stdin)
			control.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
			if out, err := control.CombinedOutput(); !tripped() {
				t.Errorf("git by itself does not trip this wire, which shows nothing: %v %s", err, out)
			}
		})
	}
}
