package plan

import (
	"maps"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// keptUnrecorded is why a path stays that the target could have had, and has not: what
// was not recorded first is never deleted.
const keptUnrecorded = "it could not be recorded, so it stays: "

const (
	conflictUnrecorded = "what is there cannot be recorded: "
	unseenHere         = "it cannot be looked at, so nobody can tell what is there"
)

// obstacle returns why nothing may be put at a path at which the scan saw nothing: what
// is there, or may be there, could not be brought back. Blocked: something is there.
func (p *planner) obstacle(c tree.Change, blocked bool) string {
	if c.From.Mode.Type() != tree.Absent {
		return ""
	}
	if why := p.within(c.Path); why != "" {
		return conflictUnrecorded + why
	}
	if !blocked {
		return ""
	}
	if why := p.present.leftOut(c.Path); why != "" {
		return "a directory stands here that was left out: " + why
	}
	if why := p.present.refused[c.Path]; why != "" {
		return conflictUnrecorded + why
	}
	if p.present.Disk.Mode(c.Path) == dirfd.Unseen {
		return unseenHere
	}
	if p.holdsIgnored(c) {
		return conflictIgnored
	}
	// What the scan was told to record may be there by a name in other case, and is recorded by that.
	if p.present.told[c.Path] && special(p.present.Disk.Mode(c.Path)) {
		return conflictUnrecorded + "it is a pipe, a socket or a device"
	}
	return ""
}

// special reports whether something is a pipe, a socket or a device.
func special(m tree.Mode) bool {
	switch m.Type() {
	case tree.Absent, tree.File, tree.Symlink, tree.Dir:
		return false
	}
	return true
}

// within returns why a directory at a path, or above it, could not be recorded; "" if none
// is there.
func (p *planner) within(path string) (why string) {
	for ; path != "" && why == "" && len(p.closed) > 0; path = tree.Parent(path) {
		why = p.closed[path]
	}
	return why
}

// extra returns what could not be recorded of the present, with the reason, unless the
// target left it out too. The present has none of it, so what of it the target has is
// among the differences.
func (p *planner) extra() map[string]string {
	out := map[string]string{}
	for _, n := range p.present.Unrecorded {
		if p.present.Disk.Mode(n.Path).IsDir() {
			p.closed[n.Path] = n.Reason
		}
		if p.goal.Paths.Match(n.Path) && !p.goal.Target.leftOut(n.Path) {
			out[n.Path] = n.Reason
		}
	}
	return out
}

// stay names what stays beside what the target has, so that nobody takes the files for
// those of the target.
func (p *planner) stay(extra map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(extra)) {
		p.plan.Kept = append(p.plan.Kept, apply.Note{Path: path, Reason: keptUnrecorded + extra[path]})
		if err := p.bound.count(path); err != nil {
			return err
		}
	}
	return nil
}
