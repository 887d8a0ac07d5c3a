package gitbridge

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// ErrMalformed is reported for bytes that are not the commit they should be.
var ErrMalformed = errors.New("malformed commit")

// Messages of the two kinds of commits. pi-rewind-hook finds its own by them,
// and ours.
const (
	snapshotMessage = "pi rewind snapshot"
	linkMessage     = "pi rewind store"
)

// A Commit is what the commit object of a snapshot says.
type Commit struct {
	Tree     oid.ID // zero is encoded as the empty tree
	Overlay  oid.ID // zero where a git tree holds everything
	Time     time.Time
	Identity string // "Name <mail>"
	From     string // of an import: the system and the commit it was there; one line, usually ""
}

// EncodeSnapshot returns the payload of a snapshot's commit object, whose id is
// the snapshot's: a commit without parents that carries its time in nanoseconds
// and the overlay in a header of its own, which git keeps and does not read,
// and in another one what it was imported from.
// It is the same with and without git; docs/decisions/0005-bridge.md has it.
func EncodeSnapshot(c Commit, alg oid.Algorithm) []byte {
	overlay := "-"
	if !c.Overlay.IsZero() {
		overlay = c.Overlay.String()
	}
	head := appendHead(c, nil, alg)
	head = fmt.Appendf(head, "rewind %d %s\n", c.Time.UnixNano(), overlay)
	if c.From != "" {
		head = fmt.Appendf(head, "rewind-from %s\n", c.From)
	}
	return append(head, "\n"+snapshotMessage+"\n"...)
}

// encodeLink returns the payload of the commit that keeps snapshots, the
// newest of which is c, and through its first parent all earlier ones. It
// follows from these alone, so that doing it again after a crash makes the same
// object. The first link of a chain keeps one snapshot only: a first parent
// that is no link would be taken for one.
func encodeLink(snapshots []oid.ID, c Commit, last oid.ID, alg oid.Algorithm) []byte {
	c.Tree = oid.ID{}
	parents := snapshots
	if !last.IsZero() {
		parents = append([]oid.ID{last}, snapshots...)
	}
	return append(appendHead(c, parents, alg), "\n"+linkMessage+"\n"...)
}

// Encode returns the payload of a commit in git's own form, without our header.
func (c *RawCommit) Encode(alg oid.Algorithm) []byte {
	return append(appendHead(c.Commit, c.Parents, alg), "\n"+c.Message...)
}

func appendHead(c Commit, parents []oid.ID, alg oid.Algorithm) []byte {
	if c.Tree.IsZero() {
		c.Tree = alg.Sum(oid.Tree, nil)
	}
	p := fmt.Appendf(nil, "tree %v\n", c.Tree)
	for _, id := range parents {
		p = fmt.Appendf(p, "parent %v\n", id)
	}
	stamp := fmt.Sprintf("%s %d %s", c.Identity, max(c.Time.Unix(), 0), c.Time.Format("-0700"))
	return fmt.Appendf(p, "author %s\ncommitter %s\n", stamp, stamp)
}

// DecodeSnapshot reads what EncodeSnapshot wrote. Commits of other programs are
// ErrMalformed, as are those that say two different times.
func DecodeSnapshot(payload []byte, alg oid.Algorithm) (Commit, error) {
	c, err := DecodeCommit(payload, alg)
	if err != nil {
		return Commit{}, err
	}
	if !c.Native || c.subject() != snapshotMessage || len(c.Parents) > 0 {
		return Commit{}, fmt.Errorf("%w: not a snapshot of rewind", ErrMalformed)
	}
	return c.Commit, nil
}

// A RawCommit is what a commit object of any program says.
type RawCommit struct {
	Commit  // time and identity are the committer's
	Parents []oid.ID
	Message string // every byte of it
	Native  bool   // has the header of our own snapshots
}

// isLink reports whether a commit is one of the chain of the store ref.
func (c *RawCommit) isLink() bool { return c.subject() == linkMessage && len(c.Parents) > 0 }

func (c *RawCommit) subject() string {
	subject, _, _ := strings.Cut(c.Message, "\n")
	return strings.TrimSpace(subject)
}

// DecodeCommit reads a commit object of any program. It trusts nothing.
func DecodeCommit(payload []byte, alg oid.Algorithm) (c RawCommit, err error) {
	head, message, _ := bytes.Cut(payload, []byte("\n\n"))
	c.Message = string(message)
	stamp := ""
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		key, value, _ := strings.Cut(string(line), " ")
		switch {
		case key == "tree" && c.Tree.IsZero():
			c.Tree, err = parseID(value, alg)
		case key == "parent":
			var id oid.ID
			id, err = parseID(value, alg)
			c.Parents = append(c.Parents, id)
		case key == "committer" && stamp == "":
			stamp = value
			c.Identity, c.Time, err = parseStamp(value)
		case key == "rewind" && stamp != "" && !c.Native:
			err = c.parseHeader(value, alg)
			c.Native = true
		case key == "rewind-from" && c.Native && c.From == "":
			c.From = value
		}
		if err != nil {
			return RawCommit{}, err
		}
	}
	if c.Tree.IsZero() || stamp == "" {
		return RawCommit{}, fmt.Errorf("%w: no tree or no committer", ErrMalformed)
	}
	return c, nil
}

func parseID(s string, alg oid.Algorithm) (oid.ID, error) {
	id, err := alg.Parse(s)
	if err != nil {
		return oid.ID{}, fmt.Errorf("%w: id %q", ErrMalformed, s)
	}
	return id, nil
}

// parseStamp reads "Name <mail> seconds zone".
func parseStamp(s string) (identity string, at time.Time, err error) {
	end := strings.LastIndexByte(s, '>')
	fields := strings.Fields(s[end+1:])
	if end < 0 || len(fields) == 0 {
		return "", time.Time{}, fmt.Errorf("%w: committer %q", ErrMalformed, s)
	}
	sec, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || sec > 1<<40 || sec < -1<<40 {
		return "", time.Time{}, fmt.Errorf("%w: time %q", ErrMalformed, fields[0])
	}
	at = time.Unix(sec, 0).UTC()
	if len(fields) > 1 {
		if zone, err := time.Parse("-0700", fields[1]); err == nil {
			at = at.In(zone.Location())
		}
	}
	return s[:end+1], at, nil
}

// parseHeader reads "nanoseconds overlay", which refine the committer's time.
func (c *RawCommit) parseHeader(s string, alg oid.Algorithm) (err error) {
	ns, overlay, ok := strings.Cut(s, " ")
	n, err := strconv.ParseInt(ns, 10, 64)
	if !ok || err != nil {
		return fmt.Errorf("%w: header %q", ErrMalformed, s)
	}
	fine := time.Unix(0, n).In(c.Time.Location())
	if max(fine.Unix(), 0) != c.Time.Unix() {
		return fmt.Errorf("%w: it says two different times", ErrMalformed)
	}
	c.Time = fine
	if overlay != "-" {
		c.Overlay, err = parseID(overlay, alg)
	}
	return err
}
