package gitbridge

import (
	"errors"
	"strings"
	"testing"
)

// What git 2.39 said when a repository that others borrow from had moved: neither is the
// repository missing nor does a host refuse.
func TestABorrowedDirectoryThatIsMissingIsNamed(t *testing.T) {
	git := &programError{complaint: "error: unable to normalize alternate object path: /gone/.git/objects\n" +
		"error: remote unpack failed: eof before pack header was fully read\n ! [remote rejected] HEAD -> x (unpacker error)"}
	err := said("host:repo", git)
	if !strings.HasPrefix(err.Error(), "host:repo: a directory of objects that is borrowed") || !errors.Is(err, git) {
		t.Error(err)
	}
}
