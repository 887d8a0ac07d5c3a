package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/internal/s3test"
)

// A machine of a fleet has a home and a worktree of its own, and shares nothing with the others but the remote.
type machine struct {
	dir    string
	env    []string
	pushes []time.Duration
	again  int // pushes that failed and were done by the next
}

func (m *machine) rewind(args ...string) ([]byte, error) {
	cmd := exec.Command("rewind", args...)
	cmd.Dir, cmd.Env = filepath.Join(m.dir, "work"), m.env
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("rewind %v: %w: %s", args, err, failed.Bytes())
	}
	return out, err
}

// turns edits a file, records, and pushes, so often.
func (m *machine) turns(n int, random *rand.Rand) error {
	for i := range n {
		if err := os.WriteFile(filepath.Join(m.dir, "work", "mine"), fmt.Appendf(nil, "%s %d %d", m.dir, i, random.Uint64()), 0o644); err != nil {
			return err
		}
		if _, err := m.rewind("snapshot", "-m", fmt.Sprint("turn ", i)); err != nil {
			return err
		}
		for tries := 1; ; tries++ {
			begun := time.Now()
			_, err := m.rewind("push")
			if err == nil {
				m.pushes = append(m.pushes, time.Since(begun))
				break
			}
			if m.again++; tries == 5 {
				return err
			}
		}
	}
	return nil
}

// newFleet makes machines that have the same files.
func newFleet(t *testing.T, top string, machines int, env []string) []*machine {
	t.Helper()
	fleet := make([]*machine, machines)
	for i := range fleet {
		m := &machine{dir: filepath.Join(top, fmt.Sprint("m", i))}
		m.env = append(slices.Clone(env), "HOME="+m.dir, "XDG_STATE_HOME="+m.dir+"/state", "XDG_CONFIG_HOME="+m.dir+"/config", "GIT_CEILING_DIRECTORIES="+top)
		if err := os.MkdirAll(filepath.Join(m.dir, "work"), 0o755); err != nil {
			t.Fatal(err)
		}
		common := rand.NewChaCha8([32]byte{1}) // the same on every machine
		for f := range 40 {
			var content [32 << 10]byte
			_, _ = common.Read(content[:])
			put(t, filepath.Join(m.dir, "work"), fmt.Sprint("f", f), string(content[:]))
		}
		fleet[i] = m
	}
	return fleet
}

// TestAFleetPushesToOneRepository lets machines push side by side to one server, as many as REWIND_FLEET says. What it
// measures it tells (docs/scale.md); it asserts that nothing is lost, and that what all have is there once.
func TestAFleetPushesToOneRepository(t *testing.T) {
	machines, turns := 4, 2
	if n, err := strconv.Atoi(os.Getenv("REWIND_FLEET")); err == nil && n > 0 {
		machines = n
	}
	top := t.TempDir()
	url, stop, err := s3test.Run("versitygw", filepath.Join(top, "server"))
	if err != nil {
		t.Skip("SKIPPED: no server to push to: ", err)
	}
	t.Cleanup(stop)
	s3test.Alone(t)
	env := append(os.Environ(), "AWS_ACCESS_KEY_ID="+s3test.Key, "AWS_SECRET_ACCESS_KEY="+s3test.Secret, "RESTIC_PASSWORD=a password")
	repository := "s3:" + url + "/" + s3test.Bucket + "/history"
	fleet := newFleet(t, top, machines, env)
	if err := errors.Join(one(fleet[0].rewind("remote", "add", "fleet", repository)), fleet[0].turns(1, rand.New(rand.NewPCG(2, 0)))); err != nil {
		t.Fatal(err)
	}
	alone := stored(t, filepath.Join(top, "server", s3test.Bucket, "history", "data"))
	var wg sync.WaitGroup
	begun := time.Now()
	for i, m := range fleet {
		wg.Go(func() {
			if i > 0 {
				if _, err := m.rewind("remote", "add", "fleet", repository); err != nil {
					t.Error(err)
					return
				}
			}
			if err := m.turns(turns, rand.New(rand.NewPCG(2, uint64(i+1)))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	out, err := fleet[0].rewind("list", "--remote", "fleet", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Snapshots []json.RawMessage }
	if err := json.Unmarshal(out, &list); err != nil || len(list.Snapshots) != machines*turns+1 {
		t.Errorf("%d snapshots are there, want %d (%v)", len(list.Snapshots), machines*turns+1, err)
	}
	if _, err := fleet[0].rewind("remote", "verify"); err != nil {
		t.Error(err)
	}
	if restic, err := exec.LookPath("restic"); err == nil {
		check := exec.Command(restic, "-r", repository, "--no-cache", "check", "--read-data")
		check.Env = env
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("restic: %v: %s", err, out)
		}
	}
	data := stored(t, filepath.Join(top, "server", s3test.Bucket, "history", "data"))
	if most := alone + int64(machines*turns)*16<<10; data > most {
		t.Errorf("%d machines have %d bytes there, one had %d", machines, data, alone)
	}
	var all []time.Duration
	again := 0
	for _, m := range fleet {
		all, again = append(all, m.pushes...), again+m.again
	}
	slices.Sort(all)
	t.Logf("%d machines, %d turns each, in %v: pushes p50 %v, p99 %v; %d were tried again; packs of one machine %d bytes, of all %d; index %d bytes",
		machines, turns, took.Round(time.Millisecond), all[len(all)/2], all[len(all)*99/100], again, alone, data, stored(t, filepath.Join(top, "server", s3test.Bucket, "history", "index")))
}

func one(_ []byte, err error) error { return err }

// stored sums up the files below a directory.
func stored(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, ".sgwtmp") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
