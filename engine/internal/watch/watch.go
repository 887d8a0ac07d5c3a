// Package watch notes which names below a directory may have changed.
//
// It promises one thing of each directory that was added: whatever is done there,
// by whomever, after [Watcher.Add] returned and before [Watcher.Take] is called is
// among what Take returns; or Take fails, and then nothing is known any more. It
// may return more than that. What it cannot see: a file that is written through a
// name in a directory which was not added, or through a mapping of memory until
// that ends. Where the system is late ([Late]), it does not see either what is
// written to a file until that is closed.
//
// It knows no rules, opens no file but directories, and writes nothing but a temporary
// directory of its own, in which a system has to prove what is said of it.
package watch

import (
	"errors"
	"fmt"
)

// ErrDoubt is wrapped by the errors of [Watcher.Take]: something may have been
// missed. The watcher is of no more use; close it.
var ErrDoubt = errors.New("changes may have been missed")

// ErrUnable is wrapped by the errors of [New] and [Watcher.Add] where watching is
// not possible here. The text says what can be done about it.
var ErrUnable = errors.New("not possible")

func doubt(why string) error { return fmt.Errorf("%w: %s", ErrDoubt, why) }

func unable(why string, err error) error { return fmt.Errorf("%w: %s: %w", ErrUnable, why, err) }
