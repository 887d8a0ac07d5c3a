package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-82afce7a/rewind/internal/seed"
)

// A racer edits files in every way that hides: the size stays, and the time of writing is
// set back. It keeps descriptors and mappings from one round to the next.
type racer struct {
	*rand.Rand
	p     *place
	names []string
	open  *os.File
	page  []byte
	errs  []error
}

const raceBytes = 600

var raceTime = unix.NsecToTimespec(1e18)

func (r *racer) text() []byte {
	p := make([]byte, raceBytes)
	for i := range p {
		p[i] = byte('a' + r.IntN(26))
	}
	return p
}

func (r *racer) note(err error) {
	if err != nil && !os.IsNotExist(err) {
		r.errs = append(r.errs, err)
	}
}

// edit makes one edit, of one byte, or of all of them.
func (r *racer) edit() {
	path := r.p.Path(r.names[r.IntN(len(r.names))])
	if r.IntN(2) == 0 { // else two edits of one tick leave the same times
		defer func() { r.note(unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{raceTime, raceTime}, 0)) }()
	}
	switch r.IntN(7) {
	case 0: // through a descriptor that stays open
		if r.open != nil {
			_, err := r.open.WriteAt([]byte{byte('A' + r.IntN(26))}, int64(r.IntN(raceBytes)))
			r.note(err)
			if r.IntN(4) == 0 {
				r.note(r.open.Close())
				r.open = nil
			}
			return
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		r.open = f
		r.note(err)
	case 1: // through memory that stays mapped
		r.store(path)
	case 2: // another file takes the name
		other := fmt.Sprintf("%s.%d", path, r.Uint32())
		r.note(os.WriteFile(other, r.text(), 0o644))
		r.note(unix.UtimesNanoAt(unix.AT_FDCWD, other, []unix.Timespec{raceTime, raceTime}, 0))
		r.note(os.Rename(other, path))
	default: // in place; nobody shortens a file, which another may have mapped
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			r.note(err)
			return
		}
		text, at := r.text(), 0
		if r.IntN(2) == 0 {
			text, at = text[:1], r.IntN(raceBytes)
		}
		_, err = f.WriteAt(text, int64(at))
		r.note(err)
		r.note(f.Close())
	}
}

// store stores a byte into a mapping, which it makes or ends now and then.
func (r *racer) store(path string) {
	if r.page == nil {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			r.note(err)
			return
		}
		defer f.Close()
		if r.page, err = unix.Mmap(int(f.Fd()), 0, raceBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
			r.note(err)
			return
		}
	}
	r.page[r.IntN(raceBytes)] = byte('0' + r.IntN(10))
	if r.IntN(3) == 0 {
		r.note(unix.Munmap(r.page))
		r.page = nil
	}
}

func (r *racer) end() {
	if r.open != nil {
		r.note(r.open.Close())
	}
	if r.page != nil {
		r.note(unix.Munmap(r.page))
	}
}

// race has racers edit while scans run, and then looks whether a scan finds the files as
// they are: at once, and once more. It returns how many of these looks read no bytes.
func race(t *testing.T, p *place, rounds int) (believed int) {
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("d/%d", i))
		p.Write(names[i], string(make([]byte, raceBytes)))
	}
	first := seed.Of(t)
	random := rand.New(rand.NewPCG(first, 1))
	racers := []*racer{{Rand: rand.New(rand.NewPCG(first, 2)), p: p, names: names}, {Rand: rand.New(rand.NewPCG(first, 3)), p: p, names: names}}
	opened := 0
	for round := range rounds {
		var wg sync.WaitGroup
		for _, r := range racers {
			wg.Go(func() {
				for range r.IntN(5) {
					r.edit()
					time.Sleep(time.Duration(r.IntN(1+r.IntN(6000))) * time.Microsecond) // up to more than a tick
				}
			})
		}
		for range random.IntN(4) {
			p.scan()
			time.Sleep(time.Duration(random.IntN(1+random.IntN(6000))) * time.Microsecond)
		}
		wg.Wait()
		for range 2 {
			r := p.scan()
			p.checkDisk(r)
			opened += int(r.Counters.Opened)
			believed += len(names) - int(r.Counters.Opened)
		}
		for _, r := range racers {
			if len(r.errs) > 0 {
				t.Fatalf("the trial itself: %v", r.errs)
			}
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	for _, r := range racers {
		r.end()
	}
	t.Logf("%d rounds: in the scans that were checked %d files were believed, %d read", rounds, believed, opened)
	return believed
}

// tells reports whether what was written a moment ago is believed on this file system.
func (p *place) tells() bool { return p.kind() == unix.EXT4_SUPER_MAGIC }

// No edit is missed that is made while a scan reads, in the same tick or not.
func TestRacingEditsAreSeen(t *testing.T) {
	onDisks(t, func(t *testing.T, p *place) {
		if believed := race(t, p, seed.Times(60)); believed == 0 && p.tells() {
			t.Error("nothing was believed, so nothing is proved")
		}
	})
	t.Run("whole seconds", func(t *testing.T) { // all edits of some rounds leave the same times
		p := newPlace(t)
		mountImage(t, p.Dir, []string{"mkfs.ext4", "-I", "128"})
		os.Remove(p.Path("lost+found"))
		race(t, p, seed.Times(60))
	})
}

// A tick is how long the clock that stamps files may stand still.
const tick = 25 * time.Millisecond

func TestWhatNobodyHasOpenIsBelievedAsSoonAsTheClockHasPassedIt(t *testing.T) {
	onDisks(t, func(t *testing.T, p *place) {
		again := int64(1)
		if p.tells() {
			again = 0
		}
		p.Write("f", "one")
		time.Sleep(tick)
		p.opens(1, "it is new")
		p.opens(again, "it was read when its last change was over")
		w, err := os.OpenFile(p.Path("f"), os.O_WRONLY, 0)
		p.must(err)
		_, err = w.WriteString("two")
		p.must(err)
		time.Sleep(tick)
		p.opens(1, "it was edited")
		p.opens(1, "who edited it has it open")
		p.must(w.Close())
		p.opens(1, "he had it open")
		p.opens(again, "he has closed it")
		p.Write("f", "six")
		for coarseNow() <= p.touched("f") {
			time.Sleep(time.Millisecond)
		}
		p.opens(1, "it was edited in the last tick")
		for range 3 {
			p.opens(again, "it is believed, in a scan that began when it was young too")
		}
		p.Write("f", "ten")
		p.opens(1, "it was edited in this tick")
	})
}
