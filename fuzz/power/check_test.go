//go:build linux

package power

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

// storeRef keeps what rewind has in git.
const storeRef = "refs/pi-rewind/store"

// A fault is a way in which a promise was broken.
type fault string

const (
	lost         fault = "an acknowledged snapshot cannot be exported"
	altered      fault = "an acknowledged snapshot has other contents"
	blind        fault = "verify exits 0 although a snapshot is damaged"
	alarmed      fault = "verify finds damage where no snapshot is damaged"
	closed       fault = "the store does not open"
	stuck        fault = "the next snapshot does not exit 0"
	deceived     fault = "(no fault by itself) without a stat table a file is taken for what git's index has, and is not"
	untrue       fault = "the next snapshot is not what is on disk"
	locked       fault = "a lock of the ref that the cut left stays after the next snapshot"
	broken       fault = "the ref is broken after the next snapshot"
	unkept       fault = "the ref does not reach every acknowledged snapshot after the next one"
	stillLost    fault = "an acknowledged snapshot is damaged after the next one"
	gitLost      fault = "a durable commit of the user is gone"
	unmounted    fault = "the file system cannot be mounted"
	ownHead      fault = "(no fault by itself) git's own HEAD is broken, and was mended by hand"
	ownLinked    fault = "(no fault by itself) git's own files of a linked worktree are broken, and the next snapshot names it"
	halfRestored fault = "(no fault by itself) the restore that was cut short is finished, with conflicts that are named"
	ownIndex     fault = "(no fault by itself) git's own index is broken, and the next snapshot names it"
	refBroken    fault = "(no fault by itself) the ref is broken right after the cut"
	notBridged   fault = "(no fault by itself) the ref does not reach every acknowledged snapshot right after the cut"
)

// tolerated is what a cut may leave, as long as the next snapshot mends it.
func (f fault) tolerated() bool { return strings.HasPrefix(string(f), "(no fault") }

// A checker looks at one disk after one cut.
type checker struct {
	*world
	s      *session
	at     int
	seen   map[string]exported
	found  func(f fault, format string, args ...any)
	report *report
}

// An exported is what an export gave: a picture, or why there is none.
type exported struct {
	got picture
	why string
}

// check mounts what a cut leaves of a session's disk, and asks for all that
// was promised before.
func (m *machine) check(s *session, c cut, seed uint64, r *report) {
	after, err := m.cut(s.disk, c, seed)
	must(s, err)
	defer func() { must(s, m.remove(after)) }()
	faults := 0
	k := &checker{world: s.world, s: s, at: c.at, report: r, seen: map[string]exported{}}
	k.found = func(f fault, format string, args ...any) {
		if !f.tolerated() {
			faults++
		}
		r.add(f, s, c, fmt.Sprintf(format, args...))
	}
	defer func() {
		if faults > 0 {
			r.bad++
			r.keep(s, c, seed)
		}
	}()
	r.cuts++
	must(s, m.boot())
	if err := m.mount(after, s.sys, s.mount); err != nil {
		k.found(unmounted, "%v", err)
		return
	}
	defer func() { must(s, m.unmount()) }()
	k.mendHead()
	damaged := k.promises()
	k.verify(damaged)
	if s.git {
		k.ref(refBroken, notBridged)
		k.user()
	}
	if !r.asFound {
		k.next()
	}
}

// mendHead does what the user must do first where git, which does not sync its
// HEAD, lost it: nobody takes the directory for a repository before.
func (k *checker) mendHead() {
	if !k.git {
		return
	}
	head := k.path(".git/HEAD")
	b, err := os.ReadFile(head)
	must(k, err)
	if len(b) == 0 {
		k.found(ownHead, "an empty file")
		must(k, os.WriteFile(head, []byte("ref: refs/heads/main\n"), 0o644))
	}
}

