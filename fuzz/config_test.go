//go:build linux

package fuzz

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestThePathOfARuleFileIsReadAsByGit: relative to the top of the worktree; set to
// nothing there is no such file, also not the usual one.
func TestThePathOfARuleFileIsReadAsByGit(t *testing.T) {
	w := plain(t, kind{})
	git := filepath.Join(w.dir, "home", ".config", "git")
	for name, text := range map[string]string{"../home/.config/git/ignore": "a\n", "../home/.config/git/attributes": "*.t text\n", "rel-ignore": "b\n", "rel-attributes": "*.u text\n"} {
		w.write(name, text)
	}
	for _, name := range []string{"a", "b", "c.t", "c.u"} {
		w.write(name, "a line\r\n")
	}
	w.write("file", "")
	trees := map[string]string{}
	for _, value := range []string{"", "rel-", "./rel-", "file/../rel-", "gone/../rel-", "~/.config/git/", git + "/", "nowhere/"} {
		for key, name := range map[string]string{"core.excludesFile": "ignore", "core.attributesFile": "attributes"} {
			if value == "" {
				name = ""
			}
			w.git("config", key, value+name)
		}
		w.reopen()
		w.settle()
		trees[value] = w.keep().snap.Tree.String()
	}
	if trees[""] == trees["rel-"] || trees["rel-"] == trees["~/.config/git/"] || trees[""] != trees["nowhere/"] {
		t.Errorf("the files make no difference: %v", trees)
	}
	// What follows is known to git since version 2.52; here it is held to what
	// git makes of the same without the prefix.
	for _, c := range []struct{ values, like string }{
		{":(optional)rel-", "rel-"}, {"rel- :(optional)nowhere/", "rel-"}, {"~/.config/git/ :(optional)./rel-", "rel-"}, {":(optional)nowhere/", "~/.config/git/"},
	} {
		for key, name := range map[string]string{"core.excludesFile": "ignore", "core.attributesFile": "attributes"} {
			w.git("config", "--unset-all", key)
			for v := range strings.SplitSeq(c.values, " ") {
				w.git("config", "--add", key, v+name)
			}
		}
		w.reopen()
		w.settle()
		r, err := w.long.Snapshot(t.Context(), nil)
		w.must(err)
		if r.Tree.String() != trees[c.like] {
			t.Errorf("%s is not like %s", c.values, c.like)
		}
	}
}

// TestAttributesOfATreeAreInForceInsteadOfTheWorktrees: attr.tree, which git knows
// since version 2.43. It is held to what git makes of a worktree that has the
// tree's files.
func TestAttributesOfATreeAreInForceInsteadOfTheWorktrees(t *testing.T) {
	for _, name := range []string{"HEAD", "refs/heads/rules", "rules", "rules^{tree}", "HEAD~0:", "a tag", "its id", "the tree's id"} {
		w := plain(t, kind{})
		rules := map[string]string{".gitattributes": "[attr]m text\n*.t m\n", "d/.gitattributes": "*.t -text\n/sub/*.u text\n", "d/sub/.gitattributes": "v.* text\n"}
		for p, text := range rules {
			w.write(p, text)
		}
		w.git("add", "-A")
		w.git("commit", "-qm", "rules")
		w.git("branch", "rules")
		w.git("tag", "-a", "-m", "t", "tag", "rules")
		value := name
		switch name {
		case "a tag":
			value = "refs/tags/tag"
		case "its id":
			value = w.git("rev-parse", "rules")
		case "the tree's id":
			value = w.git("rev-parse", "rules^{tree}")
		}
		for _, p := range []string{"a.t", "d/b.t", "d/sub/c.u", "d/sub/v.x", "d/sub/e/v.x", "e/f/g.t", "e/h.u"} {
			w.write(p, "a line in "+p+"\r\n")
		}
		w.settle()
		want := w.keep() // by the files in the worktree, which are those of the tree
		w.git("config", "attr.tree", value)
		w.reopen()
		for p := range rules {
			w.write(p, "* -text\n")
		}
		w.write("e/.gitattributes", "* eol=crlf\n")
		for range 3 {
			for _, p := range []string{"d/b.t", "e/f/g.t"} {
				w.write(p, "a line in "+p+"\r\n")
			}
			w.settle()
			r, err := w.long.Snapshot(t.Context(), nil)
			w.must(err)
			for _, p := range []string{"a.t", "d/b.t", "d/sub/c.u", "d/sub/v.x", "d/sub/e/v.x", "e/f/g.t", "e/h.u"} {
				if got, want := w.git("rev-parse", r.Tree.String()+":"+p), w.git("rev-parse", want.snap.Tree.String()+":"+p); got != want {
					w.fail("%s: %q is %s, not %s", name, p, got, want)
				}
			}
			if again, err := w.long.Snapshot(t.Context(), nil); err != nil || !again.Reused {
				w.fail("the next scan sees something else: %v", err)
			}
		}
		w.git("config", "attr.tree", "refs/heads/nowhere") // which counts as not written
		w.reopen()
		w.settle()
		w.keep()
	}
}
