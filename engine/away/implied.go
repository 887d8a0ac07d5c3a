package away

import (
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// implied returns the payload of the git tree that the nodes of a directory imply: it has those that say an object, under
// their names, with the modes that git has for them. Who pushes writes a payload down only where it is another one, and
// who fetches compares what is implied with the id that it has to have.
func implied(nodes map[string]*restic.Node, alg oid.Algorithm) []byte {
	var list []tree.Entry
	for _, n := range nodes {
		if id, err := alg.Parse(n.Object); err == nil {
			list = append(list, tree.Entry{Name: n.Name, Mode: gitModeOf(n), ID: id})
		}
	}
	tree.Sort(list)
	return tree.Encode(list, alg)
}

func gitModeOf(n *restic.Node) tree.Mode {
	switch n.Type {
	case "dir":
		return tree.GitDir
	case "symlink":
		return tree.GitSymlink
	}
	return (tree.File | tree.Mode(n.Mode.Perm())).Git()
}
