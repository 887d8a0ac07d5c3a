package watched

import "errors"

// Doubt makes the tree believe that something was missed, as after an overflow.
func (t *Tree) Doubt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop(errors.New("a test").Error())
}
