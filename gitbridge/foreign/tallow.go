package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
	"github.com/seed-82afce7a/rewind/internal/regular"
)

const tallowPrefix = "refs/tallow/rewind/"

var tallowRef = pattern(`^refs/tallow/rewind/([^/]+)/turn-(\d{1,9})$`)

// tallow reads a checkpoint of tallow. Where the worktree was clean, or where
// the snapshot failed, its ref is the user's own commit, and nothing in git
// tells the one from the other.
func (r *reader) tallow(c *Checkpoint, raw gitbridge.RawCommit) {
	m := tallowRef().FindStringSubmatch(c.Ref)
	if m == nil {
		c.Err = fmt.Errorf("%w: its name is none that tallow gives", ErrForeign)
		return
	}
	c.Kind, c.Session, c.Trigger = Tallow, m[1], "turn"
	c.Turn, _ = strconv.Atoi(m[2]) // nine digits
	c.Limits.FreshIndex = true
	turn, told := r.session(c.Session)[c.Ref]
	if subject, _, _ := strings.Cut(raw.Message, "\n"); subject != fmt.Sprintf("tallow rewind: turn %d", c.Turn) {
		c.Limits.Incomplete = true
		c.Head = c.Commit
	} else if len(raw.Parents) > 0 {
		c.Head = raw.Parents[0]
	}
	if !told {
		return
	}
	c.Limits.Incomplete = c.Limits.Incomplete || turn.fallback
	c.Label = turn.label()
	if c.Head == c.Commit && !turn.time.IsZero() {
		c.Time = turn.time // the commit's is that of the user's work
	}
}

// A tallowTurn is what a session file says about a checkpoint.
type tallowTurn struct {
	files    []string
	time     time.Time
	fallback bool
}

func (t tallowTurn) label() string {
	const shown = 3
	switch n := len(t.files); {
	case n == 0:
		return ""
	case n <= shown:
		return oneLine(strings.Join(t.files, ", "))
	default:
		return oneLine(fmt.Sprintf("%s, +%d more", strings.Join(t.files[:shown], ", "), n-shown))
	}
}

// session returns what a session's file says, read once.
func (r *reader) session(id string) map[string]tallowTurn {
	turns, known := r.turns[id]
	if !known && r.opt.Session != nil {
		turns = map[string]tallowTurn{}
		// What is missing is the description, and the word of tallow that it
		// fell back to the commit; that shows in git too.
		_ = readTurns(r.opt.Session(id), turns)
		r.turns[id] = turns
	}
	return turns
}

func readTurns(path string, turns map[string]tallowTurn) error {
	if path == "" {
		return nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	defer f.Close()
	return scanTurns(f, turns)
}

// turnBytesMax bounds a line that is looked at; tallow's are far shorter.
const turnBytesMax = 1 << 20

// scanTurns collects the entries of a session file; of several with one ref the
// newest counts, because each prompt begins to count its turns again. Lines
// that are none, or malformed, are passed over.
func scanTurns(src io.Reader, turns map[string]tallowTurn) error {
	in := bufio.NewReaderSize(src, turnBytesMax)
	whole := true // the piece that is read next begins a line
	for {
		piece, err := in.ReadSlice('\n')
		begins := whole
		whole = err == nil
		if begins && err != bufio.ErrBufferFull && bytes.Contains(piece, []byte(`"rewind-snapshot"`)) {
			takeTurn(piece, turns)
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && err != bufio.ErrBufferFull:
			return err
		}
	}
}

func takeTurn(line []byte, turns map[string]tallowTurn) {
	var entry struct {
		Type, CustomType string
		Data             struct {
			Ref          string
			Files        []string
			Timestamp    float64
			HeadFallback bool
		}
	}
	if json.Unmarshal(line, &entry) != nil || entry.Type != "custom" || entry.CustomType != "rewind-snapshot" {
		return
	}
	d := entry.Data
	if !tallowRef().MatchString(d.Ref) {
		return
	}
	t := tallowTurn{files: d.Files, fallback: d.HeadFallback}
	if d.Timestamp > 0 && d.Timestamp < 1e14 {
		t.time = time.UnixMilli(int64(d.Timestamp)).UTC()
	}
	if known, ok := turns[d.Ref]; !ok || !t.time.Before(known.time) {
		turns[d.Ref] = t
	}
}
