package dirfd

import (
	"io/fs"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// shareAll lets every other program do with an open file what it likes: nobody is to
// fail because rewind looks at a file.
const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// readOnly is the one bit of permissions that this system keeps of a file. A directory
// has none: its attribute of that name does not keep anybody from writing.
const readOnly = tree.Mode(0o444)

// Storable is what a file system of this machine keeps of a mode: whether a file may be
// written. The execute bits are git's and the snapshots' alone.
func Storable(m tree.Mode) tree.Mode {
	switch m.Type() {
	case tree.File:
		if m&0o200 == 0 {
			return tree.File | readOnly
		}
		return tree.GitFile
	case tree.Dir, tree.Nested:
		return m.Type() | 0o755
	}
	return m
}

// opened opens what lies at a path for a look, and nothing else: it works also while
// another program lets nobody read the file. A link is not followed.
func opened(path string) (windows.Handle, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	return windows.CreateFile(p, windows.FILE_READ_ATTRIBUTES, shareAll, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
}

func lstat(path string) (Stat, error) {
	h, err := opened(path)
	if err != nil {
		return Stat{}, err
	}
	defer windows.CloseHandle(h)
	return statOf(h)
}

func fstat(f *os.File) (Stat, error) { return statOf(windows.Handle(f.Fd())) }

// statOf returns what the system knows of an open file. Its number on the volume stands
// for the inode, and the time at which anything of it changed for that of inode change.
func statOf(h windows.Handle) (st Stat, err error) {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return st, err
	}
	st = Stat{
		Size: int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow), Mtime: info.LastWriteTime.Nanoseconds(),
		Ino: uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow), Dev: uint64(info.VolumeSerialNumber), Nlink: info.NumberOfLinks,
	}
	var basic struct {
		Creation, Access, Write, Change windows.Filetime
		Attributes                      uint32
		_                               uint32
	}
	if err := windows.GetFileInformationByHandleEx(h, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&basic)), uint32(unsafe.Sizeof(basic))); err != nil {
		return st, err
	}
	st.Ctime = basic.Change.Nanoseconds()
	st.Mode, err = modeOf(h, info.FileAttributes)
	if st.Mode.Type() == tree.Dir {
		st.Size = 0
	}
	return st, err
}

// modeOf gives a file's type: a symbolic link is one, whatever it leads to; a junction,
// or another thing that stands for something elsewhere, is nothing that is recorded, and
// not entered. What the file system merely stores in a way of its own (in the cloud,
// compressed, without duplicates) is a file or a directory.
func modeOf(h windows.Handle, attributes uint32) (tree.Mode, error) {
	if attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		var tag struct{ Attributes, Tag uint32 }
		if err := windows.GetFileInformationByHandleEx(h, windows.FileAttributeTagInfo, (*byte)(unsafe.Pointer(&tag)), uint32(unsafe.Sizeof(tag))); err != nil {
			return 0, err
		}
		const standsForAnother, unixSocket = 0x20000000, 0x80000023
		switch {
		case tag.Tag == windows.IO_REPARSE_TAG_SYMLINK:
			return tree.Symlink | 0o777, nil
		case tag.Tag == unixSocket:
			return socket | 0o755, nil
		case tag.Tag&standsForAnother != 0:
			return char | 0o755, nil
		}
	}
	switch {
	case attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		return tree.Dir | 0o755, nil
	case attributes&windows.FILE_ATTRIBUTE_READONLY != 0:
		return tree.File | readOnly, nil
	}
	return tree.GitFile, nil
}

// exactly reports that what a name leads to is called otherwise: in other case, or by a
// short name. Two such names are two paths of a snapshot, and one on this disk.
func exactly(path, name string) error {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	var found windows.Win32finddata
	h, err := windows.FindFirstFile(p, &found)
	if err != nil {
		return nil // it may be looked at and its directory not listed
	}
	_ = windows.FindClose(h)
	if windows.UTF16ToString(found.FileName[:]) != name {
		return fs.ErrNotExist
	}
	return nil
}

// nameable reports whether the system can hold a name. One that is not UTF-16, or would
// name a stream of another file, would be a name of something else.
func nameable(name string) bool {
	p, err := windows.UTF16FromString(name)
	return err == nil && windows.UTF16ToString(p) == name && !strings.ContainsAny(name, `\:`)
}

// verbatim is a path in the form in which the system takes it as it is: of any length,
// with names like "con", or that end with a dot or a blank.
func verbatim(path string) string {
	switch {
	case strings.HasPrefix(path, `\\?\`) || strings.HasPrefix(path, `\\.\`):
		return path
	case strings.HasPrefix(path, `\\`):
		return `\\?\UNC` + path[1:]
	}
	return `\\?\` + path
}

// openShared opens a file for reading. A link is not followed.
func openShared(path string) (*os.File, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(p, windows.GENERIC_READ, shareAll, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}
