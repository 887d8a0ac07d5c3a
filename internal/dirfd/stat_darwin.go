package dirfd

import (
	"os"
	"syscall"
)

func fromInfo(info os.FileInfo) Stat {
	s := Stat{Mode: fileType(info.Mode()) | permissions(info.Mode()), Size: info.Size(), Mtime: info.ModTime().UnixNano(), Nlink: 1}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Ctime = sys.Ctimespec.Nano()
		s.Ino, s.Dev = sys.Ino, uint64(sys.Dev)
		s.Nlink, s.UID, s.GID = uint32(sys.Nlink), sys.Uid, sys.Gid
	}
	return s
}
