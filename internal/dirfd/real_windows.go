package dirfd

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// Real resolves what leads elsewhere in the path of what is there: links, and what
// [filepath.EvalSymlinks] takes for no link: junctions, and drives that stand for a
// directory.
func Real(path string) (string, error) {
	if real, err := finalPath(path); err == nil {
		return real, nil
	}
	return filepath.EvalSymlinks(path) // some file systems tell no such path
}

// finalPath is the path that the system has of what it opens by another one.
func finalPath(path string) (string, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", err
	}
	h, err := windows.CreateFile(p, 0, shareAll, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return "", err
	}
	defer windows.CloseHandle(h)
	buf := make([]uint16, 1<<15)
	if _, err := windows.GetFinalPathNameByHandle(h, &buf[0], uint32(len(buf)), 0); err != nil {
		return "", err
	}
	full := windows.UTF16ToString(buf) // \\?\C:\…, or \\?\UNC\…
	if share, ok := strings.CutPrefix(full, `\\?\UNC\`); ok {
		return `\\` + share, nil
	}
	return strings.TrimPrefix(full, `\\?\`), nil
}
