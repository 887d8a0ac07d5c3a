package remote

import (
	"time"

	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine/away"
)

// remotesTold is the answer of remote.
type remotesTold struct {
	Remotes  []remoteTold `json:"remotes"`
	AutoPush *Pushing     `json:"auto_push,omitempty"`     // how the pushes stand that rewind.autoPush asks for
	Password string       `json:"password_file,omitempty"` // where rewind keeps the password: without it nobody reads the repository
}

// A remoteTold is a repository elsewhere.
type remoteTold struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	There   int    `json:"there"`   // snapshots that this store has brought there
	Waiting int    `json:"waiting"` // that are not there, or say something new

	Forgotten int `json:"forgotten"` // that were brought there, and somebody has removed

	Git bool `json:"git,omitempty"` // it is a git repository, which others may read
}

// pushedTold is the answer of push.
type pushedTold struct {
	Remote    string      `json:"remote"`
	Snapshots int         `json:"snapshots"` // brought there
	There     int         `json:"there"`     // were there
	Forgotten int         `json:"forgotten"` // were brought there, and somebody has removed them: they stay so
	Contents  int         `json:"contents"`  // files that were read
	Bytes     int64       `json:"bytes"`     // sealed
	Left      []wire.Note `json:"left"`      // path is the id of a snapshot
}

// fetchedTold is the answer of fetch.
type fetchedTold struct {
	Remote    string      `json:"remote"`
	Snapshots []string    `json:"snapshots"`         // new here, oldest first
	There     int         `json:"there"`             // were here
	AtHome    int         `json:"at_home,omitempty"` // of the new ones, lack files that stay on the machine that recorded them: show ID names these
	Others    int         `json:"others,omitempty"`  // histories that are there beside this one: nothing of them is brought
	Left      []wire.Note `json:"left"`              // path is the id that a snapshot has there; it is empty for a file there that cannot be read as one: the reason names it
}

// resumedTold is the answer of resume.
type resumedTold struct {
	ID        string      `json:"id"`
	Remote    string      `json:"remote"` // the name that it has here
	Directory wire.Path   `json:"directory"`
	Written   int         `json:"written"`
	History   int         `json:"history"`           // snapshots that came with it
	AtHome    []wire.Note `json:"at_home,omitempty"` // files that the snapshot had, and that stay on the machine that recorded it
	Conflicts []wire.Note `json:"conflicts"`
	Left      []wire.Note `json:"left"`
}

// checkedTold is the answer of remote verify.
type checkedTold struct {
	Remote    string `json:"remote"`
	Snapshots int    `json:"snapshots"`
	Foreign   int    `json:"foreign"` // of them, those that rewind did not make
	Damage    string `json:"damage,omitempty"`
}

// prunedTold is the answer of remote prune.
type prunedTold struct {
	Remote   string        `json:"remote"`
	Dropped  []distantTold `json:"dropped"`
	Packs    int           `json:"packs"`    // files that are removed
	Bytes    int64         `json:"bytes"`    // that are free
	Unused   int64         `json:"unused"`   // that nothing needs, and that stay: to write anew what lies beside them costs more
	Unlisted int           `json:"unlisted"` // packs that no index names: a prune after a day removes them
	DryRun   bool          `json:"dry_run"`
}

// unlockedTold is the answer of remote unlock.
type unlockedTold struct {
	Remote  string `json:"remote"`
	Removed int    `json:"removed"`
	Left    int    `json:"left"` // locks that may be in use
}

// listTold is the answer of list with --remote.
type listTold struct {
	Remote    string        `json:"remote"`
	Snapshots []distantTold `json:"snapshots"` // newest first
}

// A distantTold is a snapshot in a remote.
type distantTold struct {
	ID   string    `json:"id"`
	File string    `json:"file"` // its id there
	Time time.Time `json:"time"`
	Host string    `json:"host"`
	Path string    `json:"path"`
	Tags []string  `json:"tags"`
}

// tellDistant tells of snapshots in a remote.
func tellDistant(list []*away.Distant) []distantTold {
	out := make([]distantTold, 0, len(list))
	for _, d := range list {
		out = append(out, distantTold{ID: d.Of.String(), File: d.ID.String(), Time: d.Time, Host: d.Hostname, Path: d.Paths[0], Tags: d.Tags})
	}
	return out
}
