package away

import (
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

// implied returns the payload of the git tree that the nodes of a directory imply: it has all links, and
// of the others those that say an id, under their names, with the modes that git has for them. Who pushes writes a payload
// down only where it is another one, and who fetches compares what is implied with the id that it has to have.
func implied(nodes map[string]*restic.Node, alg oid.Algorithm) []byte {
	var list []tree.Entry
	for _, n := range nodes {
		id, err := alg.Parse(n.Target)
		if n.Type == "symlink" {
			id, err = alg.Sum(oid.Blob, []byte(n.Target)), nil
		}
		if err == nil {
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

// treesOf reads the git tree and the overlay of a directory.
func (p *pull) treesOf(s tree.State, files, beside map[string]*restic.Node) error {
	for name, id := range map[string]oid.ID{treeName: s.Tree, overlayName: s.Overlay} {
		if id.IsZero() || p.trees[id] != nil {
			continue
		}
		var payload []byte
		var err error
		if name == treeName && beside[name] == nil {
			if payload = implied(files, p.alg); p.alg.Sum(oid.Tree, payload) != id {
				err = tampered("the files of a directory are not those of tree %v", id)
			}
		} else {
			payload, err = p.object(beside, name, oid.Tree, id)
		}
		if err == nil {
			err = p.put(oid.Tree, payload)
		}
		if err != nil {
			return err
		}
		p.trees[id] = append([]byte{}, payload...)
	}
	return nil
}
