package gitodb

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// git opens a pack that it removes, and asks the user what to do where somebody keeps it
// from that: who reads it must let it, before and after.
func TestAPackThatGitIsAboutToRemoveIsRead(t *testing.T) {
	r := newRepo(t, oid.SHA1)
	ids := r.fill(1)
	r.Git("repack", "-adq")
	for _, ext := range []string{".idx", ".pack"} {
		files, err := filepath.Glob(filepath.Join(r.objects(), "pack", "*"+ext))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		name, err := windows.UTF16PtrFromString(files[0])
		if err != nil {
			t.Fatal(err)
		}
		const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
		h, err := windows.CreateFile(name, windows.DELETE, shareAll, nil, windows.OPEN_EXISTING, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer windows.CloseHandle(h)
	}
	r.wantAll(r.open(), ids)
}
