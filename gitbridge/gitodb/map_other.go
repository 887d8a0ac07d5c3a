//go:build !unix

package gitodb

import (
	"io/fs"
	"os"
)

// mapFile reads a whole file, where mapping is not at hand.
func mapFile(path string) (data []byte, unmap func() error, file fs.FileInfo, err error) {
	data, err = os.ReadFile(path)
	return data, func() error { return nil }, nil, err
}

// mapOpen maps nothing here: the file is read in the usual way.
func mapOpen(*os.File, int64) (data []byte, unmap func() error) { return nil, nil }

// giveBackPages has nothing to give back: nothing is mapped.
func giveBackPages([]byte) {}
