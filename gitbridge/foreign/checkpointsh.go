package foreign

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seed-82afce7a/rewind/gitbridge"
)

const shPrefix = "refs/checkpoints/"

var (
	shRef     = pattern(`^refs/checkpoints/(.+)/(\d{1,9})$`)
	shSubject = pattern(`^checkpoint:(\d{1,12}):before:(.*)$`)
)

// checkpointSh reads a checkpoint of the hook checkpoint.sh. The last component
// of the ref is a number, all before it the branch.
func (r *reader) checkpointSh(c *Checkpoint, raw gitbridge.RawCommit) {
	name := shRef().FindStringSubmatch(c.Ref)
	subject, _, _ := strings.Cut(raw.Message, "\n")
	said := shSubject().FindStringSubmatch(subject)
	if name == nil || said == nil {
		c.Err = fmt.Errorf("%w: it is not the hook checkpoint.sh's", ErrForeign)
		return
	}
	c.Kind, c.Branch, c.Trigger = CheckpointSh, name[1], "write"
	c.Turn, _ = strconv.Atoi(name[2]) // nine digits
	seconds, _ := strconv.ParseInt(said[1], 10, 64)
	c.Time = time.Unix(seconds, 0).UTC()
	if file := oneLine(said[2]); file != "" {
		c.Label = "before modifying " + path.Base(file)
	}
	if len(raw.Parents) > 0 {
		c.Head = raw.Parents[0]
	}
	// Failures of its "git add -A" are ignored, and then the paths are as the
	// index had them: present, but perhaps older.
}
