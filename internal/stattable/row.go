package stattable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"unsafe"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

// errMalformed is reported for bytes that are not a row.
var errMalformed = errors.New("malformed stat table row")

// RowFlags say what a directory needs besides a look at its stat data.
type RowFlags uint32

// The flags of a row.
const (
	Ambiguous RowFlags = 1 << iota // the listing is too young to be trusted: list again
	Retry                          // something in it was skipped that may work now: list again
	DotGit                         // it has a ".git": ask whether it is a repository
	_                              // was of use once
	AllWanted                      // of a repository's root: its index wants everything on disk
	hasTree
	hasOverlay
	long    // its own ids have 32 bytes
	Hides   // the index has something that stands for another kind of thing here, or for none: the entries do not tell what
	Full    // it holds too many files that the index does not know: they are not among the entries
	Dropped // what was known of the entries was not saved: the index must not be taken for it
)

// Two small numbers of a head stand in the upper half of the flags.
const (
	unaskedShift, levelsShift = 16, 24
	flagsMask                 = 1<<unaskedShift - 1
	unaskedMax                = 1<<(levelsShift-unaskedShift) - 1
)

// EntryFlags say what is known of an entry.
type EntryFlags uint16

// The flags of an entry.
const (
	Young       EntryFlags = 1 << iota // too young to be trusted: read again whatever stat says
	Tracked                            // the index has it
	Converted                          // what git keeps of it is made by a conversion
	OverlayOnly                        // in the overlay alone, because a setting says so
	AbsentNow                          // in the git tree only, not on disk
	IsDir                              // a directory: its own row has its stat data
	Rule                               // an ignore or attributes file that is in force
	Ignored                            // the ignore rules leave it out; it is here for another reason
	OutOfGit                           // no part of it may be in the git tree
	hasGit
	hasRaw
	longIDs
	InFull  // a directory that is [Full], or lies in one: an empty one is not recorded
	Fresh   // read so soon after it was written that the write may have gone on: read it once more
	Linked  // a file with other names, under which it may be written too
	Unasked // ignored, and no pattern names it: it is here because it is small
)

// The offsets of a row and of an entry; docs/format.md has the table.
const (
	offFlags, offMode          = 4, 8
	offIno, offMtime, offCtime = 16, 24, 32
	offRules, offAttrs         = 40, 48
	offIndex, offIndexKey      = 56, 64
	offNotes, rowIDs           = 72, 76
	entFlags, entSize          = 4, 6
	entIno, entBytes           = 8, 16
	entMtime, entCtime, entIDs = 24, 32, 40
	shortID, longID            = 20, 32
	readAtSize                 = 8 // of an entry that is [Fresh]
)

// A Head is what a row says of the directory itself.
type Head struct {
	Flags        RowFlags
	Mode         tree.Mode
	Ino          uint64
	Mtime, Ctime int64  // nanoseconds
	Rules        uint64 // digest of the ignore rules and settings in force inside
	Attrs        uint64 // digest of the attribute rules in force inside
	Index        uint64 // digest of the index entries inside
	IndexKey     uint64 // of a repository's root: which index file the digests were made from
	Tree         oid.ID // the git tree; zero if it holds nothing
	Overlay      oid.ID // the overlay; zero if it holds nothing
	Unasked      int    // so many files in it could be [Unasked] entries; 255 stands for more
	Levels       uint8  // of the worktree's root: which directories' are
}

// An Item is one entry, decoded. For a directory Git is its tree (or the
// commit of a nested repository), Raw its overlay, and the numbers are zero.
type Item struct {
	Name         string
	Mode         tree.Mode // exact, as on disk
	GitMode      tree.Mode // not stored unless it differs from Mode.Git(); see docs/format.md
	Flags        EntryFlags
	Ino          uint64
	Size         int64
	Mtime, Ctime int64
	Git          oid.ID // in the git tree; zero: not there
	Raw          oid.ID // of the bytes on disk
	ReadAt       int64  // when these bytes were first read, if it is [Fresh]; else 0
}

// A Note is a name that was left out, and why. The empty name is the directory
// itself, of which only a part is here.
type Note struct {
	Name, Reason string
	Kept         bool // only the git tree lacks it; the overlay has it
}

// A Row is the encoded state of one directory. It is immutable and may be
// shared. The zero Row is no row.
type Row struct{ p []byte }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(dir string, p []byte) uint32 {
	sum := crc32.Update(0, castagnoli, p[4:])
	return crc32.Update(sum, castagnoli, unsafe.Slice(unsafe.StringData(dir), len(dir)))
}

