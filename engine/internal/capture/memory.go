package capture

import (
	"bytes"
	"context"
	"io"
	"maps"
	"sync"

	"github.com/seed-82afce7a/rewind/cas"
	"github.com/seed-82afce7a/rewind/engine/internal/objects"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/internal/tree"
)

const (
	// memoryBytes of the contents that a scan read stay in memory: a thousand source
	// files have less, and what a turn changes is much less.
	memoryBytes = 16 << 20
	// memoryBytesEach is the size of the largest content that stays.
	memoryBytesEach = 128 << 10
	// memoryBytesRead of the trees that a capture had read stay in memory.
	memoryBytesRead = 8 << 20
	// memoryBytesExtra is what a content takes up beside its bytes.
	memoryBytesExtra = 128
)

// A Memory is what the scan of a capture made and read, as far as it stays in
// memory: every tree that git lacks, and small contents as far as there is room.
// They are for what is done before they can be read in the store: a plan, and
// writing to git. Goroutines may share it.
type Memory struct {
	mu    sync.Mutex // guards what follows
	room  int
	trees map[oid.ID][]byte
	made  int // bytes of trees
	blobs map[oid.ID][]byte
	read  map[oid.ID][]byte // trees
	held  int               // bytes of read, with what each takes beside
}

func newMemory(room int) *Memory {
	return &Memory{room: room, trees: map[oid.ID][]byte{}, blobs: map[oid.ID][]byte{}, read: map[oid.ID][]byte{}}
}

// reading is a loader that keeps in memory what it has read.
func (m *Memory) reading(load tree.Loader) tree.Loader {
	return func(id oid.ID, soon ...oid.ID) ([]byte, error) {
		p, err := load(id, soon...)
		if err == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			if size := len(p) + memoryBytesExtra; m.read[id] == nil && m.held+size <= memoryBytesRead {
				m.held += size
				m.read[id] = p
			}
		}
		return p, err
	}
}

// Met returns a tree if it is in memory, or was read for this capture: from wherever it
// was, so it says nothing of who has it.
func (m *Memory) Met(id oid.ID) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.trees[id]; ok {
		return p, true
	}
	p, ok := m.read[id]
	return p, ok
}

func (m *Memory) putTree(id oid.ID, payload []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.trees[id]; !known {
		m.trees[id] = bytes.Clone(payload)
		m.made += len(payload)
	}
}

// TreeBytes is how many bytes the trees have that the scan made.
func (m *Memory) TreeBytes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.made
}

// holds reports whether there is room for a content of so many bytes.
func (m *Memory) holds(size int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return size+memoryBytesExtra <= m.room
}

func (m *Memory) putBlob(id oid.ID, payload []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.blobs[id]; !known && len(payload)+memoryBytesExtra <= m.room {
		m.room -= len(payload) + memoryBytesExtra
		m.blobs[id] = payload
	}
}

// Tree returns a tree if it is in memory.
func (m *Memory) Tree(id oid.ID) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.trees[id]
	return p, ok
}

// Object returns an object if it is in memory. The payload is not to be changed.
func (m *Memory) Object(id oid.ID) (oid.Kind, []byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.trees[id]; ok {
		return oid.Tree, p, true
	}
	p, ok := m.blobs[id]
	return oid.Blob, p, ok
}

// A saver is where the scan puts what it reads: into a stage of the store, or for a dry
// run nowhere, so that of files only the ids are known. A tree that git has is left out
// at first: of a clean checkout those are all, and a commit of the user's keeps them. Who
// records the capture adds what nothing keeps.
type saver struct {
	objects *objects.Objects
	stage   *cas.Stage // nil: nothing is kept
	memory  *Memory
}

func (s *saver) Blob(ctx context.Context, r io.Reader, size int64, base oid.ID) (oid.ID, error) {
	if s.stage == nil {
		sum := s.objects.Algorithm.NewHasher(oid.Blob, size)
		n, err := io.Copy(sum, r)
		if err == nil && n != size {
			err = cas.ErrSize
		}
		return sum.Sum(), err
	}
	var copied bytes.Buffer
	stays := size <= memoryBytesEach && s.memory.holds(int(size))
	if stays {
		copied.Grow(int(size))
		r = io.TeeReader(r, &copied)
	}
	id, err := s.stage.PutReader(ctx, oid.Blob, r, size, base)
	if err == nil && stays {
		s.memory.putBlob(id, copied.Bytes()[:size])
	}
	return id, objects.StoreError(err)
}

func (s *saver) Tree(ctx context.Context, payload []byte, base oid.ID) (oid.ID, error) {
	id := s.objects.Algorithm.Sum(oid.Tree, payload)
	if s.stage != nil && s.objects.InGit(id) {
		return id, nil
	}
	s.memory.putTree(id, payload)
	if s.stage == nil {
		return id, nil
	}
	_, err := s.stage.Put(ctx, oid.Tree, payload, base)
	return id, objects.StoreError(err)
}

// Trees returns the trees that are in memory.
func (m *Memory) Trees() map[oid.ID][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.trees)
}

// room is how many bytes of contents a capture keeps in memory. A first one reads all,
// and without git nobody asks for them before the store has them.
func (p Place) room(how How) int {
	if how.Last == nil && p.Objects.Git == nil {
		return 0
	}
	return memoryBytes
}
