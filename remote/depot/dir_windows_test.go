package depot

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

// Who makes a file gives it a second name and removes the first one: in that moment nobody
// may read it who does not let others remove it.
func TestAFileWhoseOtherNameIsBeingRemovedIsRead(t *testing.T) {
	dir := t.TempDir()
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Put(t.Context(), "config", []byte("text")); err != nil {
		t.Fatal(err)
	}
	name, err := windows.UTF16PtrFromString(filepath.Join(dir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, windows.DELETE, shareAll, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(h)
	if text, err := p.Get(t.Context(), "config", 0, 0); string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
}