// Encode makes the row of a directory. Names are plain (no slash, no NUL).
func Encode(dir string, h *Head, items []Item, notes []Note) Row {
	p := make([]byte, rowIDs, rowIDs+2*longID+itemBytes(items))
	le := binary.LittleEndian
	flags := h.Flags & flagsMask &^ (hasTree | hasOverlay | long)
	flags |= RowFlags(min(h.Unasked, unaskedMax))<<unaskedShift | RowFlags(h.Levels)<<levelsShift
	if !h.Tree.IsZero() {
		flags |= hasTree
		p = h.Tree.Append(p)
	}
	if !h.Overlay.IsZero() {
		flags |= hasOverlay
		p = h.Overlay.Append(p)
	}
	if n := len(p) - rowIDs; n == longID || n == 2*longID {
		flags |= long
	}
	le.PutUint32(p[offFlags:], uint32(flags))
	le.PutUint32(p[offMode:], uint32(h.Mode))
	le.PutUint64(p[offIno:], h.Ino)
	le.PutUint64(p[offMtime:], uint64(h.Mtime))
	le.PutUint64(p[offCtime:], uint64(h.Ctime))
	le.PutUint64(p[offRules:], h.Rules)
	le.PutUint64(p[offAttrs:], h.Attrs)
	le.PutUint64(p[offIndex:], h.Index)
	le.PutUint64(p[offIndexKey:], h.IndexKey)
	for i := range items {
		p = appendEntry(p, &items[i])
	}
	le.PutUint32(p[offNotes:], uint32(len(p)))
	for _, n := range notes {
		p = append(p, 0)
		if n.Kept {
			p[len(p)-1] = 1
		}
		p = le.AppendUint16(p, uint16(len(n.Name)))
		p = append(p, n.Name...)
		p = le.AppendUint16(p, uint16(len(n.Reason)))
		p = append(p, n.Reason...)
	}
	le.PutUint32(p, checksum(dir, p))
	return Row{p}
}

// itemBytes returns how many bytes the entries of items will have.
func itemBytes(items []Item) (n int) {
	for i := range items {
		it := &items[i]
		n += entIDs + it.Git.Len() + len(it.Name) + 1
		if it.Raw != it.Git || it.Flags&IsDir != 0 {
			n += it.Raw.Len()
		}
		if it.Flags&Fresh != 0 {
			n += readAtSize
		}
	}
	return n
}

func appendEntry(p []byte, it *Item) []byte {
	le, at := binary.LittleEndian, len(p)
	flags := it.Flags &^ (hasGit | hasRaw | longIDs)
	p = append(p, make([]byte, entIDs)...)
	if !it.Git.IsZero() {
		flags |= hasGit
		p = it.Git.Append(p)
	}
	if !it.Raw.IsZero() && (it.Raw != it.Git || flags&IsDir != 0) {
		flags |= hasRaw
		p = it.Raw.Append(p)
	}
	if n := len(p) - at - entIDs; n == longID || n == 2*longID {
		flags |= longIDs
	}
	if flags&Fresh != 0 {
		p = le.AppendUint64(p, uint64(it.ReadAt))
	}
	p = append(p, it.Name...)
	p = append(p, 0)
	mode := uint32(it.Mode) | uint32(gitModeCode(it))<<24
	le.PutUint32(p[at:], mode)
	le.PutUint16(p[at+entFlags:], uint16(flags))
	le.PutUint16(p[at+entSize:], uint16(len(p)-at))
	le.PutUint64(p[at+entIno:], it.Ino)
	le.PutUint64(p[at+entBytes:], uint64(it.Size))
	le.PutUint64(p[at+entMtime:], uint64(it.Mtime))
	le.PutUint64(p[at+entCtime:], uint64(it.Ctime))
	return p
}

// gitModes are the modes a git tree's entry can have, by the code that stands
// in the top byte of an entry's mode; code 0 is what the exact mode implies.
var gitModes = [...]tree.Mode{0, tree.GitFile, tree.GitExec, tree.GitSymlink, tree.GitDir, tree.GitLink}

func gitModeCode(it *Item) byte {
	if it.GitMode == 0 || it.GitMode == it.Mode.Git() {
		return 0
	}
	for i, m := range gitModes {
		if m == it.GitMode {
			return byte(i)
		}
	}
	return 0
}

// parseRow checks a row that was read for a directory: checksum, bounds, names.
// What it returns can be read without a further check.
func parseRow(dir string, p []byte) (Row, error) {
	le := binary.LittleEndian
	if len(p) < rowIDs || le.Uint32(p) != checksum(dir, p) {
		return Row{}, fmt.Errorf("%w: %q: checksum", errMalformed, dir)
	}
	r := Row{p}
	at, end := r.entriesAt(), int(le.Uint32(p[offNotes:]))
	if end > len(p) || at > end {
		return Row{}, fmt.Errorf("%w: %q: bounds", errMalformed, dir)
	}
	for rest := p[at:end]; len(rest) > 0; {
		n := checkEntry(rest)
		if n == 0 {
			return Row{}, fmt.Errorf("%w: %q: entry", errMalformed, dir)
		}
		rest = rest[n:]
	}
	for rest := p[end:]; len(rest) > 0; {
		var ok bool
		if _, rest, ok = cutNote(rest); !ok {
			return Row{}, fmt.Errorf("%w: %q: note", errMalformed, dir)
		}
	}
	return r, nil
}

