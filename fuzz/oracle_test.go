//go:build linux

package fuzz

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
)

// An expectation is what git makes of the worktree.
type expectation struct {
	tree   string
	failed []string // paths that make git add fail
	denied bool     // it could not search a directory
	links  []string // those of them that are submodules in the index
	edited []string // those of them that are directories, and not in a conflict
}

// expected is the oracle: a copy of the index, git add -A, git write-tree. The
// copy differs from the index in what the three differences of the design say:
// no entry is assumed to be unchanged, none that is on disk is not wanted
// there, and what makes git add fail is left out of the tree. The stat data of
// an entry are cleared in it too unless they are the file's to the nanosecond
// and clearly older than the index: git compares whole seconds, and would miss
// edits. The copy is as old as the index, so that git knows which entries it
// must not believe.
func (w *world) expected(but exception, recorded string) expectation {
	w.oracleBehind = but.behind
	defer func() { w.oracleBehind = false }()
	copied := filepath.Join(w.gitDir, "oracle-index")
	defer os.Remove(copied)
	index := filepath.Join(w.gitDir, "index")
	data, err := os.ReadFile(index)
	if err == nil {
		st, err := os.Stat(index)
		w.must(err)
		w.must(os.WriteFile(copied, data, 0o600))
		w.must(os.Chtimes(copied, st.ModTime(), st.ModTime()))
		if _, partly := w.decode(data); partly {
			if data, err = w.join(data, st.ModTime()); err != nil {
				w.endIfGitIsBroken()
				w.fail("the copied index: %v", err)
			}
			w.must(os.WriteFile(copied, data, 0o600))
			w.must(os.Chtimes(copied, st.ModTime(), st.ModTime()))
		}
		w.emptyIn(copied, but.empty)
		data, err = os.ReadFile(copied)
		w.must(err)
		w.must(os.WriteFile(copied, w.forget(data, st.ModTime()), 0o600))
		w.must(os.Chtimes(copied, st.ModTime(), st.ModTime()))
	}
	return w.addAll(copied, slices.Concat(but.closed, w.undecided(copied, but.encoded)), recorded)
}

// An exception is where git's answer is not the one that is wanted.
type exception struct {
	empty   []string // attributes files that are empty in the copied index
	encoded []string // files that are skipped for their encoding: git's C library may decide what they are
	closed  []string // repositories whose settings lead to where nobody may look
	behind  bool     // git does not look behind links for what is not wanted, see [world.behindLinks]
}

// answer is git's tree that is to equal a recorded one: what git makes of the
// copied index, or, if that is another tree and an attributes file of the index
// is gone from the disk, what it makes of one in which that file is empty. Git
// takes rules from the index until its own run reaches the deletion. How many
// paths come before it depends on their names, and on how many entries are
// racy, that is on the second in which the index was written.
//
// What UTF-16LE-BOM means without a byte order mark differs by git's C library,
// and so does whether "UTF*16LE" means anything. rewind leaves such a file out,
// and so does git here. It leaves a repository out, too, whose settings lead to
// where nobody may look: it may be somebody else's.
func (w *world) answer(r *engine.Recorded) expectation {
	var but exception
	_, hidden := w.hiddenDir()
	for _, s := range r.Skipped {
		switch {
		case strings.HasPrefix(s.Reason, "unknown working-tree-encoding"):
			but.encoded = append(but.encoded, string(s.Path))
		case hidden && strings.Contains(s.Reason, "may not be looked at, and so is not known to be yours"):
			but.closed = append(but.closed, string(s.Path))
		}
	}
	want := w.expected(but, r.Tree.String())
	if r.Tree.String() == want.tree {
		return want
	}
	if w.behindLinks() {
		w.note("compared with entries behind links not wanted")
		but.behind = true
		if want = w.expected(but, r.Tree.String()); r.Tree.String() == want.tree {
			return want
		}
	}
	if but.empty = w.goneRules(); len(but.empty) == 0 {
		return want
	}
	w.note("compared without the rules of %q", but.empty)
	return w.expected(but, r.Tree.String())
}

// undecided are those of some files that are in UTF-16LE-BOM and have no mark, or in
// an encoding whose name has a character that some C libraries overlook. The rules
// are those that are in force with an index.
func (w *world) undecided(index string, asked []string) (files []string) {
	if len(asked) == 0 {
		return nil
	}
	w.oracleInput = strings.Join(asked, "\x00") + "\x00"
	out, err := w.oracleGit(index, "check-attr", "-z", "--stdin", "working-tree-encoding")
	w.oracleInput = ""
	w.must(err)
	answers := strings.Split(out, "\x00")
	for i, p := range asked {
		name := answers[3*i+2]
		if strings.ContainsAny(name, "*#!/") || name == "UTF-16LE-BOM" && !w.marked(p) {
			files = append(files, p)
		}
	}
	return files
}

