package stattable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/dirfd"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/seed"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

func blob(alg oid.Algorithm, s string) oid.ID { return alg.Sum(oid.Blob, []byte(s)) }

// sample makes a row's contents of every kind of entry.
func sample(alg oid.Algorithm) (Head, []Item, []Note) {
	a, b := blob(alg, "a"), blob(alg, "b")
	head := Head{Flags: Ambiguous | DotGit, Mode: tree.Dir | 0o750, Ino: 7, Mtime: -5, Ctime: 1 << 60, Rules: 1, Attrs: 2, Index: 3, IndexKey: 4, Tree: a, Overlay: b}
	items := []Item{
		{Name: "plain", Mode: tree.File | 0o644, GitMode: tree.GitFile, Flags: Tracked, Ino: 9, Size: 10, Mtime: 11, Ctime: 12, Git: a, Raw: a},
		{Name: "converted", Mode: tree.File | 0o600, GitMode: tree.GitExec, Flags: Converted | Young, Git: a, Raw: b},
		{Name: "kept\xffout", Mode: tree.File | 0o4755, GitMode: tree.GitExec, Flags: OverlayOnly, Raw: b},
		{Name: "dir", Mode: tree.Dir | 0o755, GitMode: tree.GitDir, Flags: IsDir, Git: a},
		{Name: "same", Mode: tree.Dir | 0o755, GitMode: tree.GitDir, Flags: IsDir, Git: a, Raw: a},
		{Name: "nested", Mode: tree.Nested | 0o755, GitMode: tree.GitLink, Flags: IsDir, Git: a, Raw: b},
		{Name: "unborn", Mode: tree.Nested | 0o755, GitMode: tree.GitLink, Flags: IsDir, Raw: b},
		{Name: "link", Mode: tree.Symlink, GitMode: tree.GitSymlink, Git: b, Raw: b},
		{Name: "fresh", Mode: tree.GitFile, GitMode: tree.GitFile, Git: a, Raw: a, Flags: Fresh, ReadAt: 1 << 60},
		{Name: "fresh and converted", Mode: tree.GitFile, GitMode: tree.GitFile, Git: a, Raw: b, Flags: Fresh | Young, ReadAt: -1},
		{Name: "fresh, outside", Mode: tree.GitFile, GitMode: tree.GitFile, Raw: b, Flags: Fresh, ReadAt: 7},
		{Name: "fresh, of no content", Mode: tree.GitFile, GitMode: tree.GitFile, Flags: Fresh, ReadAt: 8},
		{Name: "last", Mode: tree.GitFile, GitMode: tree.GitFile, Git: b, Raw: b},
	}
	return head, items, []Note{{"skipped", "permission denied", false}, {"", "", true}}
}

func entries(r Row) (out []Entry) {
	for _, e := range r.Entries() {
		out = append(out, e)
	}
	return out
}

func items(r Row) (out []Item) {
	for _, e := range r.Entries() {
		out = append(out, e.Item())
	}
	return out
}

func TestARowSurvivesItsEncoding(t *testing.T) {
	for _, alg := range []oid.Algorithm{oid.SHA1, oid.SHA256} {
		head, want, notes := sample(alg)
		r, err := parseRow("d", Encode("d", &head, want, notes).p)
		must(t, err)
		if r.Head() != head || !slices.Equal(r.Notes(), notes) {
			t.Errorf("head %+v, notes %v", r.Head(), r.Notes())
		}
		if got := items(r); !slices.Equal(got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
	}
}

func TestOnlyTheSameStatDataAreTheSame(t *testing.T) {
	it := Item{Name: "f", Mode: tree.File | 0o644, Ino: 1, Size: 2, Mtime: 3, Ctime: 4, Raw: blob(oid.SHA1, "x")}
	e := entries(Encode("", &Head{}, []Item{it}, nil))[0]
	st := dirfd.Stat{Mode: it.Mode, Ino: 1, Size: 2, Mtime: 3, Ctime: 4}
	if !e.Same(&st) {
		t.Error("the same stat data differ")
	}
	for i, change := range []func(*dirfd.Stat){
		func(s *dirfd.Stat) { s.Mode = tree.File | 0o640 }, func(s *dirfd.Stat) { s.Ino++ }, func(s *dirfd.Stat) { s.Size++ },
		func(s *dirfd.Stat) { s.Mtime++ }, func(s *dirfd.Stat) { s.Ctime++ },
	} {
		other := st
		if change(&other); e.Same(&other) {
			t.Errorf("change %d goes unseen", i)
		}
	}
}

func TestAFlippedBitIsSeen(t *testing.T) {
	head, list, notes := sample(oid.SHA1)
	good := Encode("d", &head, list, notes).p
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if _, err := parseRow("d", bad); !errors.Is(err, errMalformed) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	if _, err := parseRow("other", good); !errors.Is(err, errMalformed) {
		t.Errorf("the row of another directory: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	head, list, notes := sample(oid.SHA1)
	f.Add(Encode("d", &head, list, notes).p)
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) >= 4 { // let it through the checksum
			p = slices.Clone(p)
			sum := checksum("d", p)
			p[0], p[1], p[2], p[3] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		if r, err := parseRow("d", p); err == nil {
			r.Head()
			r.Notes()
			for _, it := range items(r) {
				if it.Name == "" || it.Name == "." || it.Name == ".." {
					t.Errorf("name %q", it.Name)
				}
			}
		}
	})
}

func save(t *testing.T, tab *Table, b Binding, rows map[string]Row, removed ...string) {
	t.Helper()
	must(t, tab.Save(b, rows, removed))
}

func someRows(n int) map[string]Row {
	head, list, notes := sample(oid.SHA1)
	rows := map[string]Row{"": Encode("", &head, list, notes)}
	for i := range n {
		dir := fmt.Sprintf("d%d/e", i)
		head.Ino = uint64(i)
		rows[dir] = Encode(dir, &head, list, nil)
	}
	return rows
}

func TestTheSecondOfTwoSaversWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stat.db")
	save(t, Load(path), Binding{}, someRows(3))
	first, second := Load(path), Load(path)
	early := make(chan error)
	go func() { early <- first.Save(Binding{Store: "first"}, someRows(3), nil) }()
	time.Sleep(20 * time.Millisecond)
	if r, _, ok := second.Row("d2/e"); !ok || r.Head().Ino != 2 { // still there: the other waits
		t.Errorf("row %+v, %v", r, ok)
	}
	late := second.Save(Binding{Store: "second"}, someRows(9), nil)
	saved, rows := "first", 4
	if errors.Is(late, ErrOutdated) {
		late = <-early
	} else if saved, rows = "second", 10; !errors.Is(<-early, ErrOutdated) {
		t.Error("both wrote")
	}
	if late != nil {
		t.Errorf("Save = %v", late)
	}
	tab := Load(path)
	defer tab.Close()
	if tab.Bound().Store != saved || tab.Len() != rows {
		t.Errorf("bound %+v, %d rows", tab.Bound(), tab.Len())
	}
}

