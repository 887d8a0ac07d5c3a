package worktree

import "github.com/seed-82afce7a/rewind/internal/tree"

// counted checks the number of files and links of a result, where it is known.
func (p *place) counted(r *Result) {
	p.T.Helper()
	n, known := r.Recorded()
	if !known {
		return
	}
	files := 0
	for at, err := range tree.Walk(r.State, p.alg, p.loadTree) {
		if err != nil {
			return // the index of some tests names trees that nobody has
		}
		if !at.To.Mode.IsDir() {
			files++
		}
	}
	if n != files {
		p.T.Errorf("the scan says that it recorded %d files and links, and its trees have %d", n, files)
	}
}
