package tree

import "strings"

// Paths are slash-separated, from the root, whose own path is empty.

// Join puts a name below a path. It has nothing in common with the name.
func Join(path, name string) string {
	if path == "" {
		return strings.Clone(name)
	}
	return path + "/" + name
}

// Split parts a path into its directory and its name.
func Split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// Parent returns the directory of a path.
func Parent(path string) string {
	dir, _ := Split(path)
	return dir
}
