package bench

import "io/fs"

// allocated is how many bytes a file takes on disk, about.
func allocated(fi fs.FileInfo) int64 { return fi.Size() }
