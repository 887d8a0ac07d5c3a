package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/internal/s3test"
)

// TestEachLineOfTheRecipesForSandboxesWorks runs the blocks of the page, each on a machine of its own but for the last,
// whose first line is run where the first block was.
func TestEachLineOfTheRecipesForSandboxesWorks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/recipes/sandboxes.md")
	if err != nil {
		t.Fatal(err)
	}
	url := "s3:" + s3test.Start(t, "gofakes3") + "/" + s3test.Bucket
	var blocks []string
	for i, part := range strings.Split(string(page), "```") {
		if i%2 == 1 {
			blocks = append(blocks, strings.ReplaceAll(part, "s3://my-bucket", url))
		}
	}
	if len(blocks) != 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	top, machine := t.TempDir(), ""
	on := func(name string) {
		machine = filepath.Join(top, name)
		for _, dir := range []string{"home", "here"} {
			if err := os.MkdirAll(filepath.Join(machine, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	sh := func(script string) string {
		t.Helper()
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = filepath.Join(machine, "here")
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(machine, "home"), "XDG_STATE_HOME="+filepath.Join(machine, "state"), "XDG_CONFIG_HOME="+filepath.Join(machine, "config"), "RESTIC_PASSWORD=a password", "GIT_CEILING_DIRECTORIES="+top)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return string(out)
	}
	on("laptop")
	sh("echo 1 >f; " + blocks[0])
	on("container")
	sh(strings.ReplaceAll(blocks[1], "./agent", "echo 2 >f"))
	on("ci")
	sh("echo 'test:' >Makefile;" + blocks[2])
	sh("rewind resume '" + url + "/ci:job 17' ../there; cmp Makefile ../there/Makefile")
	on("laptop")
	first, rest, _ := strings.Cut(strings.TrimSpace(blocks[3]), "\n")
	sh("rewind fetch; rewind restore ':/after the task' --yes; " + first)
	on("server")
	if out := sh(rest); !strings.Contains(out, "to the server") {
		t.Errorf("its history is %s", out)
	}
	if out := sh("cat work/f"); out != "2\n" {
		t.Errorf("what the container did is %q", out)
	}
}
