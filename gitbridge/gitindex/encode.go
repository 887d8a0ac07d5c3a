package gitindex

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// A Line is an entry of an index that is written.
type Line struct {
	Path string
	Mode tree.Mode // as a git tree has it
	ID   oid.ID
	Stat Stat // of the file that has this content; zero: git is to look at the file
	Skip bool // the file is not on disk, and is not missed there (skip-worktree)
}

// Encode makes an index file of the lines, in any order: of version 3 where a line
// is skipped, else of version 2, without extensions (git-scm.com/docs/index-format).
func Encode(lines []Line, alg oid.Algorithm) []byte {
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.Path, b.Path) })
	version := uint32(2)
	if slices.ContainsFunc(lines, func(l Line) bool { return l.Skip }) {
		version = 3
	}
	p := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	p = binary.BigEndian.AppendUint32(p, uint32(len(lines)))
	for i := range lines {
		p = appendLine(p, &lines[i])
	}
	h := alg.Hash()
	h.Write(p)
	return h.Sum(p)
}

func appendLine(p []byte, l *Line) []byte {
	begin, u32, s := len(p), binary.BigEndian.AppendUint32, l.Stat
	p = u32(u32(p, uint32(s.Ctime/1e9)), uint32(s.Ctime%1e9))
	p = u32(u32(p, uint32(s.Mtime/1e9)), uint32(s.Mtime%1e9))
	p = u32(u32(u32(p, s.Dev), s.Ino), uint32(l.Mode))
	p = u32(u32(u32(p, s.UID), s.GID), s.Size)
	p = append(p, l.ID.Bytes()...)
	flags := uint16(min(len(l.Path), flagLength))
	if l.Skip {
		flags |= flagExtended
	}
	p = binary.BigEndian.AppendUint16(p, flags)
	if l.Skip {
		p = binary.BigEndian.AppendUint16(p, extendedSkipWorktree)
	}
	p = append(p, l.Path...)
	for p = append(p, 0); (len(p)-begin)%8 != 0; {
		p = append(p, 0)
	}
	return p
}

// NewStat makes the stat data of an entry from those of a file.
func NewStat(f FileStat, dev uint64) Stat {
	return Stat{Ctime: f.Ctime, Mtime: f.Mtime, Dev: uint32(dev), Ino: uint32(f.Ino), UID: f.UID, GID: f.GID, Size: cutSize(f.Size)}
}
