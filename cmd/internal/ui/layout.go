package ui

// A rect is a part of the screen, in cells.
type rect struct{ x, y, w, h int }

func (r rect) has(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// inside is what is within the border.
func (r rect) inside() rect { return rect{r.x + 1, r.y + 1, max(0, r.w-2), max(0, r.h-2)} }

// A pane is a part of the screen that can have the keys.
type pane int

const (
	paneTimeline pane = iota
	paneFiles
	panePatch
	panes
)

// A layout says where the panes are. A pane without a width is not shown.
type layout struct {
	pane  [panes]rect
	about rect // what is known of the chosen snapshot
	foot  rect // the row of hints
	small bool // there is no room for anything
}

const (
	leastWidth, leastHeight = 20, 5 // below that nothing can be shown
	oneWidth, oneHeight     = 50, 14
	columnsWidth            = 76
	threeWidth              = 180
	aboutHeight             = 4
	aboutFrom               = 24 // rows of the screen from which there is room for it
)

// arrange divides a screen: into three columns, two, one, or for the focused pane
// alone, where there is no room or it was asked for.
func arrange(w, h int, focus pane, zoom bool) (l layout) {
	if w < leastWidth || h < leastHeight {
		l.small = true
		return l
	}
	l.foot = rect{0, h - 1, w, 1}
	h--
	switch {
	case zoom || w < oneWidth || h < oneHeight:
		l.pane[focus] = rect{0, 0, w, h}
	case w < columnsWidth:
		l.stack(rect{0, 0, w, h}, focus)
	case w < threeWidth:
		left := min(max(w*2/5, 32), 64)
		l.pane[paneTimeline] = rect{0, 0, left, h}
		right := l.withAbout(rect{left, 0, w - left, h}, h)
		files := min(max(right.h*3/10, 5), 14)
		l.pane[paneFiles] = rect{right.x, right.y, right.w, files}
		l.pane[panePatch] = rect{right.x, right.y + files, right.w, right.h - files}
	default:
		left, middle := min(w*3/10, 84), min(max(w/5, 40), 64)
		l.pane[paneTimeline] = rect{0, 0, left, h}
		l.pane[paneFiles] = l.withAbout(rect{left, 0, middle, h}, h)
		l.pane[panePatch] = rect{left + middle, 0, w - left - middle, h}
	}
	return l
}

// at returns the pane at a cell, and what is within its border.
func (l *layout) at(x, y int) (p pane, inside rect, ok bool) {
	for p, r := range l.pane {
		if r.has(x, y) {
			return pane(p), r.inside(), true
		}
	}
	return 0, rect{}, false
}

// stack lays the panes below one another; the one with the keys is the largest.
func (l *layout) stack(r rect, focus pane) {
	shares := [panes]int{3, 3, 3}
	shares[focus] = 6
	sum, y := 12, r.y
	for p := range panes {
		h := max(4, r.h*shares[p]/sum)
		if p == panes-1 {
			h = r.y + r.h - y
		}
		l.pane[p] = rect{r.x, y, r.w, h}
		y += h
	}
}

// withAbout takes the rows of about from the top of a column, if there are enough.
func (l *layout) withAbout(r rect, h int) rect {
	if h < aboutFrom {
		return r
	}
	l.about = rect{r.x, r.y, r.w, aboutHeight}
	return rect{r.x, r.y + aboutHeight, r.w, r.h - aboutHeight}
}

// A cursor is a place in a list of which a part is shown.
type cursor struct{ at, top int }

// move goes so many rows on, and stays within the list.
func (c *cursor) move(by, rows int) { c.at = min(max(c.at+by, 0), max(rows-1, 0)) }

// draw draws the rows of a list that are seen; the one at the cursor over all else in
// a look of its own.
func (c *cursor) draw(n int, r rect, over look, row func(i int, l look, pointer string) string) []string {
	c.show(n, r.h)
	var rows []string
	for i := c.top; i < min(n, c.top+r.h); i++ {
		l, pointer := usual, " "
		if i == c.at {
			l, pointer = over, "›"
		}
		rows = append(rows, row(i, l, pointer))
	}
	return rows
}

// instead is a sentence in the place of rows.
func instead(r rect, s span) []string {
	var rows []string
	for _, text := range wrap(s.text, r.w-2) {
		rows = append(rows, row(r.w, usual, span{" " + text, s.look}))
	}
	return rows[:min(len(rows), r.h)]
}

// show scrolls so that the place is seen, with some rows around it.
func (c *cursor) show(rows, height int) {
	margin := min(3, max(0, (height-1)/2))
	c.at = min(max(c.at, 0), max(rows-1, 0))
	c.top = min(c.top, c.at-margin)
	c.top = max(c.top, c.at+margin-height+1)
	c.top = max(0, min(c.top, rows-height))
}
