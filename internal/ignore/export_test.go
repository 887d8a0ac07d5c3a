package ignore

// Empty reports whether the file has no rules at all.
func (f *File) Empty() bool { return f.empty() }
