//go:build linux

package power

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// systems are the file systems that can be made here.
func systems(t *testing.T) []system {
	t.Helper()
	if !xfs.there() {
		t.Log("SKIPPED: xfs, for mkfs.xfs is not installed")
		return []system{ext4}
	}
	return []system{ext4, xfs}
}

// TestWhatWasSyncedSurvivesEveryCut holds what every other test here rests on:
// a file that was synced before a mark is whole after any cut behind the mark,
// one that was only written is sometimes lost and sometimes kept, and the file
// system can be mounted each time.
func TestWhatWasSyncedSurvivesEveryCut(t *testing.T) {
	m := start(t)
	for _, s := range systems(t) {
		t.Run(s.name, func(t *testing.T) {
			rng := seeded(t)
			d, err := m.newDisk(s)
			must(t, err)
			must(t, m.mount(d, s, ""))
			must(t, m.record(d))
			const files = 12
			var marks [files]int
			content := func(kind string, i int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("%s %d\n", kind, i)), 1+i*900) }
			name := func(kind string, i int) string { return filepath.Join(m.mnt, fmt.Sprintf("%s%d", kind, i)) }
			for i := range files {
				must(t, os.WriteFile(name("written", i), content("written", i), 0o644))
				must(t, writeSynced(name("synced", i), content("synced", i)))
				marks[i], err = m.position(d)
				must(t, err)
			}
			must(t, os.WriteFile(name("written", files), content("written", files), 0o644))
			end, err := m.position(d)
			must(t, err)
			must(t, m.unmount())

			lost, kept := 0, 0
			for n := range 40 {
				c := cut{at: marks[0] + rng.IntN(end-marks[0]+1), how: how(n % int(hows))}
				after, err := m.cut(d, c, rng.Uint64())
				must(t, err)
				if err := m.mount(after, s, ""); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				for i := range files {
					if got, err := os.ReadFile(name("synced", i)); marks[i] <= c.at && !bytes.Equal(got, content("synced", i)) {
						t.Errorf("%v: a file synced at %d is damaged: %d bytes, %v", c, marks[i], len(got), err)
					}
					if marks[i] > c.at {
						continue
					}
					if got, _ := os.ReadFile(name("written", i)); bytes.Equal(got, content("written", i)) {
						kept++
					} else {
						lost++
					}
				}
				must(t, m.unmount())
			}
			t.Logf("%d events; of files that were not synced %d were lost, %d kept", end, lost, kept)
			if lost == 0 {
				t.Error("no file that was not synced was ever lost: the cuts drop nothing")
			}
		})
	}
}

// TestWritesWithoutAFlushAreLostOrKept checks that a write that reached the disk,
// and no flush after it, is there after some cuts and not after others.
func TestWritesWithoutAFlushAreLostOrKept(t *testing.T) {
	m := start(t)
	for _, s := range systems(t) {
		t.Run(s.name, func(t *testing.T) {
			rng := seeded(t)
			d, err := m.newDisk(s)
			must(t, err)
			must(t, m.mount(d, s, ""))
			file := filepath.Join(m.mnt, "file")
			const pages = 16
			before, after := bytes.Repeat([]byte("old\n"), pageSize/4), bytes.Repeat([]byte("new\n"), pageSize/4)
			must(t, writeSynced(file, bytes.Repeat(before, pages)))
			must(t, m.record(d))
			f, err := os.OpenFile(file, os.O_RDWR, 0)
			must(t, err)
			_, err = f.Write(bytes.Repeat(after, pages))
			must(t, err)
			// The bytes alone, not the file's times, and no flush.
			must(t, unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER))
			must(t, f.Close())
			end, err := m.position(d)
			must(t, err)
			must(t, m.unmount())

			lost, kept, mixed := 0, 0, 0
			for n := range 15 {
				image, err := m.cut(d, cut{end, how(n % int(hows))}, rng.Uint64())
				must(t, err)
				must(t, m.mount(image, s, ""))
				got, err := os.ReadFile(file)
				must(t, err)
				switch {
				case bytes.Equal(got, bytes.Repeat(before, pages)):
					lost++
				case bytes.Equal(got, bytes.Repeat(after, pages)):
					kept++
				default:
					mixed++
				}
				must(t, m.unmount())
			}
			t.Logf("%d events: lost %d times, kept %d times, mixed %d times", end, lost, kept, mixed)
			if lost == 0 || kept == 0 || mixed == 0 {
				t.Error("one of these never happened")
			}
		})
	}
}

