package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A node is a file, directory or link. A directory is a handle, whatever its name is by now.
// Of what else there is there are too many for a handle each: it is where it was found last,
// and a handle once it has no name any more, as the kernel may know it longer.
type node struct {
	fs.Inode
	id     identity
	fd     int     // a handle (O_PATH), or -1
	closed bool    // the handle, as the kernel has forgotten the node
	places []place // of no directory; the last is where it was found last

	spelt map[string]string // of a directory that was listed: the names in it, by what they are folded to
}

type identity struct{ dev, ino uint64 }

// A place is a name in a directory, as it is spelt there.
type place struct {
	dir  *node
	name string
}

// known are the nodes that the kernel may know.
var known = map[identity]*node{}

// names guards known, the names of nodes and what directories list. Names are looked up,
// made, changed and removed one after the other: no answer is from before a change that was
// already told of.
var names sync.Mutex

// OnForget closes the handle: the kernel knows the node no more. Somebody may just have
// found it, and make it known anew.
func (n *node) OnForget() {
	names.Lock()
	defer names.Unlock()
	if known[n.id] == n {
		delete(known, n.id)
	}
	if n.fd < 0 {
		return
	}
	time.AfterFunc(time.Second, func() {
		names.Lock()
		defer names.Unlock()
		if n.Forgotten() && !n.closed { // it may be forgotten twice
			n.closed = true
			_ = unix.Close(n.fd)
		}
	})
}

func pathOf(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// openAt opens a handle of what lies at a path, be it a link.
func openAt(path string) (int, error) {
	return unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// with calls f with a handle of the node, whatever happens to its name.
func (n *node) with(f func(fd int) error) syscall.Errno {
	names.Lock()
	fd := n.fd
	var err error
	if fd < 0 {
		if fd, err = n.open(); err == nil {
			defer func() { _ = unix.Close(fd) }()
		}
	}
	names.Unlock()
	if err != nil {
		return fs.ToErrno(err)
	}
	return fs.ToErrno(f(fd))
}

// open opens a handle of a node that has none.
func (n *node) open() (fd int, err error) {
	err = unix.ESTALE
	for _, p := range slices.Backward(n.places) {
		if p.dir.closed {
			continue
		}
		if fd, err = openAt(p.dir.in(p.name)); err == nil {
			break
		}
	}
	return fd, err
}

// in is the path of a name of the directory.
func (n *node) in(name string) string { return pathOf(n.fd) + "/" + name }

// knownAt returns the node of what lies at a path; nil if the kernel does not know it.
func knownAt(path string) *node {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil
	}
	return known[identity{st.Dev, st.Ino}]
}

// goes makes sure that a node can be reached once it has lost a name. One that has another,
// as git's objects have soon after they were made, needs no handle.
func (n *node) goes(dir *node, path string) {
	if n == nil || n.fd >= 0 || slices.ContainsFunc(n.places, func(p place) bool { return p != place{dir, filepath.Base(path)} }) {
		return
	}
	if fd, err := openAt(path); err == nil {
		n.fd = fd
	}
}

// lost notes a name that the node has no more.
func (n *node) lost(dir *node, path string) {
	if n != nil {
		n.places = slices.DeleteFunc(n.places, func(p place) bool { return p == place{dir, filepath.Base(path)} })
	}
}

// found notes where the node lies.
func (n *node) found(dir *node, path string) {
	if n.lost(dir, path); n != nil {
		n.places = append(n.places, place{dir, filepath.Base(path)})
	}
}

// child gives the node of what lies at a path in the directory.
func (n *node) child(ctx context.Context, path string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	fd, err := openAt(path)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	var st syscall.Stat_t
	if err = syscall.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, fs.ToErrno(err)
	}
	out.FromStat(&st)
	id := identity{st.Dev, st.Ino}
	found := known[id]
	if found == nil {
		found = &node{id: id, fd: -1}
		if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			found.fd = fd
		}
		known[id] = found
	}
	if found.fd != fd {
		_ = unix.Close(fd)
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		found.found(n, path)
	}
	return n.NewInode(ctx, found, fs.StableAttr{Mode: st.Mode, Ino: st.Ino, Gen: st.Dev}), 0
}
