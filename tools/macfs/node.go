package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

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

// at leads to what lies under a name, in the spelling that it has there; a name that is
// not there is one that can be made.
func (n *node) at(name string) string {
	name = norm.NFD.String(name)
	if n.spelt == nil {
		n.spelt = map[string]string{}
		list, _ := os.ReadDir(pathOf(n.fd))
		for _, e := range list {
			n.spelt[fold(e.Name())] = e.Name()
		}
	}
	if there, ok := n.spelt[fold(name)]; ok {
		name = there
	}
	return n.in(name)
}

// spell notes that a path of the directory is there, or that it is not.
func (n *node) spell(path string, there bool) {
	name := filepath.Base(path)
	if there {
		n.spelt[fold(name)] = name
	} else if n.spelt[fold(name)] == name {
		delete(n.spelt, fold(name))
	}
}

func fold(name string) string { return norm.NFD.String(cases.Fold().String(norm.NFD.String(name))) }

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
	names.Lock()
	defer names.Unlock()
	return n.child(ctx, n.at(name), out)
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.with(func(fd int) error {
		var st syscall.Stat_t
		err := syscall.Fstat(fd, &st)
		out.FromStat(&st)
		return err
	})
}

// Statx tells also when the file was made.
func (n *node) Statx(_ context.Context, _ fs.FileHandle, _, mask uint32, out *fuse.StatxOut) syscall.Errno {
	return n.with(func(fd int) error {
		var st unix.Statx_t
		err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, int(mask), &st)
		out.FromStatx(&st)
		return err
	})
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	errno := n.with(func(fd int) (err error) {
		path := pathOf(fd)
		if m, ok := in.GetMode(); ok {
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
			err = os.Chown(path, int(int32(uid)), int(int32(gid)))
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
			err = unix.UtimesNanoAt(unix.AT_FDCWD, path, times, 0)
		}
		return err
	})
	if errno != 0 {
		return errno
	}
	return n.Getattr(ctx, f, out)
}

func (n *node) Open(_ context.Context, flags uint32) (f fs.FileHandle, _ uint32, errno syscall.Errno) {
	errno = n.with(func(handle int) error {
		fd, err := unix.Open(pathOf(handle), int(flags)&^(unix.O_NOFOLLOW|unix.O_APPEND)|unix.O_CLOEXEC, 0)
		if err == nil {
			f = fs.NewLoopbackFile(fd)
		}
		return err
	})
	return f, 0, errno
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	names.Lock()
	defer names.Unlock()
	path := n.at(name)
	fd, err := unix.Open(path, int(flags)&^unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	kid, errno := n.made(ctx, path, out, err)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return kid, fs.NewLoopbackFile(fd), 0, 0
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.make(ctx, name, out, func(path string) error { return unix.Mkdir(path, mode) })
}

func (n *node) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.make(ctx, name, out, func(path string) error { return unix.Mknod(path, mode, int(dev)) })
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.make(ctx, name, out, func(path string) error { return unix.Symlink(target, path) })
}

func (n *node) make(ctx context.Context, name string, out *fuse.EntryOut, make func(path string) error) (*fs.Inode, syscall.Errno) {
	names.Lock()
	defer names.Unlock()
	path := n.at(name)
	return n.made(ctx, path, out, make(path))
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (kid *fs.Inode, errno syscall.Errno) {
	names.Lock()
	path := n.at(name)
	names.Unlock()
	errno = target.(*node).with(func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, pathOf(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	})
	if errno != 0 {
		return nil, errno
	}
	names.Lock()
	defer names.Unlock()
	n.spell(path, true)
	return n.child(ctx, path, out)
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return n.remove(name, unix.Unlink)
}
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno { return n.remove(name, unix.Rmdir) }

func (n *node) remove(name string, remove func(string) error) syscall.Errno {
	names.Lock()
	defer names.Unlock()
	path := n.at(name)
	kid := knownAt(path)
	kid.goes(n, path)
	err := remove(path)
	if err == nil {
		kid.lost(n, path)
		n.spell(path, false)
	}
	return fs.ToErrno(err)
}

// Rename gives a name another spelling too.
func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	names.Lock()
	defer names.Unlock()
	old, dir := n.at(name), to.(*node)
	target := dir.at(newName)
	if old == target && flags&unix.RENAME_EXCHANGE == 0 {
		target, flags = dir.in(norm.NFD.String(newName)), 0
	}
	moves, other := knownAt(old), knownAt(target)
	if flags&unix.RENAME_EXCHANGE == 0 && other != moves {
		other.goes(dir, target)
	}
	if err := unix.Renameat2(unix.AT_FDCWD, old, unix.AT_FDCWD, target, uint(flags)); err != nil {
		return fs.ToErrno(err)
	}
	moves.lost(n, old)
	other.lost(dir, target)
	moves.found(dir, target)
	if flags&unix.RENAME_EXCHANGE != 0 {
		other.found(n, old)
	} else {
		n.spell(old, false)
		dir.spell(target, true)
	}
	return 0
}

func (n *node) Readlink(context.Context) (to []byte, errno syscall.Errno) {
	errno = n.with(func(fd int) error {
		to = make([]byte, unix.PathMax)
		size, err := unix.Readlinkat(fd, "", to)
		to = to[:max(size, 0)]
		return err
	})
	return to, errno
}

// OpendirHandle gives what lists the directory, and makes its names durable.
func (n *node) OpendirHandle(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	list, errno := fs.NewLoopbackDirStream(pathOf(n.fd))
	return list, 0, errno
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.with(func(fd int) error {
		var st syscall.Statfs_t
		err := syscall.Fstatfs(fd, &st)
		out.FromStatfsT(&st)
		return err
	})
}

func (n *node) Getxattr(_ context.Context, attr string, dest []byte) (size uint32, errno syscall.Errno) {
	errno = n.with(func(fd int) error {
		got, err := unix.Getxattr(pathOf(fd), attr, dest)
		size = uint32(max(got, 0))
		return err
	})
	return size, errno
}

func (n *node) Setxattr(_ context.Context, attr string, data []byte, flags uint32) syscall.Errno {
	return n.with(func(fd int) error { return unix.Setxattr(pathOf(fd), attr, data, int(flags)) })
}

func (n *node) Removexattr(_ context.Context, attr string) syscall.Errno {
	return n.with(func(fd int) error { return unix.Removexattr(pathOf(fd), attr) })
}

func (n *node) Listxattr(_ context.Context, dest []byte) (size uint32, errno syscall.Errno) {
	errno = n.with(func(fd int) error {
		got, err := unix.Listxattr(pathOf(fd), dest)
		size = uint32(max(got, 0))
		return err
	})
	return size, errno
}