// promises exports every snapshot that was acknowledged before the cut.
func (k *checker) promises() (damaged int) {
	for _, p := range k.s.promises {
		may := p.may(k.at)
		if len(may) == 0 {
			continue
		}
		k.report.promised++
		name := k.s.nameOf(p)
		k.report.distinct[name] = k.report.distinct[name] || false
		if f, why := k.compare(p.id, may); f != "" {
			damaged++
			k.report.damaged++
			k.report.distinct[name] = true
			k.found(f, "%s %.12s, acknowledged at %d: %s", p.verb, p.id, p.since, why)
		}
	}
	return damaged
}

// compare exports a snapshot, once for all promises of its id.
func (k *checker) compare(id string, may []picture) (fault, string) {
	e, there := k.seen[id]
	if !there {
		e.got, e.why = k.export(id)
		k.seen[id] = e
	}
	if e.got == nil {
		return lost, e.why
	}
	diff := ""
	for _, want := range may {
		if diff = want.Differs(e.got); diff == "" {
			return "", ""
		}
	}
	return altered, diff
}

// verify asks rewind itself; it must agree.
func (k *checker) verify(damaged int) {
	if f := k.rewind("list", "--all", "--json"); f.code != 0 {
		k.found(closed, "list: %s", f.said())
	}
	switch f := k.rewind("verify", "--json"); {
	case f.code == 0 && damaged > 0:
		k.found(blind, "%s", f.said())
	case f.code != 0 && damaged == 0:
		k.found(alarmed, "%s", f.said())
	}
}

// next takes the next ordinary snapshot, which mends what can be mended.
func (k *checker) next() {
	if k.report.times[locked] >= examplesMax {
		k.unlock("not tried again") // for it takes half a minute each time
	}
	f := k.rewind("snapshot", "--json")
	k.honest(f)
	if k.unlock(f.said()) {
		f = k.rewind("snapshot", "--json")
		k.honest(f)
	}
	if f.code == 5 && k.git && k.run("", "git", "ls-files").code != 0 {
		// git does not sync its index. The user finds it broken, and removes it.
		k.found(ownIndex, "%s", f.said())
		must(k, os.Remove(k.path(".git/index")))
		f = k.rewind("snapshot", "--json")
		k.honest(f)
	}
	if f.code == 5 && len(f.Skipped) == 0 && strings.Contains(f.errors, "finished what had been interrupted") {
		// Whether a file is half of what the restore wrote, or an edit made since,
		// nobody can tell: it stays, and is named.
		k.found(halfRestored, "%s", f.said())
	} else if f.code == 5 && f.ownGit() {
		k.found(ownLinked, "%s", f.said())
	} else if f.code != 0 {
		k.found(stuck, "%s", f.said())
	}
	if k.git {
		k.ref(broken, unkept)
	}
	clear(k.seen)
	for _, p := range k.s.promises {
		if may := p.may(k.at); len(may) > 0 {
			if _, why := k.compare(p.id, may); why != "" {
				k.found(stillLost, "%s %.12s: %s", p.verb, p.id, why)
			}
		}
	}
}

// ownGit says whether all that was skipped is what git keeps of the linked
// worktrees inside: it does not sync that either.
func (f finished) ownGit() bool {
	for _, n := range f.Skipped {
		if strings.Contains(strings.TrimSuffix(n.Path, "/.git"), "/") || !strings.HasPrefix(n.Path, "linked") {
			return false
		}
	}
	return len(f.Skipped) > 0
}

// unlock removes by hand a lock of the ref that is still there, so that it is
// one fault and hides no others.
func (k *checker) unlock(said string) bool {
	if !k.git || os.Remove(k.path(".git/"+storeRef+".lock")) != nil {
		return false
	}
	k.found(locked, "%s", said)
	return true
}

