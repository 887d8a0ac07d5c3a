package stattable

import (
	"encoding/binary"
	"strings"
	"unsafe"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// An Entry is one entry as it lies in the row: reading it copies nothing.
type Entry struct{ p []byte }

func (e Entry) raw() EntryFlags { return EntryFlags(binary.LittleEndian.Uint16(e.p[entFlags:])) }

// IsZero reports whether this is no entry.
func (e Entry) IsZero() bool { return e.p == nil }

// Flags returns the entry's flags.
func (e Entry) Flags() EntryFlags { return e.raw() &^ (hasGit | hasRaw | longIDs) }

// Size returns the entry's size.
func (e Entry) Size() int64 { return int64(binary.LittleEndian.Uint64(e.p[entBytes:])) }

// Same reports whether stat data are those of the entry.
func (e Entry) Same(st *dirfd.Stat) bool {
	le, p := binary.LittleEndian, e.p[:entIDs]
	return le.Uint64(p[entCtime:]) == uint64(st.Ctime) && le.Uint64(p[entMtime:]) == uint64(st.Mtime) &&
		le.Uint64(p[entBytes:]) == uint64(st.Size) && le.Uint64(p[entIno:]) == st.Ino &&
		le.Uint32(p)&0xffffff == uint32(st.Mode)
}

// Ino returns the inode of a file.
func (e Entry) Ino() uint64 { return binary.LittleEndian.Uint64(e.p[entIno:]) }

// CName returns the name, NUL-terminated, as system calls want it.
func (e Entry) CName() *byte { return &e.p[e.nameAt()] }

// Name returns the name as a part of the row: it must not outlive that.
func (e Entry) Name() string {
	at := e.nameAt()
	return unsafe.String(&e.p[at], len(e.p)-at-1)
}

func (e Entry) nameAt() int {
	n := e.idsEnd()
	if e.raw()&Fresh != 0 {
		n += readAtSize
	}
	return n
}

func (e Entry) idsEnd() int {
	flags, n := e.raw(), entIDs
	if flags&hasGit != 0 {
		n += idSize(flags&longIDs != 0)
	}
	if flags&hasRaw != 0 {
		n += idSize(flags&longIDs != 0)
	}
	return n
}

// Git returns the id the git tree has for the entry, zero if it has none.
func (e Entry) Git() oid.ID {
	flags := e.raw()
	if flags&hasGit == 0 {
		return oid.ID{}
	}
	return id(e.p[entIDs : entIDs+idSize(flags&longIDs != 0)])
}

// Raw returns the id of the bytes on disk; of a directory, its overlay.
func (e Entry) Raw() oid.ID {
	flags := e.raw()
	size := idSize(flags&longIDs != 0)
	switch {
	case flags&hasRaw == 0 && flags&IsDir != 0:
		return oid.ID{}
	case flags&hasRaw == 0:
		return e.Git()
	case flags&hasGit != 0:
		return id(e.p[entIDs+size : entIDs+2*size])
	}
	return id(e.p[entIDs : entIDs+size])
}

// GitMode returns the mode that the git tree has for the entry.
func (e Entry) GitMode() tree.Mode {
	mode := binary.LittleEndian.Uint32(e.p)
	if m := gitModes[mode>>24]; m != 0 {
		return m
	}
	return tree.Mode(mode & 0xffffff).Git()
}

// Item decodes the entry. It has nothing in common with the row any more.
func (e Entry) Item() Item {
	it := e.item()
	it.Name = strings.Clone(it.Name)
	return it
}

func (e Entry) item() Item {
	le, p := binary.LittleEndian, e.p
	mode, readAt := le.Uint32(p), int64(0)
	if e.raw()&Fresh != 0 {
		readAt = int64(le.Uint64(p[e.idsEnd():]))
	}
	return Item{Name: e.Name(), GitMode: e.GitMode(), Mode: tree.Mode(mode & 0xffffff), Flags: e.Flags(), Ino: le.Uint64(p[entIno:]),
		Size: int64(le.Uint64(p[entBytes:])), Mtime: int64(le.Uint64(p[entMtime:])), Ctime: int64(le.Uint64(p[entCtime:])),
		Git: e.Git(), Raw: e.Raw(), ReadAt: readAt}
}

// SameAs reports whether the entry is what encoding the item would give.
func (e Entry) SameAs(it *Item) bool { return e.item() == *it }
