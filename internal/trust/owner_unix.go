//go:build unix

package trust

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"sync"
	"syscall"
)

// owned reports whether a file belongs to the effective user; for root also
// whether it belongs to who called sudo, whose number is in SUDO_UID.
func (j *Judge) owned(_ string, info fs.FileInfo) bool {
	owner, self := info.Sys().(*syscall.Stat_t).Uid, effective()
	if self == 0 && owner != 0 {
		id, err := strconv.ParseUint(j.env("SUDO_UID"), 10, 32)
		return err == nil && owner == uint32(id)
	}
	return int64(owner) == int64(self)
}

// effective is the effective user, whom no process of ours changes.
var effective = sync.OnceValue(os.Geteuid)

// ownerOf names the owner of a file, by number where the system has no name.
func ownerOf(_ string, info fs.FileInfo) string {
	id := strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "user " + id
}

// Self names the effective user as chown takes it.
func Self() string {
	id := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
