//go:build !linux

package regular

import (
	"io/fs"
	"time"
)

func changed(st fs.FileInfo) time.Time { return st.ModTime() }

// touched is not known here, where the time of change may not be told.
func touched(string, fs.FileInfo) (time.Time, bool) { return time.Time{}, false }
