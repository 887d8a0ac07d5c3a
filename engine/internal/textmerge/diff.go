package textmerge

import (
	"context"
	"math"
)

// A script says which lines of two texts have no counterpart in the other one.
// All others stand in the same order in both.
type script struct{ a, b []bool }

// compare finds a short script from a to b, of which the groups lie as git lays
// them. When the context has ended it is no such script.
func compare(ctx context.Context, a, b []int) script {
	s := script{make([]bool, len(a)), make([]bool, len(b))}
	from, end := 0, 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	for end < min(len(a), len(b))-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	mid := search{ctx: ctx, a: strip(a[from:len(a)-end], b, s.a[from:])}
	mid.b = strip(b[from:len(b)-end], a, s.b[from:])
	mid.run()
	if ctx.Err() != nil {
		return s
	}
	for _, l := range mid.a {
		s.a[from+l.at] = l.changed
	}
	for _, l := range mid.b {
		s.b[from+l.at] = l.changed
	}
	slide(ctx, a, s.a, s.b)
	slide(ctx, b, s.b, s.a)
	return s
}

// A line is one that both texts have, with its place.
type line struct {
	id, at  int
	changed bool
}

// strip leaves out the lines that the other text does not have anywhere: they are
// changed, and no search can use them.
func strip(list, other []int, changed []bool) []line {
	there := make(map[int]bool, len(other))
	for _, id := range other {
		there[id] = true
	}
	out := make([]line, 0, len(list))
	for at, id := range list {
		if there[id] {
			out = append(out, line{id: id, at: at})
		} else {
			changed[at] = true
		}
	}
	return out
}

// A search marks what differs between two lists of lines: E. Myers, "An O(ND)
// Difference Algorithm and Its Variations", 1986, in linear space. A middle point
// of a shortest path divides the lists in two halves, and so on.
type search struct {
	ctx  context.Context
	a, b []line

	ahead, back []int // by diagonal: how far it was followed from either end of a box
	zero        int   // where diagonal 0 is in them
	dear        int   // so many differences are not searched for a shortest path
	rounds      int   // of all searches
	ended       bool  // the context has
}

func (s *search) run() {
	n := len(s.a) + len(s.b) + 3
	s.ahead, s.back, s.zero = make([]int, n), make([]int, n), len(s.b)+1
	s.dear = dearMin
	for s.dear*s.dear < n {
		s.dear *= 2
	}
	s.box(0, len(s.a), 0, len(s.b))
}

// dearMin keeps the search exact for texts that people edit.
const dearMin = 256

// box marks what differs between a[x:xEnd] and b[y:yEnd].
func (s *search) box(x, xEnd, y, yEnd int) {
	for {
		for x < xEnd && y < yEnd && s.a[x].id == s.b[y].id {
			x, y = x+1, y+1
		}
		for x < xEnd && y < yEnd && s.a[xEnd-1].id == s.b[yEnd-1].id {
			xEnd, yEnd = xEnd-1, yEnd-1
		}
		if x == xEnd || y == yEnd {
			break
		}
		midX, midY := s.middle(x, xEnd, y, yEnd)
		if s.ended {
			return
		}
		if s.box(x, midX, y, midY); s.ended {
			return
		}
		x, y = midX, midY
	}
	for ; x < xEnd; x++ {
		s.a[x].changed = true
	}
	for ; y < yEnd; y++ {
		s.b[y].changed = true
	}
}

// A front is how far one of the two searches of a box has come on each diagonal.
type front struct {
	at        []int
	low, high int // the diagonals that it has reached
	none      int // worse than any place
}

// widen lets a front reach the next diagonals of the box on both sides. Those that
// it cannot reach any more it leaves.
func (s *search) widen(f *front, low, high int) {
	if f.low > low {
		f.low--
		f.at[s.zero+f.low-1] = f.none
	} else {
		f.low++
	}
	if f.high < high {
		f.high++
		f.at[s.zero+f.high+1] = f.none
	} else {
		f.high--
	}
}

// middle returns a point in the middle of a shortest path through a box, which is
// neither of its ends. Two searches go towards each other, one difference a round.
// If there are very many, it is some point that many equal lines lead to.
func (s *search) middle(x, xEnd, y, yEnd int) (midX, midY int) {
	first, last := x-y, xEnd-yEnd // their diagonals
	low, high := x-yEnd, xEnd-y   // those of the box
	odd := (first-last)&1 != 0
	ahead := front{s.ahead, first, first, -1}
	back := front{s.back, last, last, math.MaxInt}
	s.ahead[s.zero+first], s.back[s.zero+last] = x, xEnd
	for round := 1; ; round++ {
		if s.rounds++; s.rounds%lookRounds == 0 && s.ctx.Err() != nil {
			s.ended = true
			return x, y
		}
		s.widen(&ahead, low, high)
		for k := ahead.high; k >= ahead.low; k -= 2 {
			at := s.forward(k, xEnd, yEnd)
			if odd && k >= back.low && k <= back.high && s.back[s.zero+k] <= at {
				return at, at - k
			}
		}
		s.widen(&back, low, high)
		for k := back.high; k >= back.low; k -= 2 {
			at := s.backward(k, x, y)
			if !odd && k >= ahead.low && k <= ahead.high && at <= s.ahead[s.zero+k] {
				return at, at - k
			}
		}
		if round >= s.dear {
			return s.furthest(ahead, xEnd, yEnd)
		}
	}
}

// forward goes on along a diagonal, from the better one of its neighbours.
func (s *search) forward(k, xEnd, yEnd int) int {
	at := max(s.ahead[s.zero+k-1]+1, s.ahead[s.zero+k+1])
	for at < xEnd && at-k < yEnd && s.a[at].id == s.b[at-k].id {
		at++
	}
	s.ahead[s.zero+k] = at
	return at
}

// backward does so from the end.
func (s *search) backward(k, x, y int) int {
	at := min(s.back[s.zero+k-1], s.back[s.zero+k+1]-1)
	for at > x && at-k > y && s.a[at-1].id == s.b[at-k-1].id {
		at--
	}
	s.back[s.zero+k] = at
	return at
}

// lookRounds is after how many rounds the context is looked at. A round goes over some
// thousand diagonals at most.
const lookRounds = 64

// furthest returns the point that is the furthest from the beginning.
func (s *search) furthest(f front, xEnd, yEnd int) (midX, midY int) {
	best := -1
	for k := f.high; k >= f.low; k -= 2 {
		at := min(s.ahead[s.zero+k], xEnd, yEnd+k)
		if at+at-k > best {
			best, midX, midY = at+at-k, at, at-k
		}
	}
	return midX, midY
}
