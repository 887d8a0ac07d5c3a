package gitbridge

import (
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// habits are the settings of a repository that say how git writes into it, so
// that what we write is no different.
type habits struct {
	logAlways bool
	syncLoose bool
	share     func(path string) error // nil: the umask decides
}

func (r *Repo) habits() (h habits, err error) {
	if err := r.refuses(); err != nil {
		return h, err
	}
	conf, err := r.conf()
	if err != nil {
		return h, err
	}
	always, _ := conf.String("core.logallrefupdates")
	h.logAlways = strings.EqualFold(always, "always")
	h.syncLoose, _ = conf.Bool("core.fsyncobjectfiles", false)
	components, _ := conf.String("core.fsync")
	for c := range strings.SplitSeq(components, ",") {
		name, off := strings.CutPrefix(strings.TrimSpace(c), "-")
		switch name {
		case "loose-object", "objects", "committed", "added", "all":
			h.syncLoose = !off
		case "none":
			h.syncLoose = false
		}
	}
	shared, _ := conf.String("core.sharedrepository")
	if bits, exact := sharedBits(shared); bits != 0 {
		h.share = func(path string) error { return share(path, bits, exact) }
	}
	return h, nil
}

// SymlinkedObjects reports whether a directory among git's objects is a link, so that what
// is written does not lie where the others do. In doubt it is.
func (r *Repo) SymlinkedObjects() bool {
	links, err := r.db.Symlinks()
	return err != nil || slices.ContainsFunc(links, func(at string) bool { return at != r.layout.Objects })
}

// sharedBits reads core.sharedRepository: the permission bits to add, or the
// exact ones; none where the umask decides.
func sharedBits(s string) (bits fs.FileMode, exact bool) {
	switch strings.ToLower(s) {
	case "group", "true", "yes", "on", "1":
		return 0o660, false
	case "all", "world", "everybody", "2":
		return 0o664, false
	}
	n, err := strconv.ParseUint(s, 8, 16)
	if err != nil || n > 0o777 || n&0o600 != 0o600 {
		return 0, false // unset, "umask", "false", or nonsense that git refuses
	}
	return fs.FileMode(n) &^ 0o111, true
}

// share gives a new file or directory its permissions: what nobody may write
// stays so, and a directory may be entered by whoever may read it.
func share(path string, bits fs.FileMode, exact bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	mode := info.Mode()
	perm := mode.Perm()
	if perm&0o200 == 0 {
		bits &^= 0o222
	}
	if exact {
		perm = bits
	} else {
		perm |= bits
	}
	if mode.IsDir() {
		perm |= perm & 0o444 >> 2
		if bits&0o060 != 0 {
			perm |= fs.ModeSetgid
		}
	}
	if perm == mode&(fs.ModePerm|fs.ModeSetgid) {
		return nil
	}
	return os.Chmod(path, perm)
}
