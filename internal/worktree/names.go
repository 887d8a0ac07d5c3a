package worktree

import (
	"strings"

	"github.com/seed-82afce7a/rewind/internal/tree"
)

// refused reports whether git refuses a name in its index on purpose: one that
// some file system takes for ".git", or a link that it takes for ".gitmodules".
// The rules are those of core.protectNTFS and core.protectHFS in git-config(1).
func (s *Settings) refused(name string, isLink bool) bool {
	if strings.EqualFold(name, ".git") || isLink && strings.EqualFold(name, ".gitmodules") {
		return true
	}
	if !s.AllowNTFS && (tree.SameOnNTFS(name, ".git", "git~1") || isLink && tree.SameOnNTFS(name, ".gitmodules", "gitmod~1", "gitmod~2", "gitmod~3", "gitmod~4")) {
		return true
	}
	return s.ProtectHFS && (tree.SameOnHFS(name, ".git") || isLink && tree.SameOnHFS(name, ".gitmodules"))
}

// refusedIn is [Settings.refused] for a file or link in a directory. Git refuses links
// also in or below a directory that is called ".gitmodules".
func (s *Settings) refusedIn(dir, name string, isLink bool) bool {
	if refused := s.refused(name, isLink); refused || !isLink {
		return refused
	}
	for above := range strings.SplitSeq(dir, "/") {
		if strings.EqualFold(above, ".gitmodules") || s.ProtectHFS && tree.SameOnHFS(above, ".gitmodules") {
			return true
		}
	}
	return false
}
