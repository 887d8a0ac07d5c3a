package cas

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// What is read here of bbolt's pages is in its own byte order, the machine's.
const (
	pageHeaderBytes  = 16
	pageFlagsAt      = 8
	freelistFlag     = 0x10
	pageCountAt      = 10      // 16 bits; all ones: the count is the first of the ids
	freelistIDsMax   = 1 << 27 // the free pages of a file of 512 GiB
	firstContentPage = 2

	// a file with so much that is free, and such a share of it, is worth writing anew
	slackBytes = 8 << 20
	slackShare = 4
)

// checkFreelist checks that bbolt's list of free pages names pages of the file,
// each once. bbolt has no checksum for the list, and a writer that trusted a
// damaged one would write beyond the file's end. It is asked before bbolt maps the
// file: a panic of bbolt while it opens would leave that mapped.
func (f *file) checkFreelist(handle *os.File) error {
	h, ok := newestHeader(handle)
	if !ok {
		return nil // bbolt says so
	}
	ids, highWater, err := freelist(handle, h)
	if err != nil {
		return err
	}
	f.free = len(ids)
	last := uint64(firstContentPage - 1)
	for _, id := range ids {
		if id <= last || id >= highWater {
			return fmt.Errorf("%w: page %d of %d is listed as free after page %d", ErrBroken, id, highWater, last)
		}
		last = id
	}
	return nil
}

// freelist returns the free pages of a transaction, and how many pages there are.
func freelist(handle *os.File, h header) (ids []uint64, highWater uint64, err error) {
	ne := binary.NativeEndian
	if ids, err = freePages(io.NewSectionReader(handle, int64(ne.Uint64(h[headerFreeAt:]))*pageSize, 1<<62)); err != nil {
		return nil, 0, fmt.Errorf("%w: list of free pages: %w", ErrBroken, err)
	}
	return ids, ne.Uint64(h[headerEndAt:]), nil
}

// freeBytes returns how much of the file the last transaction leaves unused; 0 if
// the list of that is damaged, which only a writer needs.
func (f *file) freeBytes() int64 {
	h, err := readHeader(f.handle, f.newest())
	if err != nil {
		return 0
	}
	ids, _, err := freelist(f.handle, h)
	if err != nil {
		return 0
	}
	return int64(len(ids)) * pageSize
}

// slack is freeBytes if it is a large share of the file, otherwise 0.
func (f *file) slack() int64 {
	free := f.freeBytes()
	if free < slackBytes || free < f.used/slackShare {
		return 0
	}
	return free
}

func freePages(page io.Reader) ([]uint64, error) {
	var head [pageHeaderBytes]byte
	if _, err := io.ReadFull(page, head[:]); err != nil {
		return nil, err
	}
	if flags := binary.NativeEndian.Uint16(head[pageFlagsAt:]); flags != freelistFlag {
		return nil, fmt.Errorf("a page of kind %#x", flags)
	}
	count := uint64(binary.NativeEndian.Uint16(head[pageCountAt:]))
	if count == 0xFFFF {
		if err := binary.Read(page, binary.NativeEndian, &count); err != nil {
			return nil, err
		}
	}
	if count > freelistIDsMax {
		return nil, fmt.Errorf("%d entries", count)
	}
	ids := make([]uint64, count)
	return ids, binary.Read(page, binary.NativeEndian, ids)
}
