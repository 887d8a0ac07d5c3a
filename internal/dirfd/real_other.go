//go:build !windows

package dirfd

import "path/filepath"

// Real resolves the links in the path of what is there.
func Real(path string) (string, error) { return filepath.EvalSymlinks(path) }
