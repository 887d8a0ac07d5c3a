package gitindex

import (
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// Stat is what the index keeps of a file's stat(2) data. Numbers are cut to 32
// bits as git does; times are nanoseconds since 1970, of which git may have
// kept whole seconds only.
type Stat struct {
	Ctime, Mtime             int64
	Dev, Ino, UID, GID, Size uint32
}

// FileStat is the stat(2) data of a file on disk: times in nanoseconds since
// 1970, size in bytes.
type FileStat struct {
	Ctime, Mtime int64
	Ino          uint64
	UID, GID     uint32
	Size         int64
}

// StatMatches reports whether the file on disk still has the stat data of the
// entry, by git's rule, except that nanoseconds are compared too where both sides
// have them. The device is not compared, as in git. Git's settings that turn fields
// off (core.checkStat and core.trustctime in git-config(1)) have no say.
//
// Type and permissions are not part of it: the caller compares Mode. A match
// proves equal content only if the entry is not [Index.Racy].
func (e *Entry) StatMatches(f FileStat) bool {
	s := &e.Stat
	return s.Size == cutSize(f.Size) && sameTime(s.Mtime, f.Mtime) && sameTime(s.Ctime, f.Ctime) &&
		s.Ino == uint32(f.Ino) && s.UID == f.UID && s.GID == f.GID
}

// Racy reports whether the file may have changed, without a trace in its stat
// data, since git compared it with the entry: it was touched less than slack
// before the index was written, or later. Slack is how far apart two writes
// must be to get different timestamps; where nanoseconds are missing on either
// side whole seconds are compared, as git does. Entries that git itself marked
// as doubtful (size 0, but not the empty content) are racy, and all are if
// [Options] gave no time of the index.
func (x *Index) Racy(e *Entry, slack time.Duration) bool {
	if x.Mtime == 0 {
		return true
	}
	if e.Stat.Size == 0 && e.Mode.Type() != tree.Nested && e.ID != x.alg.Sum(oid.Blob, nil) {
		return true
	}
	last := max(e.Stat.Mtime, e.Stat.Ctime)
	if coarse(e.Stat.Mtime) || coarse(x.Mtime) {
		return seconds(last)+uint32(slack/time.Second) >= seconds(x.Mtime)
	}
	return last+int64(slack) >= x.Mtime
}

// seconds gives the 32 bits of a time that git keeps; the shift to the floor
// matters for times before 1970.
func seconds(ns int64) uint32 {
	s := ns / 1e9
	if ns%1e9 < 0 {
		s--
	}
	return uint32(s)
}

// coarse reports whether a time has no nanoseconds: the file system or the
// writer of the index has none (one time in a billion has none by chance, and
// is then compared less exactly).
func coarse(ns int64) bool { return ns%1e9 == 0 }

func sameTime(a, b int64) bool {
	if seconds(a) != seconds(b) {
		return false
	}
	return coarse(a) || coarse(b) || (a-b)%1e9 == 0
}

// cutSize gives the 32 bits of a size that git keeps. A size that would be cut
// to 0 becomes 1<<31 in newer versions of git, because 0 means doubtful.
func cutSize(size int64) uint32 {
	if size != 0 && uint32(size) == 0 {
		return 1 << 31
	}
	return uint32(size)
}
