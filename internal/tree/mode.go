package tree

// A Mode is the type and the permission bits of an entry, with the numbers of
// stat(2) and of git's tree encoding. In a git tree only five values occur; in
// an overlay every permission bit is kept.
type Mode uint32

// The types an entry can have. Absent occurs in overlays only.
const (
	typeMask Mode = 0170000
	permMask Mode = 07777

	Absent  Mode = 0       // in the git tree, but not on disk (sparse checkout)
	Dir     Mode = 0040000 // a directory
	File    Mode = 0100000 // a regular file
	Symlink Mode = 0120000 // a symbolic link; its content is the target
	Nested  Mode = 0160000 // a directory that is a repository of its own; a gitlink in a git tree
)

// The modes of a git tree's entries.
const (
	GitDir     = Dir
	GitFile    = File | 0644
	GitExec    = File | 0755
	GitSymlink = Symlink
	GitLink    = Nested
)

// Type returns the type bits alone.
func (m Mode) Type() Mode { return m & typeMask }

// Perm returns the permission bits, setuid, setgid and sticky included.
func (m Mode) Perm() Mode { return m & permMask }

// IsDir reports whether the entry is a directory on disk, nested or not.
func (m Mode) IsDir() bool { return m.Type() == Dir || m.Type() == Nested }

// Git returns the mode that a git tree records for a path of mode m: git keeps
// of the permissions of a file only whether its owner may execute it.
func (m Mode) Git() Mode {
	switch m.Type() {
	case File:
		if m&0100 != 0 {
			return GitExec
		}
		return GitFile
	default:
		return m.Type()
	}
}

// Base returns the exact mode that a path of git mode m has on disk unless the
// overlay says otherwise: what git and mkdir create under the given umask.
func (m Mode) Base(umask Mode) Mode {
	switch {
	case m.IsDir():
		return m.Type() | 0777&^umask
	case m.Type() == File && m&0100 != 0:
		return File | 0777&^umask
	case m.Type() == File:
		return File | 0666&^umask
	}
	return m.Type()
}
