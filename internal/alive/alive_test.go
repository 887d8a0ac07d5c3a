package alive

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/gittest"
)

func TestAProcessLivesUntilItHasEnded(t *testing.T) {
	if !Process(os.Getpid()) {
		t.Error("this one does not live")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestNothing$")
	in, err := cmd.StdinPipe()
	if err == nil {
		cmd.Env = append(os.Environ(), "REWIND_WAITS=1")
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if !Process(pid) {
		t.Error("it does not live while it runs")
	}
	held, err := os.FindProcess(pid) // Windows keeps it as long as this does
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if Process(pid) {
		t.Error("it lives after its end")
	}
	_ = held.Release()
}

// TestNothing is what the process above runs, until its input ends.
func TestNothing(*testing.T) {
	if os.Getenv("REWIND_WAITS") != "" {
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
}

func TestNoProcessHasANumberThatNoneCanHave(t *testing.T) {
	for _, pid := range []int{0, -1, math.MinInt32, math.MaxInt32 - 3} {
		if Process(pid) {
			t.Errorf("%d lives", pid)
		}
	}
}

func TestAProcessThatMayNotBeAskedLives(t *testing.T) {
	gittest.Real(t, "no process has the number of Windows' own")
	first := map[string]int{"windows": 4, "linux": 1, "darwin": 1}[runtime.GOOS]
	if p, err := os.FindProcess(first); first == 0 || runtime.GOOS == "windows" && err == nil {
		t.Skip("SKIPPED: no process of the system itself is known that may not be asked: ", p, err)
	}
	if os.Getuid() == 0 {
		t.Log("root may ask all of them")
	}
	if !Process(first) {
		t.Error("the first process does not live")
	}
}
