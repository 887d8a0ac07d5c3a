package process

import (
	"os/exec"
	"strconv"
	"testing"
	"time"
)

func TestWhatACommandHasStartedIsCounted(t *testing.T) {
	// A shell whose child works and whose other child sleeps; their names are hostile.
	cmd := exec.Command("sh", "-c", "cp /bin/sleep './a ) 1 2'; './a ) 1 2' 60 & (while :; do :; done) & wait")
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	t.Cleanup(func() { _ = exec.Command("pkill", "-KILL", "-P", strconv.Itoa(cmd.Process.Pid)).Run() })
	alone := uint64(cmd.Process.Pid)
	for range 400 {
		now, err := WorkOf(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if now.Took > 200*time.Millisecond && now.Who != alone {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("nobody was seen working")
}
