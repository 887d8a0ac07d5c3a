//go:build linux

package power

import (
	"fmt"
	"net/rpc"
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// A server is a directory with a file for each disk.
type server struct {
	fuse.RawFileSystem
	mu    sync.Mutex
	next  uint64
	disks map[uint64]*disk
}

func newServer() *server {
	return &server{RawFileSystem: fuse.NewDefaultRawFileSystem(), next: fuse.FUSE_ROOT_ID, disks: map[uint64]*disk{}}
}

// serve answers the kernel on an open /dev/fuse, and the tests on a socket.
func serve(connection int, calls *os.File) error {
	if n, err := calls.Read(make([]byte, 1)); n == 0 {
		return fmt.Errorf("the tests mounted nothing: %w", err)
	}
	s := newServer()
	api := rpc.NewServer()
	if err := api.RegisterName("Disks", &Calls{s}); err != nil {
		return err
	}
	go api.ServeConn(calls)
	// One thread: the log then has the order in which the kernel asked.
	mount, err := fuse.NewServer(s, fmt.Sprintf("/dev/fd/%d", connection), &fuse.MountOptions{
		SingleThreaded: true, MaxWrite: 1 << 20, DisableXAttrs: true,
	})
	if err != nil {
		return err
	}
	mount.Serve()
	return nil
}

// add gives a disk a number.
func (s *server) add(d *disk) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.disks[s.next] = d
	return s.next
}

// remove forgets a disk that nobody uses any more.
func (s *server) remove(node uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.disks, node)
}

func fileName(node uint64) string { return fmt.Sprintf("disk%d", node) }

func (s *server) disk(node uint64) *disk {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disks[node]
}

func (s *server) attr(node uint64, a *fuse.Attr) fuse.Status {
	a.Ino = node
	if node == fuse.FUSE_ROOT_ID {
		a.Mode, a.Nlink = syscall.S_IFDIR|0o700, 1
		return fuse.OK
	}
	d := s.disk(node)
	if d == nil {
		return fuse.ENOENT
	}
	a.Mode, a.Nlink, a.Size = syscall.S_IFREG|0o600, 1, uint64(d.now.size())
	return fuse.OK
}

// Lookup finds a disk by the name of its file.
func (s *server) Lookup(_ <-chan struct{}, _ *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	var node uint64
	if _, err := fmt.Sscanf(name, "disk%d", &node); err != nil || fileName(node) != name || node == fuse.FUSE_ROOT_ID {
		return fuse.ENOENT
	}
	out.NodeId = node
	return s.attr(node, &out.Attr)
}

// GetAttr tells the length of a disk.
func (s *server) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return s.attr(in.NodeId, &out.Attr)
}

// SetAttr changes nothing: programs that format a disk set its length to what it is.
func (s *server) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return s.attr(in.NodeId, &out.Attr)
}

// Open makes the kernel ask for each read and write: it keeps no page of a disk.
func (s *server) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.Fh, out.OpenFlags = in.NodeId, fuse.FOPEN_DIRECT_IO
	return fuse.OK
}

// Read reads from a disk.
func (s *server) Read(_ <-chan struct{}, in *fuse.ReadIn, b []byte) (fuse.ReadResult, fuse.Status) {
	d := s.disk(in.NodeId)
	if d == nil {
		return nil, fuse.EIO
	}
	n := min(int64(len(b)), max(0, d.now.size()-int64(in.Offset)))
	d.read(int64(in.Offset), b[:n])
	return fuse.ReadResultData(b[:n]), fuse.OK
}

// Write writes to a disk.
func (s *server) Write(_ <-chan struct{}, in *fuse.WriteIn, b []byte) (uint32, fuse.Status) {
	d := s.disk(in.NodeId)
	switch {
	case d == nil:
		return 0, fuse.EIO
	case int64(in.Offset)+int64(len(b)) > d.now.size():
		return 0, fuse.Status(syscall.ENOSPC)
	}
	d.write(int64(in.Offset), b)
	return uint32(len(b)), fuse.OK
}

// Fsync is what a loop device makes of a flush.
func (s *server) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	d := s.disk(in.NodeId)
	if d == nil {
		return fuse.EIO
	}
	d.flush()
	return fuse.OK
}

// Flush is what closing a file does: to a disk, nothing.
func (s *server) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

// Access is open to whoever got here.
func (s *server) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }
