package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// A release says by the linker what it was made of (.goreleaser.yaml). Any other build has
// what Go wrote into it.
var version, commit, date string

// Build is the answer of version.
type Build struct {
	Version string `json:"version"` // "(devel)" where the build names none
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"` // of the commit
	Go      string `json:"go"`             // the version of Go that built it
}

// Built tells what this program was built of.
func Built() Build {
	b := Build{Version: version, Commit: commit, Date: date, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok || version != "" {
		return b
	}
	b.Version = strings.TrimPrefix(info.Main.Version, "v")
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		}
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	return b
}

// Version is the version alone: a release, what Go made of the commit, or "(devel)".
func Version() string { return Built().Version }
