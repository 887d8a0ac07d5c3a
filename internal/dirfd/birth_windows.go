package dirfd

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// Birth returns what tells the directory at a path from any other that stood or
// will stand there: a name that a rename does not change and a copy does not
// take along. It is the number that the file system knows it by: its time would
// be that of an earlier directory of this name, if that is seconds old.
func Birth(path string) (string, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", pathError("stat", path, err)
	}
	const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(p, 0, shared, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return "", pathError("stat", path, err)
	}
	defer windows.CloseHandle(h)
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return "", pathError("stat", path, err)
	}
	return fmt.Sprintf("file %x", uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow)), nil
}
