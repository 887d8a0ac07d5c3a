package restic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// A resticNode has the fields of restic's Node in its order (restic 0.14 to 0.18, internal/restic/node.go).
type resticNode struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Mode       fs.FileMode      `json:"mode,omitempty"`
	ModTime    time.Time        `json:"mtime,omitempty"`
	AccessTime time.Time        `json:"atime,omitempty"`
	ChangeTime time.Time        `json:"ctime,omitempty"`
	UID        uint32           `json:"uid"`
	GID        uint32           `json:"gid"`
	User       string           `json:"user,omitempty"`
	Group      string           `json:"group,omitempty"`
	Inode      uint64           `json:"inode,omitempty"`
	DeviceID   uint64           `json:"device_id,omitempty"`
	Size       uint64           `json:"size,omitempty"`
	Links      uint64           `json:"links,omitempty"`
	LinkTarget string           `json:"linktarget,omitempty"`
	Extended   []map[string]any `json:"extended_attributes,omitempty"`
	Device     uint64           `json:"device,omitempty"`
	Content    []ID             `json:"content"`
	Subtree    *ID              `json:"subtree,omitempty"`
	Error      string           `json:"error,omitempty"`
}

// `restic repair snapshots` writes each tree again, and takes a snapshot for changed whose trees have other bytes then;
// `restic rewrite` refuses all snapshots for one of which bytes would be lost.
func TestATreeThatResticWritesAgainHasTheSameBytes(t *testing.T) {
	r, _ := made(t)
	w := r.Writer(t.Context())
	defer w.Close()
	some := strings.Repeat("0123456789", 4)
	id, err := w.PutTree([]Node{
		{Name: "file \"\\\xff\n<&>", Type: "file", Mode: 0o4755, Size: 3, Content: []ID{{1}}, Target: some}, {Name: "void", Type: "file", Content: []ID{}},
		{Name: "dir", Type: "dir", Mode: fs.ModeDir | 0o755, Subtree: ID{2}, Target: some}, {Name: "link", Type: "symlink", Mode: fs.ModeSymlink | 0o777, Target: "../x \ufffd <&>"},
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	was, err := r.Blob(t.Context(), Tree, id)
	if err != nil {
		t.Fatal(err)
	}
	var tree struct {
		Nodes []resticNode `json:"nodes"`
	}
	if err := json.Unmarshal(was, &tree); err != nil {
		t.Fatal(err)
	}
	now, err := json.Marshal(tree)
	if err != nil || len(tree.Nodes) != 4 || string(append(now, '\n')) != string(was) {
		t.Errorf("it was\n%sand is\n%s, %v", was, now, err)
	}
}

// Who put such a tree there had a file of the index there first, which nobody could read from then on.
func TestATreeThatNobodyReadsIsNotWritten(t *testing.T) {
	r, _ := made(t)
	w := r.Writer(t.Context())
	defer w.Close()
	w.treeMost = 4 << 10
	var nodes []Node
	for i := range 20 {
		nodes = append(nodes, Node{Name: fmt.Sprint(i), Type: "file", Content: []ID{{byte(i)}}})
	}
	if _, err := w.PutTree(nodes); !errors.Is(err, ErrLarge) {
		t.Errorf("%v", err)
	}
	id, err := w.PutTree(nodes[:2])
	if err == nil {
		err = w.Flush()
	}
	if got, failed := r.GetTree(t.Context(), id); err != nil || failed != nil || len(got) != 2 {
		t.Errorf("%v %v %v", got, err, failed)
	}
}

// Another program may write a tree of any size. It is not opened, and closes nothing else.
func TestATreeThatIsTooLargeIsNamedAndTheRestIsRead(t *testing.T) {
	r, _ := made(t)
	w := r.Writer(t.Context())
	id, err := w.PutTree([]Node{{Name: "f", Type: "file", Content: []ID{}}})
	if err == nil {
		err = w.Flush()
	}
	w.Close()
	large, pack := ID{1}, ID{2}
	blob := indexBlob{ID: large, Type: "tree", Offset: 0, Length: 1 << 20, Plain: blobMost + 1}
	if err == nil {
		_, err = r.putJSON(t.Context(), "index", &indexFile{Packs: list[indexPack]{{ID: pack, Blobs: list[indexBlob]{blob}}}})
	}
	if err == nil {
		_, err = r.LoadIndex(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.GetTree(t.Context(), id); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	if _, err := r.GetTree(t.Context(), large); !errors.Is(err, ErrLarge) || errors.Is(err, ErrTampered) {
		t.Errorf("one alone: %v", err)
	}
	if err := r.Trees(t.Context(), []ID{id, large}, func(ID, []Node) {}); !errors.Is(err, ErrLarge) {
		t.Errorf("one of two: %v", err)
	}
	reach, err := r.Reach(t.Context(), []ID{id, large}, nil)
	if err != nil || !reach.Whole(id) || reach.Whole(large) || len(reach.Broken()) != 1 {
		t.Errorf("%+v %v", reach, err)
	}
}