// checkEntry returns the size of the first entry of p, 0 if it is malformed.
func checkEntry(p []byte) int {
	if len(p) < entIDs+2 {
		return 0
	}
	n := int(binary.LittleEndian.Uint16(p[entSize:]))
	name := Entry{p}.nameAt()
	if n > len(p) || name+2 > n || int(p[3]) >= len(gitModes) {
		return 0
	}
	if bytes.IndexByte(p[name:n], 0) != n-name-1 || bytes.IndexByte(p[name:n], '/') >= 0 {
		return 0
	}
	if p[name] == '.' && (n-name == 2 || p[name+1] == '.' && n-name == 3) {
		return 0
	}
	return n
}

func cutNote(p []byte) (Note, []byte, bool) {
	if len(p) < 1 {
		return Note{}, nil, false
	}
	kept, p := p[0] != 0, p[1:]
	var part [2]string
	for i := range part {
		if len(p) < 2 {
			return Note{}, nil, false
		}
		n := int(binary.LittleEndian.Uint16(p))
		if len(p) < 2+n {
			return Note{}, nil, false
		}
		part[i], p = string(p[2:2+n]), p[2+n:]
	}
	return Note{part[0], part[1], kept}, p, true
}

// IsZero reports whether this is no row.
func (r Row) IsZero() bool { return r.p == nil }

// Equal reports whether two rows are the same bytes.
func (r Row) Equal(o Row) bool { return bytes.Equal(r.p, o.p) }

// Flags returns the row's flags.
func (r Row) Flags() RowFlags {
	return r.rawFlags() & flagsMask &^ (hasTree | hasOverlay | long)
}

func (r Row) rawFlags() RowFlags { return RowFlags(binary.LittleEndian.Uint32(r.p[offFlags:])) }

// SameDir reports whether the directory's own stat data are the row's.
func (r Row) SameDir(st *dirfd.Stat) bool {
	le, p := binary.LittleEndian, r.p
	return le.Uint32(p[offMode:]) == uint32(st.Mode) && le.Uint64(p[offIno:]) == st.Ino &&
		le.Uint64(p[offMtime:]) == uint64(st.Mtime) && le.Uint64(p[offCtime:]) == uint64(st.Ctime)
}

// Head decodes what the row says of the directory itself.
func (r Row) Head() Head {
	le, p := binary.LittleEndian, r.p
	flags := r.rawFlags()
	h := Head{Flags: r.Flags(), Unasked: int(flags >> unaskedShift & unaskedMax), Levels: uint8(flags >> levelsShift), Mode: tree.Mode(le.Uint32(p[offMode:])), Ino: le.Uint64(p[offIno:]),
		Mtime: int64(le.Uint64(p[offMtime:])), Ctime: int64(le.Uint64(p[offCtime:])),
		Rules: le.Uint64(p[offRules:]), Attrs: le.Uint64(p[offAttrs:]),
		Index: le.Uint64(p[offIndex:]), IndexKey: le.Uint64(p[offIndexKey:])}
	at, size := rowIDs, idSize(flags&long != 0)
	if flags&hasTree != 0 {
		h.Tree = id(p[at : at+size])
		at += size
	}
	if flags&hasOverlay != 0 {
		h.Overlay = id(p[at : at+size])
	}
	return h
}

// entriesAt returns where the entries begin, which may lie beyond the end of a
// row that was not checked.
func (r Row) entriesAt() int {
	flags := RowFlags(binary.LittleEndian.Uint32(r.p[offFlags:]))
	n := rowIDs
	if flags&hasTree != 0 {
		n += idSize(flags&long != 0)
	}
	if flags&hasOverlay != 0 {
		n += idSize(flags&long != 0)
	}
	return n
}

// Entries returns the row's entries, with their numbers.
func (r Row) Entries() iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		rest := r.p[r.entriesAt():binary.LittleEndian.Uint32(r.p[offNotes:])]
		for i := 0; len(rest) > 0; i++ {
			n := binary.LittleEndian.Uint16(rest[entSize:])
			if !yield(i, Entry{rest[:n]}) {
				return
			}
			rest = rest[n:]
		}
	}
}

// Notes returns what was left out of the directory.
func (r Row) Notes() []Note {
	var out []Note
	for rest := r.p[binary.LittleEndian.Uint32(r.p[offNotes:]):]; len(rest) > 0; {
		var n Note
		n, rest, _ = cutNote(rest)
		out = append(out, n)
	}
	return out
}

func idSize(long bool) int {
	if long {
		return longID
	}
	return shortID
}

func id(p []byte) oid.ID {
	v, err := oid.FromBytes(p)
	if err != nil {
		panic("stattable: an id of an impossible size")
	}
	return v
}
