package worktree

import "strings"

// refused reports whether git refuses a name in its index on purpose: one that
// some file system takes for ".git", or a link that it takes for ".gitmodules".
// The rules are those of core.protectNTFS and core.protectHFS in git-config(1).
func (s *Settings) refused(name string, isLink bool) bool {
	if strings.EqualFold(name, ".git") || isLink && strings.EqualFold(name, ".gitmodules") {
		return true
	}
	if !s.AllowNTFS {
		for rest, more := name, true; more; {
			if ntfsAlias(rest, ".git", "git~1") || isLink && ntfsAlias(rest, ".gitmodules", "gitmod~1", "gitmod~2", "gitmod~3", "gitmod~4") {
				return true
			}
			_, rest, more = strings.Cut(rest, `\`)
		}
	}
	if s.ProtectHFS && !ascii(name) {
		plain := strings.Map(hfsVisible, name)
		return strings.EqualFold(plain, ".git") || isLink && strings.EqualFold(plain, ".gitmodules")
	}
	return false
}

// refusedIn is [Settings.refused] for a file or link in a directory. Git refuses links
// also in or below a directory that is called ".gitmodules".
func (s *Settings) refusedIn(dir, name string, isLink bool) bool {
	if refused := s.refused(name, isLink); refused || !isLink {
		return refused
	}
	for above := range strings.SplitSeq(dir, "/") {
		if strings.EqualFold(above, ".gitmodules") || s.ProtectHFS && strings.EqualFold(strings.Map(hfsVisible, above), ".gitmodules") {
			return true
		}
	}
	return false
}

// ntfsAlias reports whether NTFS may open one of the names when asked for
// name: it drops trailing dots and spaces, and what follows a colon is a stream.
func ntfsAlias(name string, aliases ...string) bool {
	for _, alias := range aliases {
		if len(name) < len(alias) || !strings.EqualFold(name[:len(alias)], alias) {
			continue
		}
		rest := strings.TrimLeft(name[len(alias):], ". ")
		if rest == "" || rest[0] == ':' || rest[0] == '\\' {
			return true
		}
	}
	return false
}

// hfsVisible drops the code points that HFS+ leaves out of comparisons.
func hfsVisible(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// join puts a name below a path; the root's own path is empty.
func join(path, name string) string {
	if path == "" {
		return strings.Clone(name)
	}
	return path + "/" + name
}
