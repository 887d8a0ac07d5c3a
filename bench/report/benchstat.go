package report

import (
	"fmt"
	"io"
	"strings"
)

// Benchstat writes each round as a line of Go's benchmark format. To compare
// contenders: benchstat -col /contender FILE; to compare two runs: benchstat OLD NEW.
func (r *Report) Benchstat(w io.Writer) error {
	// What would end a name.
	plain := strings.NewReplacer(" ", "_", "/", "_", ",", "")
	system, arch, _ := strings.Cut(r.Machine.System, "/")
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\n", system, arch)
	for _, res := range r.Results {
		for _, l := range res.Lines {
			name := fmt.Sprintf("BenchmarkBench/workload=%s/contender=%s/files=%d-%d", plain.Replace(res.Title()), plain.Replace(l.Contender), res.Files, r.Machine.Processors)
			for i, s := range l.Seconds {
				fmt.Fprintf(w, "%s 1 %.0f ns/op", name, s*1e9)
				if i < len(l.DiskBytes) {
					fmt.Fprintf(w, " %d disk-B/op", l.DiskBytes[i])
				}
				if _, err := fmt.Fprintln(w); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
