package watch

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

// misnames reports whether this is Wine, which goes on telling a directory that was renamed
// by its old name.
func misnames() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// shortName is the name of a file in the form of 8.3.
func shortName(t *testing.T, path string) string {
	t.Helper()
	p, err := windows.UTF16PtrFromString(path)
	must(t, err)
	buf := make([]uint16, 1<<10)
	n, err := windows.GetShortPathName(p, &buf[0], uint32(len(buf)))
	must(t, err)
	return filepath.Base(windows.UTF16ToString(buf[:n]))
}
