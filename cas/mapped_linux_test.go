package cas

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// inMemory is how many bytes of a file's mappings the kernel counts as memory of this
// process.
func inMemory(t *testing.T, path string) (sum int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip("SKIPPED: the kernel does not tell what is mapped: ", err)
	}
	for _, m := range regexp.MustCompile(`(?s)`+regexp.QuoteMeta(path)+`\n.*?\nRss: +(\d+) kB`).FindAllStringSubmatch(string(maps), -1) {
		kb, err := strconv.Atoi(m[1])
		must(t, err)
		sum += kb << 10
	}
	return sum
}

func TestWhatIsReadDoesNotStayInMemory(t *testing.T) {
	s, r := newStore(t), seeded(t)
	var payloads [][]byte
	for range 600 {
		p := make([]byte, 20<<10) // it does not compress
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		payloads = append(payloads, p)
	}
	ids := put(t, s, payloads...)
	if err := s.Close(); err != nil { // the writer's mapping is another one
		t.Fatal(err)
	}
	readAll := func() {
		for i, id := range ids {
			if got, err := readOne(t, s, id); err != nil || !bytes.Equal(got, payloads[i]) {
				t.Fatalf("%d bytes of object %d, %v", len(got), i, err)
			}
		}
	}
	s.parts.mapped = 1 << 30
	readAll()
	all := inMemory(t, s.path)
	if all < 600*20<<10 {
		t.Fatalf("only %d bytes are mapped, so nothing is proved", all)
	}
	s.parts.mapped = 1 << 20
	readAll()
	if most := inMemory(t, s.path); most > all/4 {
		t.Errorf("%d of %d bytes stay in memory from one reader to the next", most, all)
	}
	err := s.View(t.Context(), func(v *View) error {
		_, first, err := v.frame(ids[0])
		if err != nil {
			return err
		}
		for i, id := range ids {
			if _, got, err := v.Object(id); err != nil || !bytes.Equal(got, payloads[i]) {
				t.Fatalf("%d bytes of object %d, %v", len(got), i, err)
			}
		}
		if most := inMemory(t, s.path); most > all/4 {
			t.Errorf("%d of %d bytes stay in memory in one transaction", most, all)
		}
		if !bytes.Contains(first, payloads[0]) { // after its codec: it is there still
			t.Error("a frame changed in the hands of its reader")
		}
		return nil
	})
	must(t, err)
}

// A page that comes back costs some microseconds, and a restore asks for the same pages
// of the tables a thousand times.
func TestReadingTheSameAgainGivesNothingBack(t *testing.T) {
	s, r := newStore(t), seeded(t)
	var ids []oid.ID
	for range 100 {
		ids = append(ids, put(t, s, noise(r, 100<<10))...)
	}
	must(t, s.Close())
	s.parts.mapped = 1 << 30
	for _, id := range ids {
		read(t, s, id)
	}
	before := inMemory(t, s.path)
	if before < 100*100<<10 {
		t.Fatalf("only %d bytes are mapped, so nothing is proved", before)
	}
	s.parts.mapped = mappedNow() + 64<<20
	for range 5 * s.parts.mapped / aroundBytes {
		read(t, s, ids[0])
	}
	if after := inMemory(t, s.path); after < before {
		t.Errorf("%d bytes of %d were left in memory", after, before)
	}
}

// The program itself and the stat table are mapped, too, and may take up more than a store
// is let have: then all of it was given back after every few contents.
func TestWhatOtherFilesTakeUpIsNotTakenForTheStores(t *testing.T) {
	s, r := newStore(t), seeded(t)
	const most = 8 << 20
	other, err := os.Create(filepath.Join(t.TempDir(), "other"))
	must(t, err)
	defer other.Close()
	must(t, other.Truncate(2*most))
	mapped, err := syscall.Mmap(int(other.Fd()), 0, 2*most, syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_POPULATE)
	must(t, err)
	defer func() { must(t, syscall.Munmap(mapped)) }()
	var ids []oid.ID
	for range 40 {
		ids = append(ids, put(t, s, noise(r, 100<<10))...)
	}
	must(t, s.Close())
	s.parts.mapped = most
	if mappedNow() < most+most/2 {
		t.Skip("SKIPPED: the kernel does not tell what is mapped")
	}
	for range 5 {
		for _, id := range ids {
			read(t, s, id)
		}
	}
	if is := inMemory(t, s.path); is < 40*100<<10 {
		t.Errorf("%d bytes of the store are in memory, fewer than were read last", is)
	}
}

// The frames lie in another order than the rows: to look at each once more, as a large stage
// ends, reads the store all over.
func TestWhatAStageHasFoundIsNotReadOnceMoreAtItsEnd(t *testing.T) {
	s, r := newStore(t), seeded(t)
	s.parts.batch, s.parts.load = 1, 1 // each is written at once, as of a large stage
	var payloads [][]byte
	for range 200 {
		payloads = append(payloads, noise(r, 1<<10))
	}
	put(t, s, payloads...)
	must(t, s.Close())
	put(t, s, payloads...)
	for _, k := range s.idle.files {
		if k.writable && k.resident.touched < len(payloads)/2*aroundBytes {
			return
		}
	}
	t.Errorf("the frames were looked at by the writer: %+v", s.idle.files)
}
