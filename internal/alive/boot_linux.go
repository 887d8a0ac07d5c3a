package alive

import (
	"os"
	"strings"
	"sync"
)

// Boot names this run of the system, from one start of the kernel to the next; "" where
// that is not known. What was written and not synced may be gone or torn in the next one
// (random(4), /proc/sys/kernel/random/boot_id).
var Boot = sync.OnceValue(func() string {
	p, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(p))
})
