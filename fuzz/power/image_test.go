//go:build linux

package power

import (
	"os"
	"slices"
)

const (
	pageSize   = 4096
	sectorSize = 512
)

type page [pageSize]byte

// An image is what a disk holds, by pages; nil is a page of zeros. No page is
// changed once it is in an image, so a copy of the slice is a copy of the disk.
type image []*page

func newImage(bytes int64) image { return make(image, bytes/pageSize) }

func (m image) clone() image { return slices.Clone(m) }

func (m image) size() int64 { return int64(len(m)) * pageSize }

// read fills b with what lies at an offset; the disk must be that long.
func (m image) read(off int64, b []byte) {
	for len(b) > 0 {
		at := off % pageSize
		n := min(len(b), int(pageSize-at))
		if p := m[off/pageSize]; p != nil {
			copy(b[:n], p[at:])
		} else {
			clear(b[:n])
		}
		b, off = b[n:], off+int64(n)
	}
}

// write puts b at an offset; the disk must be that long.
func (m image) write(off int64, b []byte) {
	for len(b) > 0 {
		at := off % pageSize
		fresh := new(page)
		if old := m[off/pageSize]; old != nil {
			*fresh = *old
		}
		n := copy(fresh[at:], b)
		m[off/pageSize] = fresh
		b, off = b[n:], off+int64(n)
	}
}

// save writes the image as a sparse file that can be mounted and looked at.
func (m image) save(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for i, p := range m {
		if p == nil {
			continue
		}
		if _, err := f.WriteAt(p[:], int64(i)*pageSize); err != nil {
			return err
		}
	}
	return f.Truncate(m.size())
}
