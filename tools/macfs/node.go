package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A node is a file, directory or link. It is where it was found last: its name there is
// spelt as it is below.
type node struct {
	fs.Inode
	parent *node
	name   string // of the root: a whole path
	fd     int    // once a name of it was removed: a handle (O_PATH), as it may be open still; else -1

	spelt map[string]string // of a directory that was listed: the names in it, by what they are folded to
}

// names keeps the places of all nodes. What looks a name up holds it until the node has that
// name, and what renames holds it until the name has moved: else an answer from before a
// rename would lead back from the place that the rename gave.
var names sync.Mutex

// The whole of what the kernel may ask.
var (
	_ fs.NodeLookuper       = (*node)(nil)
	_ fs.NodeGetattrer      = (*node)(nil)
	_ fs.NodeSetattrer      = (*node)(nil)
	_ fs.NodeOpener         = (*node)(nil)
	_ fs.NodeCreater        = (*node)(nil)
	_ fs.NodeMkdirer        = (*node)(nil)
	_ fs.NodeMknoder        = (*node)(nil)
	_ fs.NodeSymlinker      = (*node)(nil)
	_ fs.NodeLinker         = (*node)(nil)
	_ fs.NodeUnlinker       = (*node)(nil)
	_ fs.NodeRmdirer        = (*node)(nil)
	_ fs.NodeRenamer        = (*node)(nil)
	_ fs.NodeReadlinker     = (*node)(nil)
	_ fs.NodeOpendirHandler = (*node)(nil)
	_ fs.NodeStatfser       = (*node)(nil)
	_ fs.NodeGetxattrer     = (*node)(nil)
	_ fs.NodeSetxattrer     = (*node)(nil)
	_ fs.NodeRemovexattrer  = (*node)(nil)
	_ fs.NodeListxattrer    = (*node)(nil)
	_ fs.NodeOnForgetter    = (*node)(nil)
)

// OnForget closes the handle: the kernel knows the node no more.
func (n *node) OnForget() {
	if n.fd >= 0 {
		_ = unix.Close(n.fd)
	}
}

// path leads to the node.
func (n *node) path() string {
	path, _ := n.place()
	return path
}

// place leads to the node, and gives the flag under which the path means the node itself, be
// it a link: a handle's entry in /proc is a link that must be gone through.
func (n *node) place() (path string, flag int) {
	names.Lock()
	defer names.Unlock()
	if n.fd < 0 {
		flag = unix.AT_SYMLINK_NOFOLLOW
	}
	return n.pathLocked(), flag
}

func (n *node) pathLocked() string {
	switch {
	case n.fd >= 0:
		return fmt.Sprintf("/proc/self/fd/%d", n.fd)
	case n.parent == nil:
		return n.name
	}
	return filepath.Join(n.parent.pathLocked(), n.name)
}

// goes makes sure that the node under a name can be reached once it has lost that name.
func (n *node) goes(name string) {
	kid := n.GetChild(name)
	if kid == nil {
		return
	}
	k := kid.Operations().(*node)
	path := k.path()
	names.Lock()
	defer names.Unlock()
	if k.fd < 0 && !kid.IsDir() {
		if fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			k.fd = fd
		}
	}
}

// movedLocked notes where the node under a name lies from now on.
func (n *node) movedLocked(name string, to *node, path string) {
	if kid := n.GetChild(name); kid != nil {
		k := kid.Operations().(*node)
		k.parent, k.name = to, filepath.Base(path)
	}
}

// at leads to what lies under a name, in the spelling that it has there; a name that is
// not there is one that can be made.
func (n *node) at(name string) string {
	name = norm.NFD.String(name)
	dir := n.path()
	names.Lock()
	defer names.Unlock()
	if n.spelt == nil {
		n.spelt = map[string]string{}
		list, _ := os.ReadDir(dir)
		for _, e := range list {
			n.spelt[fold(e.Name())] = e.Name()
		}
	}
	if there, ok := n.spelt[fold(name)]; ok {
		name = there
	}
	return filepath.Join(dir, name)
}

// spell notes that a path of the directory is there, or that it is not.
func (n *node) spell(path string, there bool) {
	names.Lock()
	defer names.Unlock()
	n.spellLocked(path, there)
}

func (n *node) spellLocked(path string, there bool) {
	name := filepath.Base(path)
	if there {
		n.spelt[fold(name)] = name
	} else if n.spelt[fold(name)] == name {
		delete(n.spelt, fold(name))
	}
}

func fold(name string) string { return norm.NFD.String(cases.Fold().String(norm.NFD.String(name))) }

// child gives the node of what lies at a path in the directory.
func (n *node) child(ctx context.Context, path string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	names.Lock()
	defer names.Unlock()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	out.FromStat(&st)
	kid := n.NewInode(ctx, &node{fd: -1}, fs.StableAttr{Mode: st.Mode, Ino: st.Ino, Gen: st.Dev})
	k := kid.Operations().(*node) // perhaps one that was known by another name
	k.parent, k.name = n, filepath.Base(path)
	return kid, 0
}

// made gives what was just made at a path to who asked for it.
func (n *node) made(ctx context.Context, path string, out *fuse.EntryOut, err error) (*fs.Inode, syscall.Errno) {
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	n.spell(path, true)
	if caller, ok := fuse.FromContext(ctx); ok && os.Geteuid() == 0 {
		_ = os.Lchown(path, int(caller.Uid), int(caller.Gid))
	}
	return n.child(ctx, path, out)
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.child(ctx, n.at(name), out)
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	path, flag := n.place()
	look := syscall.Lstat
	if flag == 0 {
		look = syscall.Stat
	}
	var st syscall.Stat_t
	err := look(path, &st)
	out.FromStat(&st)
	return fs.ToErrno(err)
}

