package command

import (
	"os"
	"strings"
	"testing"

	"github.com/seed-82afce7a/rewind/cmd/internal/exit"
)

func TestAListInARepositoryOfSomebodyElseSaysWhichSnapshotsAreNotSeen(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a directory to another user")
	}
	t.Setenv("SUDO_UID", "")
	k := keptIn(t, repository(t))
	if err := os.Chown(k.dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, prose, code := rewind(t, "-C", k.dir, "list")
	if want := "no snapshot of " + k.dir + " in your own store yet; those in its git repository are not seen while git is left out"; code != exit.Done || !strings.Contains(prose, want) {
		t.Errorf("exit %d, %s", code, prose)
	}
	if out, _, code := rewind(t, "-C", k.dir, "status"); code != exit.Done || !strings.Contains(out, "(git is left out)") {
		t.Errorf("exit %d, %s", code, out)
	}
}
