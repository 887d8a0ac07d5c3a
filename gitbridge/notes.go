package gitbridge

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge/gitodb"
	"github.com/seed-82afce7a/rewind/internal/alive"
	"github.com/seed-82afce7a/rewind/internal/durable"
	"github.com/seed-82afce7a/rewind/internal/oid"
)

// Each job notes, in files beside the ref's own lock, which objects our ref came
// to need through it, and at last that it has ended. The notes serve two ends.
// Git starts a collection by itself when some thousands of objects have files of
// their own: so ours are packed when they are a few hundred. And a collection
// that began before the ref named an object may remove it afterwards: so each job
// looks whether the noted ones are still there, and writes again what is gone.
//
// A line is "wrote JOB ID", "found JOB ID", "link JOB ID PAYLOAD", "ended JOB" or "boot ID".
// The name of a job ends with the mark of the git directory, if it has one.
// The notes are a help and no truth: without them objects stay in their files,
// and a removed one is found by sync and verify.
const (
	noteWrote = "wrote" // we made a file of its own for it
	noteFound = "found" // git had it: it may not have been synced, or be about to go
	noteLink  = "link"  // we wrote a link of the chain; its payload is stored nowhere else
	noteEnded = "ended" // the job moves the ref no more
	noteBoot  = "boot"  // in this run of the system the noted objects were read back
)

const (
	// noteBytesMax bounds what is read of the notes.
	noteBytesMax = 16 << 20
	// foundMax is up to how many objects that were found are noted. A change of
	// branch has more: those HEAD keeps, and git's objects are synced for it.
	foundMax = looseFold
	// jobHours is after how long a job that did not say so has ended: its
	// process died. A job fights for the ref for some seconds.
	jobHours = time.Hour
)

// A note is what the notes say of one object.
type note struct {
	kind    string
	job     string
	id      oid.ID
	payload []byte // of a link
}

// jobName returns a name for a job's notes. It says when the job began.
func jobName() string {
	return strconv.FormatInt(time.Now().Unix(), 36) + "." + strconv.FormatUint(rand.Uint64(), 36)
}

// jobDied reports whether a job began so long ago that its process must have
// died. A name that says no time is no job's.
func jobDied(name string) bool {
	text, _, _ := strings.Cut(name, ".")
	began, err := strconv.ParseInt(text, 36, 64)
	age := time.Since(time.Unix(began, 0))
	return err != nil || age > jobHours || age < -jobHours
}

// note notes objects that the writer's job needs: those it wrote, and those it found.
func (w *writer) note(wrote, found []oid.ID) { w.noteLines(w.noteOf(wrote, found)) }

func (w *writer) noteOf(wrote, found []oid.ID) (p []byte) {
	for _, id := range wrote {
		p = fmt.Appendf(p, "%s %s %v\n", noteWrote, w.name, id)
	}
	for _, id := range found {
		p = fmt.Appendf(p, "%s %s %v\n", noteFound, w.name, id)
	}
	return p
}

// noteLink notes a link of the chain that the writer's job wrote.
func (w *writer) noteLink(id oid.ID, payload []byte) { w.noteLines(w.noteOfLink(id, payload)) }

func (w *writer) noteOfLink(id oid.ID, payload []byte) []byte {
	return fmt.Appendf(nil, "%s %s %v %x\n", noteLink, w.name, id, payload)
}

func (w *writer) noteLines(p []byte) {
	if len(p) > 0 {
		w.r.appendTo(".loose", p, atOnce)
		w.noted = true
	}
}

// notePack notes a pack that was written, by its path.
func (r *Repo) notePack(path string, objects int) {
	if path != "" {
		r.appendTo(".packs", ownPack{filepath.Base(path), objects}.line(), atOnce)
	}
}

// How a note goes to the disk.
const (
	atOnce    = true  // it is with the disk when it is written, so that the sync of the ref carries it along
	atLeisure = false // some time
)

// appendTries is how often a note that meets renames is written.
const appendTries = 100

// appendTo appends to a file of notes. What fails is not noted. Who packs
// renames the file first and reads it then: so what went into a file that has
// another name by now goes into the new one too. Each try that failed has met a
// rename; a busy machine was seen to meet three in a row.
func (r *Repo) appendTo(suffix string, p []byte, out bool) {
	for range appendTries {
		if r.own == "" || r.appendOnce(r.own+suffix, p, out) {
			return
		}
	}
}

