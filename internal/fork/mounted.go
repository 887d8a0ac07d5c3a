package fork

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/seed-82afce7a/rewind/engine"
)

// The table of what is mounted, as Linux has it (proc_pid_mountinfo(5)).
const mountsFile = "/proc/self/mountinfo"

// mounted is an error if something is mounted below a directory. What lies there has
// another place as well, perhaps in the worktree, and would go from that too. Where the
// system has no table nobody knows.
func mounted(dir string) error {
	table, err := os.ReadFile(mountsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if at := unescaped.Replace(fields[4]); strings.HasPrefix(at, dir+"/") {
			return fmt.Errorf("%w: something is mounted at %s, and what lies there would go with the fork: unmount it first", engine.ErrRefused, at)
		}
	}
	return nil
}

// unescaped undoes what the table does to some characters.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
