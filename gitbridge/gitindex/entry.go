package gitindex

import (
	"encoding/binary"
	"fmt"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// check refuses a record that [Index.entry] could not decode.
func (x *Index) check(r *record) error {
	p := x.files[r.base].data[r.at:]
	mode := tree.Mode(binary.BigEndian.Uint32(p[24:]))
	switch mode.Type() {
	case tree.File, tree.Symlink, tree.Nested:
	default:
		return fmt.Errorf("%w: %q has mode %o", ErrMalformed, r.path, mode)
	}
	flags := x.flags(r)
	if binary.BigEndian.Uint16(flags)&flagExtended == 0 {
		return nil
	}
	more := binary.BigEndian.Uint16(flags[2:])
	if more&^(extendedSkipWorktree|extendedIntentToAdd) != 0 {
		return fmt.Errorf("%w: flags %#x in %q", ErrUnsupported, more, r.path)
	}
	if more&extendedSkipWorktree != 0 {
		x.Skips = true
	}
	return nil
}

// entry decodes a record, which was checked. The name begins after so many
// bytes of the path.
func (x *Index) entry(r *record, skip int, e *Entry) {
	f := x.files[r.base]
	p := f.data[r.at:]
	e.Name = r.path[skip:]
	e.Mode = tree.Mode(binary.BigEndian.Uint32(p[24:]))
	e.ID, _ = oid.FromBytes(p[statSize : statSize+f.hash]) // of a size that the algorithm has
	e.Stat.read(p)
	e.mark(p[statSize+f.hash:])
}

func (s *Stat) read(p []byte) {
	p = p[:statSize]
	u32 := binary.BigEndian.Uint32
	s.Ctime = int64(u32(p))*1e9 + int64(u32(p[4:]))
	s.Mtime = int64(u32(p[8:]))*1e9 + int64(u32(p[12:]))
	s.Dev, s.Ino = u32(p[16:]), u32(p[20:])
	s.UID, s.GID, s.Size = u32(p[28:]), u32(p[32:]), u32(p[36:])
}

// mark decodes the flags of an entry.
func (e *Entry) mark(p []byte) {
	flags := binary.BigEndian.Uint16(p)
	e.Stage, e.Flags = uint8(flags&flagStages>>12), 0
	if flags&flagExtended == 0 {
		return
	}
	more := binary.BigEndian.Uint16(p[2:])
	if more&extendedSkipWorktree != 0 {
		e.Flags |= SkipWorktree
	}
	if more&extendedIntentToAdd != 0 {
		e.Flags |= IntentToAdd
	}
}
