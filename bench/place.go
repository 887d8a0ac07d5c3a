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
