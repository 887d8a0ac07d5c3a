package apply

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// safePath reports, as an [ErrUnsafe], why a path must not be written below a
// worktree, nor be put into a git tree: it is not a plain relative path, or a
// component is ".git" in some spelling that a file system folds to it. They
// are the names that git refuses with core.protectNTFS and core.protectHFS on
// (git-config(1)), and one that it overlooks, `\.git`. They are refused on
// every system, because a worktree may lie on a foreign file system or be
// copied to one:
//
//   - ".git" in any case;
//   - NTFS: the short name "git~1", either followed by dots and spaces or by a
//     ":" and a stream name, and a backslash taken for a slash;
//   - HFS+: ".git" with code points strewn in that it ignores.
//
// Paths are slash-separated bytes, as on disk.
func safePath(path string) error {
	if path == "" {
		return fmt.Errorf("%w: empty", ErrUnsafe)
	}
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "", name == ".", name == "..":
			return fmt.Errorf("%w: %q is no plain relative path", ErrUnsafe, path)
		case strings.ContainsRune(name, 0):
			return fmt.Errorf("%w: %q has a NUL byte", ErrUnsafe, path)
		case DotGit(name):
			return fmt.Errorf("%w: %q can lead into a .git", ErrUnsafe, path)
		}
	}
	return nil
}

// DotGit reports whether some file system may take a name for ".git".
func DotGit(name string) bool {
	if hfsDotGit(name) {
		return true
	}
	for part := range strings.SplitSeq(name, `\`) {
		if ntfsDotGit(part) {
			return true
		}
	}
	return false
}

// ntfsDotGit knows how NTFS reads a name: without case, without trailing dots
// and spaces, and up to the colon before a stream.
func ntfsDotGit(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return equalASCII(name, ".git") || equalASCII(name, "git~1")
}

// hfsDotGit knows how HFS+ reads a name: without case and without the code
// points that Unicode calls ignorable. Like git it takes a byte that is no
// UTF-8 for the end.
func hfsDotGit(name string) bool {
	if len(name) < len(".git") {
		return false
	}
	var letters [len(".git")]byte
	n := 0
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		i += size
		if ignorable(r) {
			continue
		}
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r >= utf8.RuneSelf || n == len(letters) {
			return false
		}
		letters[n] = byte(r)
		n++
	}
	return equalASCII(string(letters[:n]), ".git")
}

func ignorable(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

func equalASCII(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