// marked reports whether a file begins with a byte order mark, or cannot be read.
func (w *world) marked(p string) bool {
	data, err := os.ReadFile(w.path(p))
	return err != nil || bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// goneRules lists the attributes files that the index has and wants on disk,
// where there is no regular file. In a directory that nobody may look into nothing is
// gone: what the index has there stays in the tree. But a file in whose place such a
// directory stands is gone, as everybody can see.
func (w *world) goneRules() (gone []string) {
	hidden, isHidden := w.hiddenDir()
	out := w.git("ls-files", "-z", "-t")
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		tag, p, _ := strings.Cut(line, " ")
		if filepath.Base(p) != ".gitattributes" || isHidden && p != hidden && beneath(p, hidden) || tag == "S" && !w.onDisk(p) || slices.Contains(gone, p) {
			continue
		}
		if st, err := os.Lstat(w.path(p)); err != nil || !st.Mode().IsRegular() || !w.onDisk(p) {
			gone = append(gone, p)
		}
	}
	return gone
}

// emptyIn makes files empty in an index.
func (w *world) emptyIn(index string, paths []string) {
	if len(paths) == 0 {
		return
	}
	w.oracleInput = ""
	id, err := w.oracleGit(index, "hash-object", "-w", "--stdin")
	w.must(err)
	for _, p := range paths {
		w.oracleInput += "0 " + strings.Repeat("0", len(id)) + "\t" + p + "\x00100644 " + id + "\t" + p + "\x00"
	}
	if out, err := w.oracleGit(index, "update-index", "-z", "--index-info"); err != nil {
		w.fail("empty rules: %v %s", err, out)
	}
	w.oracleInput = ""
}

// fatalPath finds the file because of which git gave up.
var fatalPath = regexp.MustCompile(`(?s)fatal: (?:(.*?): clean filter '|failed to encode '(.*?)' from|BOM is (?:required|prohibited) in '(.*?)' if|'(.*?)/\.git' not recognized as a git repository|not a git repository: (.*?)/nowhere|unable to stat '(.*?)': Permission denied|bad config line \d+ in file (.*?)/config\n?$)`)

// failedIn finds the submodule in which git could not ask what was edited: the
// outermost of them, which is named last.
var failedIn = regexp.MustCompile(`(?s)^(?:.*\n)?fatal: 'git status --porcelain=2' failed in submodule (.*)$`)

// fatalIn is the match of one of these two, nil if git said something else.
func fatalIn(out string) []string {
	if m := failedIn.FindStringSubmatch(out); m != nil {
		return m
	}
	return fatalPath.FindStringSubmatch(out)
}

// deniedPath finds what git could not open, list or look at. That it cannot look
// for rules says nothing of what else is there.
var deniedPath = regexp.MustCompile(`(?m)^(?:warning: could not open directory .*|fatal: unable to stat .*|([^:\n]*)): Permission denied$`)

// isDenied reports whether git says that it could not look at something in the
// worktree. What its index has below a link it looks for where that leads.
func (w *world) isDenied(out string) bool {
	return slices.ContainsFunc(deniedPath.FindAllStringSubmatch(out, -1), func(m []string) bool {
		return m[1] == "" || !w.belowLink(m[1])
	})
}

// failedPath finds in one of git's errors a file that it left out. A name may have
// several lines.
var failedPath = regexp.MustCompile(`(?s)^(?:unable to (?:add|index file) '(.*?)'(?: to index)?(?:\n|$)|'(.*?)/?' does not have a commit checked out|(.*?): can only add regular files)`)

// failedFiles are the files that git says it left out.
func failedFiles(out string) (files []string) {
	for _, message := range strings.Split("\n"+out, "\nerror: ")[1:] {
		if f := failedPath.FindStringSubmatch(message); f != nil {
			files = append(files, f[1]+f[2]+f[3])
		}
	}
	return files
}

// notFetched is what the server of a partial clone says to git's attempt to fetch the
// commit that a submodule of the index has. Git goes on without it.
var notFetched = regexp.MustCompile(`(?m)^fatal: (?:git|remote error:) upload-pack: not our ref [0-9a-f]+$`)

// addAll runs git add -A until it comes to an end, without some paths.
func (w *world) addAll(index string, without []string, recorded string) expectation {
	var x expectation
	inside, heads := w.entriesOf(index), map[string]string{}
	args := []string{"add", "-A", "--sparse", "--ignore-errors"}
	later := func(p string) {
		if len(args) == 4 {
			args = append(args, "--", ".")
		}
		args = append(args, inside.spec("exclude,top", p))
	}
	leave := func(p string) {
		later(p)
		x.failed = append(x.failed, p)
	}
	aborting := slices.DeleteFunc(w.aborting(), inside.hides)
	for _, p := range aborting {
		later(p)
	}
	for _, p := range without {
		leave(p)
	}
	for {
		out, err := w.oracleGit(index, args...)
		x.denied = x.denied || w.isDenied(out)
		m := fatalIn(out)
		if err == nil || m == nil && len(failedFiles(out)) == 0 && strings.Contains(out, "The following paths are ignored") { // of those that were left for later
			break
		}
		if m == nil {
			x.failed = append(x.failed, failedFiles(out)...)
			if len(x.failed) == 0 || strings.Contains(notFetched.ReplaceAllString(out, ""), "fatal:") {
				w.fail("git add -A: %v\n%s", err, out)
			}
			break
		}
		p := w.whose(strings.Join(m[1:], ""), x.failed)
		if heads[p] != "" || slices.Contains(x.failed, p) {
			if !w.unracy(index, p) {
				w.fail("git add -A fails at %q, though that was left out: %s", p, out)
			}
			continue
		}
		if head := w.headIn(p); head != "" && strings.Contains(out, "failed in submodule") {
			heads[p] = head
			later(p)
		} else {
			leave(p)
		}
	}
	w.addAlone(index, aborting, inside, &x)
	rest := &removal{w: w, all: w.listIndex(index)}
	w.withoutFailed(rest, &x)
	w.leaveConflicts(rest)
	w.leaveTooLong(rest)
	w.leavePrivate(rest, &x)
	out, err := w.writeTree(index, recorded, rest, heads)
	if err != nil {
		if strings.Contains(out, "cache-tree records empty sub-tree") { // git's complaint about what its own git add left
			w.t.Skipf("seed %d ends at step %d, for git breaks the copy of its index: %v: %.200s", w.seed, len(w.log), err, out)
		}
		w.endIfGitIsBroken()
		w.fail("git write-tree: %v\n%s", err, out)
	}
	x.tree = out
	return x
}