// appendOnce reports false if it has to be done again.
func (r *Repo) appendOnce(path string, p []byte, out bool) bool {
	var f *os.File
	if durable.Patiently(func() (err error) { // whoever renames it may keep it open for a moment
		f, err = durable.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		return err
	}) != nil {
		return true
	}
	defer f.Close()
	_, _ = f.Write(p)
	if out {
		gitodb.WriteOut(f)
	}
	mine, err := f.Stat()
	if err != nil {
		return true
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, now)
}

// readNotes reads a file of notes, nothing where that is not possible.
func readNotes(path string) []byte {
	var p []byte
	if durable.Patiently(func() (err error) {
		p, err = durable.ReadFile(path, noteBytesMax)
		return err
	}) != nil {
		return nil
	}
	return p
}

// allNotes reads the notes of all jobs, the oldest first. Those that are being
// worked off come first: who appends meanwhile goes on in a new file.
func (r *Repo) allNotes() notes {
	return r.decodeNotes(append(readNotes(r.own+".loose.old"), readNotes(r.own+".loose")...))
}

// notes are the notes of all jobs.
type notes struct {
	list  []note
	ended map[string]bool
	boot  string // the last that is noted; see [alive.Boot]
}

// decodeNotes decodes notes. It leaves out what is none, as a loss of power may
// leave it.
func (r *Repo) decodeNotes(p []byte) notes {
	n := notes{ended: map[string]bool{}}
	for line := range strings.Lines(string(p)) { // the words are parts of one string
		switch x, ok := r.decodeNote(line); {
		case !ok:
		case x.kind == noteEnded:
			n.ended[x.job] = true
		case x.kind == noteBoot:
			n.boot = x.job
		default:
			n.list = append(n.list, x)
		}
	}
	return n
}

// noteWords is how many words a note of each kind has.
var noteWords = map[string]int{noteEnded: 2, noteBoot: 2, noteWrote: 3, noteFound: 3, noteLink: 4}

// decodeNote decodes a line.
func (r *Repo) decodeNote(line string) (x note, ok bool) {
	words := strings.Fields(line)
	if len(words) == 0 || noteWords[words[0]] != len(words) {
		return x, false
	}
	if x.kind, x.job = words[0], words[1]; x.kind == noteEnded || x.kind == noteBoot {
		return x, true
	}
	id, err := r.Algorithm().Parse(words[2])
	if err != nil {
		return x, false
	}
	if x.id = id; x.kind == noteLink {
		x.payload, err = hex.DecodeString(words[3])
	}
	return x, err == nil
}

// doubtful reports whether a loss of power may have taken what the notes name: this is
// another run of the system than the one in which that was last read back. Git syncs no
// object that has a file of its own, and where the disk had the size of one and not its
// bytes, the file is there and is full of zeros.
func (r *Repo) doubtful() bool {
	if r.doubt.Load() == unknown {
		r.weigh(r.allNotes())
	}
	return r.doubt.Load() == doubted
}

// What is known of the noted objects: a [Repo] asks the notes once.
const (
	unknown int32 = iota
	doubted
	trusted
)

// weigh decides by the notes whether what they name is in doubt.
func (r *Repo) weigh(n notes) {
	is := trusted
	if boot := alive.Boot(); r.own != "" && boot != "" && n.boot != boot {
		is = doubted
	}
	r.doubt.CompareAndSwap(unknown, is)
}

// trust notes that what the notes name was read back in this run of the system.
func (r *Repo) trust() {
	if r.doubtful() {
		r.appendTo(".loose", []byte(noteBoot+" "+alive.Boot()+"\n"), atLeisure)
		r.doubt.Store(trusted)
	}
}

// ours reports whether a note was made in this very git directory: an archive may
// bring notes, and what they name might be in the store alone, for good reason.
func (r *Repo) ours(x note) bool { return strings.HasSuffix(x.job, r.mark) }

// over reports whether the job of a note has ended.
func (n notes) over(x note) bool { return n.ended[x.job] || jobDied(x.job) }

// stays reports whether a note counts when the others were worked off.
func (n notes) stays(x note) bool {
	switch x.kind {
	case noteEnded:
		return false
	case noteBoot:
		return x.job == n.boot
	}
	return !n.over(x)
}

// chain returns those noted links that the chain has which ends in tip.
func (n notes) chain(tip oid.ID, alg oid.Algorithm) map[oid.ID]bool {
	payloads, chain := map[oid.ID][]byte{}, map[oid.ID]bool{}
	for _, x := range n.list {
		if x.kind == noteLink {
			payloads[x.id] = x.payload
		}
	}
	for payloads[tip] != nil && !chain[tip] {
		chain[tip] = true
		c, err := DecodeCommit(payloads[tip], alg)
		if err != nil || len(c.Parents) < 2 {
			break
		}
		tip = c.Parents[0]
	}
	return chain
}
