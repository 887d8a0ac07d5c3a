package engine

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestARestoreGoesRoundWhatCannotBeWritten(t *testing.T) {
	p := newPlace(t, false)
	e := p.open()
	p.write("locked/f", "one")
	one := p.snap(e, "one", nil)
	p.write("locked/f", "two")
	p.snap(e, "two", nil)
	at := filepath.Join(p.dir, "locked")
	if err := unix.Mount(at, at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("SKIPPED: cannot mount: %v", err)
	}
	defer unix.Unmount(at, unix.MNT_DETACH)
	p.must(unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	r := p.do(e, Op{To: one.ID})
	if len(r.Conflicts) != 1 || r.Conflicts[0].Path != "locked/f" || !strings.Contains(r.Conflicts[0].Reason, "read-only") || p.read("file") != "one" {
		t.Errorf("%+v, %q", r, p.read("file"))
	}
	next := p.take(e)
	if next.Unfinished != nil || next.Recovered != nil {
		t.Errorf("%v, %+v", next.Unfinished, next.Recovered)
	}
}
