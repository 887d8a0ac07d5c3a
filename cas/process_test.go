package cas

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/oid"
)

// TestMain lets the test binary play another process.
func TestMain(m *testing.M) {
	if path := os.Getenv("CAS_TEST_STORE"); path != "" {
		if err := play(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play stages objects and records them, CAS_TEST_TURNS times. What is durable
// is said on stdout.
func play(path string) error {
	s, err := Open(context.Background(), path, &Options{Create: true, Algorithm: oid.SHA1})
	if err != nil {
		return err
	}
	turns, _ := strconv.Atoi(os.Getenv("CAS_TEST_TURNS"))
	name := os.Getenv("CAS_TEST_NAME")
	for i := range turns {
		if s.parts = (parts{batchBytes, loadBytes, rowsEach, mappedBytes, groupBytes}); i%2 == 1 {
			s.parts = few // and so it places each content before it names them
		}
		if err := playTurn(s, name, i); err != nil {
			return err
		}
		fmt.Printf("%s %d\n", name, i)
	}
	return nil
}

func playTurn(s *Store, name string, turn int) error {
	ctx := context.Background()
	g := s.Stage()
	seed := fmt.Sprintf("%s %d", name, turn)
	var ids []byte
	for i := range 5 {
		id, err := g.Put(ctx, oid.Blob, fmt.Appendf(nil, "%s object %d", seed, i), oid.ID{})
		if err != nil {
			return err
		}
		ids = id.Append(ids)
	}
	return g.Commit(ctx, func(u *Update) error {
		_, err := u.Table("turns").Append(append([]byte(seed+"\x00"), ids...))
		return err
	})
}

func player(path, name string, turns int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CAS_TEST_STORE="+path, "CAS_TEST_NAME="+name, "CAS_TEST_TURNS="+strconv.Itoa(turns))
	return cmd
}

// turns reads what was recorded; each record's objects must be there.
func turns(t *testing.T, s *Store) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	err := s.View(t.Context(), func(v *View) error {
		for _, value := range v.Table("turns").All() {
			seed, ids, _ := bytes.Cut(value, []byte{0})
			for i := range 5 {
				id, err := oid.FromBytes(ids[20*i:][:20])
				if err != nil {
					return err
				}
				_, p, err := v.Object(id)
				if want := fmt.Sprintf("%s object %d", seed, i); err != nil || string(p) != want {
					return fmt.Errorf("%s: %q, %w", want, p, err)
				}
			}
			got[string(seed)] = true
		}
		return nil
	})
	must(t, err)
	return got
}

func TestProcessesAtOnceLoseNoRecord(t *testing.T) {
	const processes, each = 6, 25
	path := t.TempDir() + "/store.db"
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			if out, err := player(path, fmt.Sprint("p", i), each).CombinedOutput(); err != nil {
				t.Errorf("process %d: %v %s", i, err, out[max(0, len(out)-300):])
			}
		})
	}
	wg.Go(func() { // and somebody compacts all the while
		for range 5 {
			time.Sleep(20 * time.Millisecond)
			s, err := Open(t.Context(), path, &Options{Create: true, Algorithm: oid.SHA1})
			if err == nil {
				_, _, err = s.Compact(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	s, err := Open(t.Context(), path, nil)
	must(t, err)
	if got := turns(t, s); len(got) != processes*each {
		t.Errorf("%d records, want %d", len(got), processes*each)
	}
}

func TestAKilledWriterLeavesAWholeStore(t *testing.T) {
	r := seeded(t)
	path := t.TempDir() + "/store.db"
	said := map[string]bool{}
	for i := range 25 {
		cmd := player(path, fmt.Sprint("k", i), 10000)
		pipe, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		must(t, err)
		lines := bufio.NewReader(pipe)
		var first []byte
		if i%3 > 0 { // however slow the machine is; the others may die before they begin
			first, _ = lines.ReadBytes('\n')
		}
		time.Sleep(time.Duration(r.IntN(35)) * time.Millisecond)
		cmd.Process.Kill()
		rest, _ := io.ReadAll(lines)
		cmd.Wait()
		for line := range bytes.Lines(append(first, rest...)) {
			if line, whole := bytes.CutSuffix(line, []byte("\n")); whole {
				said[string(line)] = true
			}
		}
	}
	s, err := Open(t.Context(), path, nil)
	must(t, err)
	got := turns(t, s)
	for name := range said {
		if !got[name] {
			t.Errorf("%q was acknowledged and is lost", name)
		}
	}
	if len(said) == 0 || len(got) > len(said)+25 {
		t.Errorf("%d acknowledged, %d recorded", len(said), len(got))
	}
	undamaged(t, s)
}

func TestGoroutinesMayShareAStage(t *testing.T) {
	s := newStore(t)
	g := s.Stage()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w%4), 0)) // two each put the same
			for i := range 200 {
				p := binary.BigEndian.AppendUint64(text(r, r.IntN(20000)), uint64(i))
				id, err := g.Put(t.Context(), oid.Blob, p, oid.ID{})
				if err != nil || id != oid.SHA1.Sum(oid.Blob, p) {
					t.Errorf("Put = %v, %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	must(t, g.Commit(t.Context(), nil))
	st, err := s.Stats(t.Context())
	if err != nil || st.Objects != 800 {
		t.Errorf("%d objects, %v; want 800", st.Objects, err)
	}
	undamaged(t, s)
}