// Statx tells also when the file was made.
func (n *node) Statx(_ context.Context, _ fs.FileHandle, _, mask uint32, out *fuse.StatxOut) syscall.Errno {
	path, flag := n.place()
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, flag, int(mask), &st)
	out.FromStatx(&st)
	return fs.ToErrno(err)
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	path, flag := n.place()
	var err error
	if m, ok := in.GetMode(); ok && err == nil {
		err = unix.Chmod(path, m)
	}
	uid, set := in.GetUID()
	gid, also := in.GetGID()
	if (set || also) && err == nil {
		if !set {
			uid = ^uint32(0)
		}
		if !also {
			gid = ^uint32(0)
		}
		err = unix.Fchownat(unix.AT_FDCWD, path, int(int32(uid)), int(int32(gid)), flag)
	}
	if size, ok := in.GetSize(); ok && err == nil {
		err = unix.Truncate(path, int64(size))
	}
	atime, set := in.GetATime()
	mtime, also := in.GetMTime()
	if (set || also) && err == nil {
		times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
		if set {
			times[0] = unix.NsecToTimespec(atime.UnixNano())
		}
		if also {
			times[1] = unix.NsecToTimespec(mtime.UnixNano())
		}
		err = unix.UtimesNanoAt(unix.AT_FDCWD, path, times, flag)
	}
	if err != nil {
		return fs.ToErrno(err)
	}
	return n.Getattr(ctx, f, out)
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fd, err := unix.Open(n.path(), int(flags)&^(unix.O_NOFOLLOW|unix.O_APPEND)|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return fs.NewLoopbackFile(fd), 0, 0
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	path := n.at(name)
	fd, err := unix.Open(path, int(flags)&^unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	kid, errno := n.made(ctx, path, out, err)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return kid, fs.NewLoopbackFile(fd), 0, 0
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.at(name)
	return n.made(ctx, path, out, unix.Mkdir(path, mode))
}

func (n *node) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.at(name)
	return n.made(ctx, path, out, unix.Mknod(path, mode, int(dev)))
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.at(name)
	return n.made(ctx, path, out, unix.Symlink(target, path))
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.at(name)
	if err := unix.Linkat(unix.AT_FDCWD, target.(*node).path(), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return nil, fs.ToErrno(err)
	}
	n.spell(path, true)
	return n.child(ctx, path, out)
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	n.goes(name)
	return n.gone(name, unix.Unlink)
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return n.gone(name, unix.Rmdir)
}

func (n *node) gone(name string, remove func(string) error) syscall.Errno {
	path := n.at(name)
	err := remove(path)
	if err == nil {
		n.spell(path, false)
	}
	return fs.ToErrno(err)
}

// Rename gives a name another spelling too.
func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	old, dir := n.at(name), to.(*node)
	target := dir.at(newName)
	if same(old, target) && flags&unix.RENAME_EXCHANGE == 0 {
		target, flags = filepath.Join(dir.path(), norm.NFD.String(newName)), 0
	}
	if flags == 0 {
		dir.goes(newName)
	}
	names.Lock()
	defer names.Unlock()
	if err := unix.Renameat2(unix.AT_FDCWD, old, unix.AT_FDCWD, target, uint(flags)); err != nil {
		return fs.ToErrno(err)
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		dir.movedLocked(newName, n, old)
	} else {
		n.spellLocked(old, false)
		dir.spellLocked(target, true)
	}
	n.movedLocked(name, dir, target)
	return 0
}

// same reports whether two paths are one name of one directory.
func same(a, b string) bool {
	var x, y unix.Stat_t
	return fold(filepath.Base(a)) == fold(filepath.Base(b)) &&
		unix.Stat(filepath.Dir(a), &x) == nil && unix.Stat(filepath.Dir(b), &y) == nil && x.Ino == y.Ino && x.Dev == y.Dev
}

func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) {
	buf := make([]byte, unix.PathMax)
	size, err := unix.Readlink(n.path(), buf)
	return buf[:max(size, 0)], fs.ToErrno(err)
}

// OpendirHandle gives what lists the directory, and makes its names durable.
func (n *node) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	list, errno := fs.NewLoopbackDirStream(n.path())
	return list, 0, errno
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st syscall.Statfs_t
	err := syscall.Statfs(n.path(), &st)
	out.FromStatfsT(&st)
	return fs.ToErrno(err)
}

func (n *node) Getxattr(_ context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	size, err := unix.Getxattr(n.path(), attr, dest)
	return uint32(max(size, 0)), fs.ToErrno(err)
}

func (n *node) Setxattr(_ context.Context, attr string, data []byte, flags uint32) syscall.Errno {
	return fs.ToErrno(unix.Setxattr(n.path(), attr, data, int(flags)))
}

func (n *node) Removexattr(_ context.Context, attr string) syscall.Errno {
	return fs.ToErrno(unix.Removexattr(n.path(), attr))
}

func (n *node) Listxattr(_ context.Context, dest []byte) (uint32, syscall.Errno) {
	size, err := unix.Listxattr(n.path(), dest)
	return uint32(max(size, 0)), fs.ToErrno(err)
}
