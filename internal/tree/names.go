package tree

import (
	"strings"
	"unicode/utf8"
)

// DotGit reports whether some file system may take a name for ".git".
func DotGit(name string) bool { return SameOnHFS(name, ".git") || SameOnNTFS(name, ".git", "git~1") }

// SameOnNTFS reports whether NTFS may open one of others, which are in small letters,
// when asked for a name. It looks at no case, drops trailing dots and spaces, and takes
// what follows a colon for a stream; and a backslash stands for a slash.
func SameOnNTFS(name string, others ...string) bool {
	for part := range strings.SplitSeq(name, `\`) {
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRight(part, ". ")
		for _, other := range others {
			if len(part) == len(other) && SameOnHFS(part, other) { // nothing in it is passed over
				return true
			}
		}
	}
	return false
}

// SameOnHFS reports whether HFS+ may take a name for another one, which is in small
// letters. It looks at no case, and not at the code points that Unicode calls ignorable.
// Like git it takes a byte that is no UTF-8 for the end.
func SameOnHFS(name, other string) bool {
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		i += size
		switch {
		case ignorable(r):
			continue
		case r == utf8.RuneError && size == 1:
			return other == ""
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		}
		if other == "" || r != rune(other[0]) {
			return false
		}
		other = other[1:]
	}
	return other == ""
}

func ignorable(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}