// calm records a session in which git throws nothing away, so that nothing is
// lost before the power is.
func calm(t *testing.T, m *machine, git bool) *session {
	t.Helper()
	s := record(t, m, kind{git: git, sys: ext4, mount: "data=ordered", calm: true}, 0, seeded(t))
	if len(s.refused) > 0 || len(s.promises) == 0 {
		t.Fatalf("%d acknowledged, refused: %q", len(s.promises), s.refused)
	}
	return s
}

// TestNoFaultIsFoundWhereThePowerHolds checks that the checks ask for nothing
// that a disk does not have which was taken out in good order.
func TestNoFaultIsFoundWhereThePowerHolds(t *testing.T) {
	m := start(t)
	for _, git := range []bool{true, false} {
		t.Run(fmt.Sprintf("git=%v", git), func(t *testing.T) {
			s := calm(t, m, git)
			end := s.now() // with what the unmount wrote
			r := newReport(t)
			m.check(s, cut{end, written}, 0, r)
			r.tell()
			there := 0
			for _, p := range s.promises {
				if p.until == 0 { // never pruned
					there++
				}
			}
			if r.promised != there || r.damaged > 0 {
				t.Errorf("of %d acknowledged snapshots %d were looked for, %d damaged", there, r.promised, r.damaged)
			}
		})
	}
}

// TestALostSnapshotIsNoticed checks that the checks see what they are for: a disk
// as it was before the last snapshot, which no loss of power explains, and a
// snapshot that differs in one byte from what was promised.
func TestALostSnapshotIsNoticed(t *testing.T) {
	m := start(t)
	for _, git := range []bool{true, false} {
		t.Run(fmt.Sprintf("git=%v", git), func(t *testing.T) {
			s := calm(t, m, git)
			last := s.newest()
			r := newReport(t)
			r.asFound = true
			m.check(s, cut{last.since, dropped}, 0, r)
			if r.damagedOnce(s, last) && !git { // under git it may be, which is another test's affair
				t.Errorf("a snapshot that was synced is not there: %v", r.examples)
			}
			since := last.since
			last.since = 0 // promised before it was begun
			r = newReport(t)
			r.asFound = true
			m.check(s, cut{last.begun, dropped}, 0, r)
			if r.times[lost] == 0 || !r.damagedOnce(s, last) {
				t.Errorf("a lost snapshot was not noticed: %v", r.times)
			}
			last.since = since
			last.wants[0].want = last.wants[0].want.Without(s.anyOf(last))
			r = newReport(t)
			r.asFound = true
			m.check(s, cut{s.now(), written}, 0, r)
			if r.times[altered] != 1 || !r.damagedOnce(s, last) {
				t.Errorf("a snapshot that has a file too many was not noticed: %v", r.times)
			}
		})
	}
}

// damagedOnce says whether some cut damaged a snapshot.
func (r *report) damagedOnce(s *session, p *promise) bool { return r.distinct[s.nameOf(p)] }

// newest is the last snapshot that was not there before it was promised, and
// was neither pruned nor purged since.
func (s *session) newest() *promise {
	seen, last := map[string]bool{}, (*promise)(nil)
	for _, p := range s.promises {
		if !seen[p.id] && p.until == 0 && len(p.wants) == 1 {
			last = p
		}
		seen[p.id] = true
	}
	if last == nil {
		s.Skip("SKIPPED: a session without a snapshot that stayed")
	}
	return last
}

// anyOf is a file that a snapshot has.
func (s *session) anyOf(p *promise) string {
	for rel, line := range p.wants[0].want {
		if strings.HasPrefix(line, "-") {
			return rel
		}
	}
	s.Fatal("a snapshot without files")
	return ""
}

// writeSynced writes a file and waits for the disk to have it, and its name.
func writeSynced(name string, b []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seed.Of(t), 0))
}
