package engine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWhatASnapshotMayHaveHadInALostStoreStays records a file that is in the store
// alone, and loses the store. Then nobody knows whether the snapshot had the file.
func TestWhatASnapshotMayHaveHadInALostStoreStays(t *testing.T) {
	p := newPlace(t, true)
	p.git("config", "rewind.gitMaxFileSize", "1k")
	p.write("large", noise(1, 4<<10))
	one := p.snap(p.open(), "one", nil)
	p.write("large", "small now")
	p.snap(p.open(), "two", nil)
	p.sync(p.open())
	p.must(os.RemoveAll(filepath.Join(p.dir, ".git", "rewind")))
	r := p.do(p.open(), Op{To: one.ID})
	if p.read("file") != "one" || p.read("large") != "small now" || r.Deleted != 0 {
		t.Errorf("file %q, large %q, %+v", p.read("file"), p.read("large"), r)
	}
	if len(r.Kept) < 2 || r.Kept[0].Path != "large" && r.Kept[1].Path != "large" {
		t.Errorf("what stays is not named: %+v", r.Kept)
	}
}
