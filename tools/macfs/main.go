// Macfs mounts a directory as a file system that takes names as those of macOS do: names
// that differ in case alone, or in how an accent is composed, are one name. Listings show
// them as HFS+ keeps them, decomposed (NFD), in the case in which they were made. The
// files lie in a directory of the system below it.
//
//	macfs BACKING MOUNTPOINT
//
// It runs until it gets SIGINT or SIGTERM, or is unmounted. It is there for tests alone:
// every name costs a look at a whole directory if it is not there as it is spelt.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: macfs BACKING MOUNTPOINT")
		os.Exit(2)
	}
	if err := mount(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "macfs:", err)
		os.Exit(1)
	}
}

func mount(backing, at string) error {
	fd, err := openAt(backing)
	if err != nil {
		return err
	}
	root := &node{fd: fd}
	server, err := fs.Mount(at, root, &fs.Options{
		MountOptions: fuse.MountOptions{
			AllowOther: os.Geteuid() == 0, FsName: "macfs", Name: "macfs", DirectMount: true,
			Options: []string{"default_permissions"},
		},
	})
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for range stop {
			if err := server.Unmount(); err != nil {
				fmt.Fprintln(os.Stderr, "macfs:", err)
			}
		}
	}()
	server.Wait()
	return nil
}
