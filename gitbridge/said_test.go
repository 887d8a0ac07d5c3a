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

// The words are those of git 2.39.
func TestOnlyWhatGitSaysOfObjectsIsDamage(t *testing.T) {
	for complaint, want := range map[string]bool{
		"error: inflate: data stream error (invalid distance too far back) error: inflate returned -3 fatal: unpack-objects failed": true,
		"fatal: loose object 1179 (stored in ./objects/11/79) is corrupt fatal: the remote end hung up unexpectedly":                true,
		"fatal: git upload-pack: not our ref 1179": true,
		"remote: fatal: unable to read 1179 remote: aborting due to possible repository corruption on the remote side. fatal: protocol error": true,
		"fatal: the remote end hung up unexpectedly fatal: early EOF fatal: unpack-objects failed":                                            false,
		"fatal: unable to access 'https://host/corrupt.git/': Operation timed out after 120 seconds":                                          false,
		"error: inflate returned -5 fatal: write error: No space left on device":                                                              false,
		"remote: error: unable to open object: Permission denied remote: aborting due to possible repository corruption on the remote side.":  false,
		"fatal: '/gone/there.git' does not appear to be a git repository fatal: Could not read from remote repository.":                       false,
	} {
		if got := Damaged(said("host:repo", &programError{complaint: complaint})); got != want {
			t.Errorf("%s: %v", complaint, got)
		}
	}
	if Damaged(nil) || Damaged(errors.New("is corrupt")) {
		t.Error("what git has not said is damage")
	}
}