// TestADamagedFileCostsTimeOnly damages the file in many ways; what is loaded
// afterwards is right or missing, and the next save gives a good file.
func TestADamagedFileCostsTimeOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "stat.db")
	rows := someRows(300)
	save(t, Load(path), Binding{Store: "s"}, rows)
	good, err := os.ReadFile(path)
	must(t, err)
	rnd := rand.New(rand.NewPCG(seed.Of(t), 0))
	for i := range seed.Times(120) {
		bad := slices.Clone(good)
		switch i % 4 {
		case 0:
			bad = bad[:rnd.IntN(len(bad))]
		case 1:
			for range 20 {
				bad[rnd.IntN(len(bad))] ^= byte(1 + rnd.IntN(255))
			}
		case 2:
			clear(bad[rnd.IntN(len(bad)):])
		case 3:
			at := rnd.IntN(len(bad)/4096) * 4096
			clear(bad[at : at+4096])
		}
		must(t, os.WriteFile(path, bad, 0o600))
		tab := Load(path)
		for d, want := range rows {
			if r, _, ok := tab.Row(d); ok && r.Head() != want.Head() {
				t.Fatalf("round %d: %q is wrong", i, d)
			}
		}
		if err := tab.Save(Binding{Store: "new"}, rows, nil); err != nil {
			continue // the file is gone now
		}
		again := Load(path)
		if again.Bound().Store == "new" && again.Len() < len(rows) {
			t.Fatalf("round %d: %d rows after saving", i, again.Len())
		}
		again.Close()
	}
}

func TestAFileThatIsEmptiedBetweenOpeningAndTheTransactionIsNoTable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: Windows lets nobody shorten a file that is mapped")
	}
	defer func(old func()) { opened = old }(opened)
	path := filepath.Join(t.TempDir(), "stat.db")
	rows := map[string]Row{"": Encode("", &Head{Ino: 1}, nil, nil), "d": Encode("d", &Head{Ino: 2}, nil, nil)}
	save := func(tab *Table) error { return tab.Save(Binding{}, rows, nil) }
	empty := func() {
		if err := os.Truncate(path, 0); err != nil {
			t.Error(err)
		}
	}
	opened = func() {}
	must(t, save(Load(path)))
	done := make(chan bool)
	go func() {
		defer close(done)
		opened = empty
		tab := Load(path)
		if tab.Len() != 0 {
			t.Errorf("%d rows", tab.Len())
		}
		tab.Close()
		opened = func() {}
		os.Remove(path)
		if err := save(Load(path)); err != nil {
			t.Error(err)
		}
		tab = Load(path)
		opened = empty
		if err := save(tab); err == nil {
			t.Error("saved into a file that was emptied")
		}
		opened = func() {}
		if err := save(Load(path)); err != nil {
			t.Error(err)
		}
		tab = Load(path)
		defer tab.Close()
		if tab.Len() != 2 {
			t.Errorf("%d rows after it was written anew", tab.Len())
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for ever")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatCouldNotBeWrittenIsWrittenByTheNextFlush(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stat.db")
	head, list, notes := sample(oid.SHA1)
	rows := func(ino uint64) map[string]Row {
		head.Ino = ino
		return map[string]Row{"": Encode("", &head, list, notes)}
	}
	kept, err := Load(path).SaveAndKeep(Binding{Store: "old"}, rows(1), nil)
	must(t, err)
	defer kept.Close()
	save(t, kept, Binding{Store: "new"}, rows(2))
	reader := Load(path)
	if err := kept.Flush(LockWait); err == nil {
		t.Error("it was written beside who reads")
	}
	reader.Close()
	must(t, kept.Flush(LockWait))
	now := Load(path)
	defer now.Close()
	if r, _, ok := now.Row(""); !ok || r.Head().Ino != 2 || now.Bound().Store != "new" {
		t.Errorf("the file has %+v, %v", r.Head(), now.Bound())
	}
}
