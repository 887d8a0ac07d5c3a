package restic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Node is one name of a tree.
type Node struct {
	Name    string
	Type    string // file, dir or symlink; others are read, and are for nobody here
	Mode    fs.FileMode
	Size    int64
	Target  string // of a symlink; of a file or a dir what rewind knows it by, which other programs do not heed
	Content []ID   // of a file
	Subtree ID     // of a dir
}

// nodeTime is the time of every file: a time of its own would make a tree another one though no byte is.
var nodeTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// A nodeFile is a Node as it is written.
type nodeFile struct {
	Name    string    `json:"name"`
	Type    string    `json:"type"`
	Mode    uint32    `json:"mode,omitempty"`
	Mtime   time.Time `json:"mtime"`
	Atime   time.Time `json:"atime"`
	Ctime   time.Time `json:"ctime"`
	UID     uint32    `json:"uid"`
	GID     uint32    `json:"gid"`
	Size    uint64    `json:"size,omitempty"`
	Links   uint64    `json:"links,omitempty"`
	Target  string    `json:"linktarget,omitempty"`
	Content idList    `json:"content"`
	Subtree *ID       `json:"subtree,omitempty"`
}

// ErrLarge is reported of a blob that is not opened here, nor written: of a tree of very many names.
var ErrLarge = errors.New("it is larger than 256 MiB, which is the most that is read at once")

// PutTree stores a directory, whose nodes it sorts.
func (w *Writer) PutTree(nodes []Node) (ID, error) {
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	files := make([]nodeFile, len(nodes))
	for i, n := range nodes {
		f := nodeFile{Name: quoteName(n.Name), Type: n.Type, Mode: uint32(n.Mode), Mtime: nodeTime, Atime: nodeTime, Ctime: nodeTime, Target: n.Target}
		switch n.Type {
		case "file":
			f.Size, f.Links, f.Content = uint64(n.Size), 1, n.Content
			if f.Content == nil {
				f.Content = idList{} // restic takes null for damage
			}
		case "dir":
			f.Subtree = &n.Subtree
		case "symlink":
			f.Links = 1
		}
		files[i] = f
	}
	plain, err := json.Marshal(struct {
		Nodes []nodeFile `json:"nodes"`
	}{files})
	if err == nil && len(plain) >= w.treeMost {
		err = fmt.Errorf("the tree of a directory of %d names: %w", len(nodes), ErrLarge)
	}
	if err != nil {
		return ID{}, err
	}
	return w.Put(Tree, append(plain, '\n'))
}

// quoteName writes a name as restic does.
func quoteName(name string) string {
	q := strconv.Quote(name)
	return q[1 : len(q)-1]
}

// FitsTarget reports whether a link's target can be written in a tree.
func FitsTarget(target string) bool { return utf8.ValidString(target) }

// nodesMost bounds the names of a directory.
const nodesMost = 1 << 21

var errName = errors.New("a name that is none")

// GetTree reads a directory. Names are checked: none leads elsewhere, and none is there twice.
func (r *Repo) GetTree(ctx context.Context, id ID) ([]Node, error) {
	plain, err := r.Blob(ctx, Tree, id)
	if err != nil {
		return nil, err
	}
	return parseTree(id, plain)
}

// Trees reads many directories as Blobs does, and calls f for each, of several goroutines.
func (r *Repo) Trees(ctx context.Context, ids []ID, f func(id ID, nodes []Node)) error {
	return r.Blobs(ctx, Tree, ids, func(id ID, b Blob) error {
		nodes, err := parseTree(id, b.Plain)
		if err == nil {
			f(id, nodes)
		}
		return err
	})
}

func parseTree(id ID, plain []byte) ([]Node, error) {
	list := nodeList{seen: map[string]bool{}}
	err := json.Unmarshal(plain, &struct {
		Nodes *nodeList `json:"nodes"`
	}{&list})
	if err != nil {
		return nil, fmt.Errorf("%w: tree %v: %w", ErrTampered, id, err)
	}
	return list.nodes, nil
}

// A nodeList takes the nodes of a tree one after another, and the first that is none ends it: three bytes name a node,
// and sixty times as many hold one.
type nodeList struct {
	nodes []Node
	seen  map[string]bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (l *nodeList) UnmarshalJSON(text []byte) error {
	return eachElement(text, func(one []byte) error {
		if len(l.nodes) == nodesMost {
			return fmt.Errorf("more than %d names", nodesMost)
		}
		var f nodeFile
		if err := json.Unmarshal(one, &f); err != nil {
			return err
		}
		name, err := strconv.Unquote(`"` + f.Name + `"`)
		if err == nil && (name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || l.seen[name]) {
			err = errName
		}
		if err != nil {
			return fmt.Errorf("%w: %q", err, f.Name)
		}
		l.seen[name] = true
		n := Node{Name: name, Type: f.Type, Mode: fs.FileMode(f.Mode), Size: int64(f.Size & (1<<63 - 1)), Target: f.Target, Content: f.Content}
		if f.Subtree != nil {
			n.Subtree = *f.Subtree
		}
		l.nodes = append(l.nodes, n)
		return nil
	})
}

// Content reads a file whole that has at most so many bytes.
func (r *Repo) Content(ctx context.Context, n *Node, most int64) ([]byte, error) {
	var out []byte
	for _, id := range n.Content {
		if size, ok := r.Size(Data, id); ok && int64(len(out))+size > most {
			return nil, fmt.Errorf("%w: %q has more than %d bytes", ErrTampered, n.Name, most)
		}
		p, err := r.Blob(ctx, Data, id)
		if err != nil {
			return nil, err
		}
		out = append(out, p...)
	}
	return out, nil
}
