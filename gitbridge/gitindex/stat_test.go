package gitindex

import (
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const second = int64(time.Second)

func TestAnyChangedStatDatumIsSeen(t *testing.T) {
	e := Entry{Stat: Stat{Ctime: 5*second + 7, Mtime: 4*second + 3, Ino: 9, UID: 1, GID: 2, Size: 10}}
	file := FileStat{Ctime: 5*second + 7, Mtime: 4*second + 3, Ino: 9, UID: 1, GID: 2, Size: 10}
	for _, c := range []struct {
		what   string
		change func(*FileStat)
		want   bool
	}{
		{"nothing", func(*FileStat) {}, true},
		{"mtime ns", func(f *FileStat) { f.Mtime++ }, false},
		{"mtime s", func(f *FileStat) { f.Mtime += second }, false},
		{"mtime without ns", func(f *FileStat) { f.Mtime -= 3 }, true},
		{"mtime by 2^32 s", func(f *FileStat) { f.Mtime += second << 32 }, true},
		{"ctime ns", func(f *FileStat) { f.Ctime++ }, false},
		{"ctime s", func(f *FileStat) { f.Ctime += second }, false},
		{"inode", func(f *FileStat) { f.Ino++ }, false},
		{"inode beyond 32 bits", func(f *FileStat) { f.Ino += 1 << 32 }, true},
		{"owner", func(f *FileStat) { f.UID++ }, false},
		{"group", func(f *FileStat) { f.GID++ }, false},
		{"size", func(f *FileStat) { f.Size++ }, false},
		{"size by 4 GiB", func(f *FileStat) { f.Size += 1 << 32 }, true},
	} {
		f := file
		c.change(&f)
		if got := e.StatMatches(f); got != c.want {
			t.Errorf("%s: matches %v", c.what, got)
		}
	}
}

func TestTimesBefore1970AreCutAsGitCutsThem(t *testing.T) {
	e := Entry{Stat: Stat{Mtime: (1<<32-2)*second + second/2, Ctime: second}}
	f := FileStat{Mtime: -second - second/2, Ctime: second}
	if !e.StatMatches(f) {
		t.Error("1.5 s before 1970 is not the time git keeps for it")
	}
}

func TestFilesTouchedWhenTheIndexWasWrittenAreRacy(t *testing.T) {
	content := oid.SHA1.Sum(oid.Blob, []byte("x"))
	entry := func(mtime, ctime int64, size uint32, id oid.ID) *Entry {
		return &Entry{Mode: tree.GitFile, ID: id, Stat: Stat{Mtime: mtime, Ctime: ctime, Size: size}}
	}
	at := 100*second + 500
	for _, c := range []struct {
		what  string
		mtime int64
		e     *Entry
		slack time.Duration
		want  bool
	}{
		{"older", at, entry(at-1, at-1, 1, content), 0, false},
		{"same time", at, entry(at, at, 1, content), 0, true},
		{"within slack", at, entry(at-400, at-400, 1, content), 400, true},
		{"ctime newer than mtime", at, entry(at-second, at, 1, content), 0, true},
		{"no ns in entry", at, entry(100*second, 100*second, 1, content), 0, true},
		{"no ns in entry, older", at, entry(99*second, 99*second, 1, content), 0, false},
		{"no ns in index", 100 * second, entry(100*second-1, 100*second-1, 1, content), 0, false},
		{"no ns in index, same second", 100 * second, entry(100*second+5, 100*second+5, 1, content), 0, true},
		{"no time of index", 0, entry(1, 1, 1, content), 0, true},
		{"doubtful", at, entry(1, 1, 0, content), 0, true},
		{"empty file", at, entry(1, 1, 0, oid.SHA1.Sum(oid.Blob, nil)), 0, false},
	} {
		x := &Index{Mtime: c.mtime, alg: oid.SHA1}
		if got := x.Racy(c.e, c.slack); got != c.want {
			t.Errorf("%s: racy is %v", c.what, got)
		}
	}
}