// honest checks that a snapshot that was just taken is what is on disk now, also
// where the cut made the user's own files old: they changed without a sign.
func (k *checker) honest(f finished) {
	if f.ID == "" || f.code != 0 && f.code != 5 {
		return
	}
	now := k.look()
	got, why := k.export(f.ID)
	for _, n := range f.Skipped {
		if got[n.Path] == "" { // else only git's tree lacks it
			now = now.Without(n.Path)
		}
	}
	if got == nil {
		k.found(untrue, "%.12s: %s", f.ID, why)
	} else if diff := now.Differs(got); diff != "" {
		what := untrue
		quoted, err := strconv.QuotedPrefix(diff)
		must(k, err)
		if path, err := strconv.Unquote(quoted); err == nil && k.git && k.deceived(path) {
			what = deceived
		}
		k.found(what, "%.12s: %s", f.ID, diff)
	}
}

// deceived says whether git's index has something else for a file than its bytes:
// where the stat table was lost or torn the index is all there is to believe.
func (k *checker) deceived(path string) bool {
	entry := strings.Fields(k.run("", "git", "ls-files", "-s", "--", path).out)
	now := strings.TrimSpace(k.run("", "git", "hash-object", "--no-filters", "--", path).out)
	return len(entry) > 1 && now != "" && now != entry[1]
}

// ref looks at the store ref with git alone: that it can be read, that each
// object it reaches can be read, and that it reaches all that was promised.
func (k *checker) ref(bad, short fault) {
	if k.anyPromised() == "" && k.run("", "git", "rev-parse", "-q", "--verify", storeRef).code != 0 {
		return // nothing was ever acknowledged
	}
	list := k.run("", "git", "rev-list", "--objects", storeRef)
	if list.code != 0 {
		k.found(bad, "git rev-list: %s", list.said())
		return
	}
	if why := k.readable(list.out); why != "" {
		k.found(bad, "%s", why)
		return
	}
	if f := k.run("", "git", "fsck", "--connectivity-only", "--no-dangling", storeRef); f.code != 0 && strings.Contains(f.errors, "missing") {
		k.found(bad, "git fsck: %s", f.said())
		return
	}
	for _, p := range k.s.promises {
		// A purge gives a snapshot another id, and a prune takes it off the ref.
		if len(p.may(k.at)) > 0 && len(p.wants) == 1 && !strings.Contains(list.out, p.id) {
			k.found(short, "%s %.12s, acknowledged at %d", p.verb, p.id, p.since)
			return
		}
	}
}

// anyPromised gives a snapshot that must be there, or "".
func (k *checker) anyPromised() string {
	for _, p := range k.s.promises {
		if len(p.may(k.at)) > 0 {
			return p.id
		}
	}
	return ""
}

// readable lets git read whole each object of a list that rev-list made: it
// looks at no blob itself but for its name.
func (k *checker) readable(list string) (why string) {
	var ids strings.Builder
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		ids.WriteString(id + "\n")
	}
	f := k.run(ids.String(), "git", "cat-file", "--batch")
	if f.code != 0 {
		return "git cat-file: " + f.said()
	}
	for line := range strings.Lines(f.out) {
		if strings.HasSuffix(line, " missing\n") && len(line) < 80 {
			return "git cat-file: " + strings.TrimSpace(line)
		}
	}
	return ""
}

// user looks for what the user had in git and had synced.
func (k *checker) user() {
	for _, c := range k.s.kept {
		if c.since > k.at || c.until <= k.at {
			continue
		}
		f := k.run("", "git", "rev-list", "--objects", c.commit)
		if f.code != 0 {
			k.found(gitLost, "git rev-list %.12s: %s", c.commit, f.said())
		} else if why := k.readable(f.out); why != "" {
			k.found(gitLost, "%.12s: %s", c.commit, why)
		}
	}
}

// cuts chooses moments: half of them close behind something acknowledged, half
// anywhere after the first of these.
func (s *session) cuts(n int, rng *rand.Rand) []cut {
	var out []cut
	for range n {
		at := s.marks[rng.IntN(len(s.marks))]
		if rng.IntN(2) == 0 {
			at += rng.IntN(6)
		} else {
			at = s.marks[0] + rng.IntN(s.end-s.marks[0]+1)
		}
		out = append(out, cut{min(at, s.end), how(rng.IntN(int(hows)))})
	}
	return out
}
