//go:build linux

package power

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/rpc"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Calls is what the process that serves the disks does for the one that uses
// them. A disk is known by its number.
type Calls struct{ s *server }

// CutCall asks for what a disk holds after a cut.
type CutCall struct {
	Disk    uint64
	At, How int
	Seed    uint64
}

// SaveCall asks for a disk as a file.
type SaveCall struct {
	Disk uint64
	File string
}

var errNoDisk = errors.New("no such disk")

// New makes an empty disk.
func (c *Calls) New(bytes int64, number *uint64) error {
	*number = c.s.add(&disk{now: newImage(bytes)})
	return nil
}

// Remove forgets a disk.
func (c *Calls) Remove(number uint64, _ *bool) error {
	c.s.remove(number)
	return nil
}

// Record begins the log of a disk.
func (c *Calls) Record(number uint64, _ *bool) error {
	d := c.s.disk(number)
	if d == nil {
		return errNoDisk
	}
	d.record()
	return nil
}

// Position says how long the log is.
func (c *Calls) Position(number uint64, at *int) error {
	d := c.s.disk(number)
	if d == nil {
		return errNoDisk
	}
	*at = d.position()
	return nil
}

// Cut makes a disk of what another one holds after a cut.
func (c *Calls) Cut(call CutCall, number *uint64) error {
	d := c.s.disk(call.Disk)
	if d == nil {
		return errNoDisk
	}
	m := d.after(cut{call.At, how(call.How)}, rand.New(rand.NewPCG(call.Seed, uint64(call.At))))
	*number = c.s.add(&disk{now: m})
	return nil
}

// Save writes what a disk holds to a file.
func (c *Calls) Save(call SaveCall, _ *bool) error {
	d := c.s.disk(call.Disk)
	if d == nil {
		return errNoDisk
	}
	return d.image().save(call.File)
}

// disks is the side of the process that uses them.
type disks struct {
	client *rpc.Client
	dir    string // where their files are
}

// mounted is what the socket begins with: before that the kernel asks nothing.
const mounted = 'm'

// connect mounts the disks of the process that started this one. Only that
// process may hold the connection, so this one closes it.
func connect(dir string) (*disks, error) {
	const connection, calls = 3, 4
	defer unix.Close(connection)
	unix.CloseOnExec(calls)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", connection)
	if err := unix.Mount("power", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, fmt.Errorf("mount of FUSE: %w", err)
	}
	socket := os.NewFile(calls, "calls")
	if _, err := socket.Write([]byte{mounted}); err != nil {
		return nil, err
	}
	return &disks{rpc.NewClient(socket), dir}, nil
}

func (d *disks) close() { _ = unix.Unmount(d.dir, unix.MNT_DETACH) }

func (d *disks) file(number uint64) string { return filepath.Join(d.dir, fileName(number)) }

func (d *disks) add(bytes int64) (number uint64, err error) {
	err = d.client.Call("Disks.New", bytes, &number)
	return number, err
}

func (d *disks) cut(number uint64, c cut, seed uint64) (after uint64, err error) {
	err = d.client.Call("Disks.Cut", CutCall{number, c.at, int(c.how), seed}, &after)
	return after, err
}

func (d *disks) record(number uint64) error { return d.client.Call("Disks.Record", number, new(bool)) }

func (d *disks) remove(number uint64) error { return d.client.Call("Disks.Remove", number, new(bool)) }

func (d *disks) position(number uint64) (at int, err error) {
	err = d.client.Call("Disks.Position", number, &at)
	return at, err
}

func (d *disks) save(number uint64, file string) error {
	return d.client.Call("Disks.Save", SaveCall{number, file}, new(bool))
}
