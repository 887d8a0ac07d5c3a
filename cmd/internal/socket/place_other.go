//go:build !linux

package socket

import (
	"errors"
	"fmt"
	"net"
)

// A Place is the directory in which the sockets of the user lie. There is none on
// this system yet, as nothing is watched here.
type Place struct{}

type fileID struct{}

var errSystem = fmt.Errorf("%w: not on this system yet (%w)", ErrUnable, errors.ErrUnsupported)

// Open reports that there is no such place on this system.
func Open(func(string) string, bool) (*Place, error) { return nil, errSystem }

// Claim reports that nothing can be served on this system.
func (p *Place) Claim(string, string) (func(), error) { return nil, errSystem }

// Close closes the place.
func (p *Place) Close() error { return nil }

// Key names a directory as it is now.
func Key(string) (string, error) { return "", errSystem }

// Listen reports that nothing can be served on this system.
func Listen(*Place, string, string) (*Listener, error) { return nil, errSystem }

func (p *Place) look(string) (fileID, error) { return fileID{}, errSystem }

func (p *Place) stands() bool { return false }

func (p *Place) remove(string) {}

func (p *Place) dial(string, string) (*net.UnixConn, string, error) { return nil, "", errSystem }

func ownPeer(*net.UnixConn) (int, error) { return 0, errSystem }

type sight struct{ stirs chan struct{} }

func (s *sight) end() {}
