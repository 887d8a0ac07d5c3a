//go:build !unix

package gitodb

import (
	"io"
	"io/fs"
	"os"

	"github.com/seed-82afce7a/rewind/internal/regular"
)

// mapFile reads a whole file, where mapping is not at hand.
func mapFile(path string) (data []byte, unmap func() error, file fs.FileInfo, err error) {
	f, err := regular.Open(path) // git may remove it meanwhile
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	data, err = io.ReadAll(f)
	return data, func() error { return nil }, nil, err
}

// mapOpen maps nothing here: the file is read in the usual way.
func mapOpen(*os.File, int64) (data []byte, unmap func() error) { return nil, nil }

// giveBackPages has nothing to give back: nothing is mapped.
func giveBackPages([]byte) {}