// withoutFailed takes out of an index what git add failed at; a submodule keeps
// the commit that the index has, of a conflict our side or else the first. Of
// what lies below a file the entries stay that are not wanted on disk.
func (w *world) withoutFailed(rest *removal, x *expectation) {
	for _, p := range x.failed {
		if dir, ok := w.hiddenDir(); ok && p != dir && beneath(p, dir) {
			continue // git does not know it, and leaves alone what it has below it
		}
		st, err := os.Lstat(w.path(p))
		isDir := err == nil && st.IsDir()
		at, beside := rest.stages(p)
		if err == nil && st.Mode().IsRegular() || beside || len(at) == 0 || !at[0].isLink() {
			rest.drop(p, func(l listed) bool { return isDir || !l.unwanted })
			continue
		}
		x.links = append(x.links, p)
		if at[0].stage == 0 {
			if isDir {
				x.edited = append(x.edited, p)
			}
			continue
		}
		ours := at[0]
		for _, l := range at {
			if l.stage == 2 {
				ours = l
			}
		}
		rest.drop(p, func(l listed) bool { return isDir || !l.unwanted })
		rest.link(p, ours.id)
	}
}

// oracleGit runs git on the copied index, with another place for new objects.
func (w *world) oracleGit(index string, args ...string) (string, error) {
	more := []string{"-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "advice.addEmbeddedRepo=false", "-c", "core.safecrlf=false", "-c", "core.untrackedCache=false"}
	if w.oracleBehind {
		more = append(more, "-c", "sparse.expectFilesOutsideOfPatterns=true")
	}
	if w.kind.Twins { // see docs/testing.md
		more = append(more, "-c", "core.ignoreCase=false")
	}
	cmd := exec.Command(gitProgram(), append(more, args...)...)
	cmd.Dir = w.root
	cmd.Stdin = strings.NewReader(w.oracleInput)
	cmd.Env = w.environ("GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+w.scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+filepath.Join(w.common, "objects"))
	run := cmd.CombinedOutput
	if args[0] == "check-attr" {
		run = cmd.Output // it is a list
	}
	out, err := run()
	return strings.TrimSuffix(string(out), "\n"), err // and no more: a name may end with a space
}

// forget clears in an index what git would believe instead of looking.
func (w *world) forget(data []byte, written time.Time) []byte {
	all, _ := w.decode(data)
	for _, l := range all {
		binary.BigEndian.PutUint16(data[l.flags:], binary.BigEndian.Uint16(data[l.flags:])&^0x8000) // assume-unchanged
		if l.unwanted && w.onDisk(l.path) {
			data[l.more] &^= 0x40 // skip-worktree
		}
		if !bytes.Equal(data[l.at:l.at+16], w.times(l.path, written)) {
			clear(data[l.at : l.at+16])
		}
	}
	return w.sealed(data)
}

// grain is how far apart two writes must be to be told apart (decision 0003).
const grain = 20 * time.Millisecond

// times gives ctime and mtime of a path the form that they have in an index;
// nothing if the path is too young for an index written then.
func (w *world) times(rel string, written time.Time) []byte {
	var st syscall.Stat_t
	if syscall.Lstat(w.path(rel), &st) != nil {
		return nil
	}
	var out []byte
	for _, t := range []syscall.Timespec{st.Ctim, st.Mtim} {
		if t.Nano()+int64(grain) >= written.UnixNano() {
			return nil
		}
		out = binary.BigEndian.AppendUint32(out, uint32(t.Sec))
		out = binary.BigEndian.AppendUint32(out, uint32(t.Nsec))
	}
	return out
}

// onDisk reports whether there is a file or link at a path, not through a link.
func (w *world) onDisk(rel string) bool {
	for at := filepath.Dir(rel); at != "."; at = filepath.Dir(at) {
		if st, err := os.Lstat(w.path(at)); err != nil || !st.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(w.path(rel))
	return err == nil
}
