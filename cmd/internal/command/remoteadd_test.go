package command

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestARemoteThatIsAddedSaysHowManySnapshotsWait(t *testing.T) {
	g := newGround(t)
	g.env = append(g.env, "RESTIC_PASSWORD=a password")
	for i := range 2 {
		if err := os.WriteFile(filepath.Join(g.dir, "f"), fmt.Append(nil, i), 0o644); err != nil {
			t.Fatal(err)
		}
		g.json("snapshot")
	}
	told := func(want string, args ...string) {
		t.Helper()
		m := g.json(args...)
		list, _ := m["remotes"].([]any)
		if len(list) != 1 {
			t.Fatalf("%v: %v", args, m)
		}
		one := list[0].(map[string]any)
		if got := fmt.Sprint(one["there"], " there, ", one["waiting"], " wait"); got != want {
			t.Errorf("%v: %s, and should be %s", args, got, want)
		}
	}
	told("0 there, 2 wait", "remote", "add", "disk", filepath.Join(t.TempDir(), "repo"))
	g.json("push")
	told("2 there, 0 wait", "remote", "remove", "disk")
}
