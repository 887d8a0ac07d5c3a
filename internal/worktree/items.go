package worktree

import (
	"slices"
	"strings"

	"github.com/seed-82afce7a/rewind/internal/stattable"
)

const (
	itemsMin = 32
	itemsMax = 1 << 10 // a larger room is not kept
	roomsMax = 64
)

// items returns room for so many items, of a finished directory if there is
// one.
func (w *worker) items(n int) []stattable.Item {
	last := len(w.rooms) - 1
	if last < 0 {
		return make([]stattable.Item, 0, max(n, itemsMin))
	}
	items := w.rooms[last]
	w.rooms = w.rooms[:last]
	return slices.Grow(items[:0], n)
}

// drop keeps the room of a finished directory's items for another.
func (w *worker) drop(c *contents) {
	if len(w.rooms) < roomsMax && cap(c.items) <= itemsMax {
		w.rooms = append(w.rooms, c.items)
	}
}

// sort puts items in order. Files were captured so, and subdirectories came
// behind them in whatever order they were finished.
func (w *worker) sort(items []stattable.Item) {
	n := 1
	for n < len(items) && items[n-1].Name < items[n].Name {
		n++
	}
	if n >= len(items) {
		return
	}
	rest := items[n:]
	slices.SortFunc(rest, func(a, b stattable.Item) int { return strings.Compare(a.Name, b.Name) })
	w.sorted = append(w.sorted[:0], rest...)
	for at, from := len(items)-1, n-1; len(w.sorted) > 0; at-- {
		if last := len(w.sorted) - 1; from < 0 || items[from].Name < w.sorted[last].Name {
			items[at], w.sorted = w.sorted[last], w.sorted[:last]
		} else {
			items[at], from = items[from], from-1
		}
	}
}
