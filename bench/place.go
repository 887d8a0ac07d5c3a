package bench

// A place is a directory on a file system that the report names.
type place struct {
	dir  string
	kind string
	undo func() error // nil: nothing to undo
}

// leave undoes what was made for the place.
func (p place) leave() error {
	if p.undo == nil {
		return nil
	}
	return p.undo()
}

// imageBytes is the size of the file system made for a corpus of some bytes: the
// peers leave thousands of small files for each round. The file is sparse.
func imageBytes(corpus int64, rounds int) int64 { return 4*corpus + int64(rounds+4)<<28 }
