package textmerge

import "context"

// slide moves the groups of changed lines of one text, where it can be done in
// several ways: if the line behind a group is equal to the first line of it, the
// group may as well lie one line further down. Each goes down as far as it can,
// groups that meet become one, and then it goes back to the last place where the
// other text has a group too, if there is one.
func slide(ctx context.Context, list []int, changed, other []bool) {
	g, o := group{changed: changed}, group{changed: other}
	g.grow()
	o.grow()
	for n := 0; n%lookLines != 0 || ctx.Err() == nil; n++ {
		if g.from < g.to {
			slideOne(list, &g, &o)
		}
		if !g.next() {
			return
		}
		o.next()
	}
}

// slideOne slides one group.
func slideOne(list []int, g, o *group) {
	matching := -1
	for size := -1; size != g.to-g.from; {
		size = g.to - g.from
		for g.from > 0 && list[g.from-1] == list[g.to-1] {
			g.up()
			o.previous()
		}
		matching = -1
		if o.from < o.to {
			matching = g.to
		}
		for g.to < len(list) && list[g.from] == list[g.to] {
			g.down()
			o.next()
			if o.from < o.to {
				matching = g.to
			}
		}
	}
	for matching >= 0 && g.to > matching {
		g.up()
		o.previous()
	}
}

// A group is a run of changed lines, which may be empty. Between two groups lies
// exactly one line that stands in both texts, so the groups of two texts have the
// same numbers.
type group struct {
	changed  []bool
	from, to int
}

// grow takes in what is changed behind the group.
func (g *group) grow() {
	for g.to < len(g.changed) && g.changed[g.to] {
		g.to++
	}
}

// next goes to the group behind the next line, and reports whether there is one.
func (g *group) next() bool {
	if g.to == len(g.changed) {
		return false
	}
	g.from, g.to = g.to+1, g.to+1
	g.grow()
	return true
}

// previous goes to the group before the line that lies before this one.
func (g *group) previous() {
	g.to = g.from - 1
	for g.from = g.to; g.from > 0 && g.changed[g.from-1]; {
		g.from--
	}
}

// up moves the group one line up. What is changed before it then, joins it.
func (g *group) up() {
	g.from, g.to = g.from-1, g.to-1
	g.changed[g.from], g.changed[g.to] = true, false
	for g.from > 0 && g.changed[g.from-1] {
		g.from--
	}
}

// down moves the group one line down. What is changed behind it then, joins it.
func (g *group) down() {
	g.changed[g.from], g.changed[g.to] = false, true
	g.from, g.to = g.from+1, g.to+1
	g.grow()
}
