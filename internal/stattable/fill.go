package stattable

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-82afce7a/rewind/internal/durable"
)

// A filling is a table's first file while it is written. It has no name before
// it is whole, so nobody can see a part of it, and nothing is left of one that is
// given up.
//
// It is a bbolt file, made page by page: to put sorted rows one behind another
// takes a third of the time that a transaction takes to find the place of each,
// and needs no memory for them.
type filling struct {
	file  *os.File
	done  chan struct{} // closed when the rows are written, or err is set
	err   error
	pages pages
	rows  uint64 // page of the bucket
}

// Fill begins to write the rows of a table that has no file yet, beside whatever
// the caller does until [Table.Save], which must get the same rows and none to
// remove: then little is left to do for it. Where that is not possible, or the
// table is not new, it does nothing.
func (t *Table) Fill(changed map[string]Row) {
	if len(changed) == 0 || len(t.list) > 0 || t.generation != 0 || t.damaged.Load() || t.filling != nil {
		return
	}
	if _, err := os.Lstat(t.path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if durable.CheckDir(filepath.Dir(t.path)) != nil {
		return
	}
	file, err := nameless(t.path)
	if err != nil {
		return
	}
	f := &filling{file: file, done: make(chan struct{})}
	f.pages = pages{file: file, size: os.Getpagesize(), next: firstPage}
	t.filling = f
	go func() {
		defer close(f.done)
		f.rows, f.err = f.pages.bucket(changed)
	}()
}

// finish writes what was not known before, and gives the file its name.
func (f *filling) finish(path string, b Binding) error {
	<-f.done
	defer f.file.Close()
	if f.err != nil {
		return f.err
	}
	if err := f.pages.finish(f.rows, encodeHeader(1, b)); err != nil {
		return err
	}
	err := giveName(f.file, path)
	if errors.Is(err, fs.ErrExist) {
		return ErrOutdated
	}
	return err
}

// drop gives the file up.
func (f *filling) drop() {
	<-f.done
	f.file.Close()
}

// What bbolt has in a file: the kinds of its pages, and sizes in bytes.
const (
	branchPage, leafPage, metaPage, freelistPage = 1, 2, 4, 16

	isBucket      = 1
	pageHead      = 16
	pageMore      = 12 // where the head says how many pages more it has
	element       = 16
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
	metaSummed    = 56
	freelistAt    = 2
	firstPage     = 3
	keysMin       = 2 // of a page
	pagesBufBytes = 256 << 10
)

// pages writes a bbolt file from front to back.
type pages struct {
	file *os.File
	size int
	next uint64 // the page to come
	buf  []byte // not written yet; ends where that page begins
	err  error
}

// A cell is an entry of a page.
type cell struct {
	key   string
	value []byte // of a leaf
	flags uint32 // of a leaf
	page  uint64 // of a branch
}

// bucket writes rows, in order, and the branches above them.
func (w *pages) bucket(changed map[string]Row) (root uint64, err error) {
	dirs := make([]string, 0, len(changed))
	for dir := range changed {
		if len(dir)+1 <= keyBytesMax { // a longer one is listed again at each scan
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	level := make([]cell, len(dirs))
	for i, dir := range dirs {
		level[i] = cell{key: "/" + dir, value: changed[dir].p}
	}
	level = w.level(level, leafPage)
	for len(level) > 1 {
		level = w.level(level, branchPage)
	}
	if len(level) == 0 {
		return 0, errors.New("stat table: no rows")
	}
	w.flush()
	return level[0].page, w.err
}

// level writes cells to as many pages as they need, and returns these pages.
func (w *pages) level(cells []cell, kind uint16) (above []cell) {
	full := int(float64(w.size) * fillPercent)
	for len(cells) > 0 {
		n, size := 0, pageHead
		for n < len(cells) {
			more := element + len(cells[n].key) + len(cells[n].value)
			if n >= keysMin && size+more > full {
				break
			}
			n, size = n+1, size+more
		}
		if len(cells)-n == 1 { // no page has a single key, but for the only one
			n++
		}
		above = append(above, cell{key: cells[0].key, page: w.page(cells[:n], kind)})
		cells = cells[n:]
	}
	return above
}

// page writes one page and returns its number.
func (w *pages) page(cells []cell, kind uint16) uint64 {
	number, start, ne := w.next, len(w.buf), binary.NativeEndian
	w.buf = append(w.buf, make([]byte, pageHead+element*len(cells))...)
	for i := range cells {
		c := &cells[i]
		at := start + pageHead + element*i
		pos := uint32(len(w.buf) - at)
		if kind == branchPage {
			ne.PutUint32(w.buf[at:], pos)
			ne.PutUint32(w.buf[at+4:], uint32(len(c.key)))
			ne.PutUint64(w.buf[at+8:], c.page)
		} else {
			ne.PutUint32(w.buf[at:], c.flags)
			ne.PutUint32(w.buf[at+4:], pos)
			ne.PutUint32(w.buf[at+8:], uint32(len(c.key)))
			ne.PutUint32(w.buf[at+12:], uint32(len(c.value)))
		}
		w.buf = append(append(w.buf, c.key...), c.value...)
	}
	count := (len(w.buf) - start + w.size - 1) / w.size
	w.buf = append(w.buf, make([]byte, count*w.size-(len(w.buf)-start))...)
	head(w.buf[start:], number, kind, len(cells))
	binary.NativeEndian.PutUint32(w.buf[start+pageMore:], uint32(count-1))
	w.next += uint64(count)
	if len(w.buf) >= pagesBufBytes {
		w.flush()
	}
	return number
}

// head writes the head of a page that has so many cells.
func head(p []byte, number uint64, kind uint16, cells int) {
	ne := binary.NativeEndian
	ne.PutUint64(p, number)
	ne.PutUint16(p[8:], kind)
	ne.PutUint16(p[10:], uint16(cells))
}

// flush writes the pages that are in the buffer.
func (w *pages) flush() {
	if w.err == nil {
		_, w.err = w.file.WriteAt(w.buf, int64(w.next)*int64(w.size)-int64(len(w.buf)))
	}
	w.buf = w.buf[:0]
}

// finish writes the bucket with the header, the root, and the first pages, which
// say where it is.
func (w *pages) finish(rows uint64, header []byte) error {
	at := func(page uint64) []byte {
		return append(binary.NativeEndian.AppendUint64(nil, page), make([]byte, 8)...)
	}
	meta := w.page([]cell{{key: string(headerKey), value: header}}, leafPage)
	root := w.page([]cell{
		{key: string(metaBucket), value: at(meta), flags: isBucket},
		{key: string(rowsBucket), value: at(rows), flags: isBucket},
	}, leafPage)
	w.flush()
	first := make([]byte, firstPage*w.size)
	for i := range 2 {
		p := first[i*w.size:]
		head(p, uint64(i), metaPage, 0)
		w.meta(p[pageHead:], root, uint64(i))
	}
	head(first[freelistAt*w.size:], freelistAt, freelistPage, 0)
	if w.err == nil {
		_, w.err = w.file.WriteAt(first, 0)
	}
	return w.err
}

func (w *pages) meta(p []byte, root, transaction uint64) {
	ne := binary.NativeEndian
	ne.PutUint32(p, boltMagic)
	ne.PutUint32(p[4:], boltVersion)
	ne.PutUint32(p[8:], uint32(w.size))
	ne.PutUint64(p[16:], root)
	ne.PutUint64(p[32:], freelistAt)
	ne.PutUint64(p[40:], w.next)
	ne.PutUint64(p[48:], transaction)
	sum := fnv.New64a()
	sum.Write(p[:metaSummed])
	ne.PutUint64(p[metaSummed:], sum.Sum64())
}
