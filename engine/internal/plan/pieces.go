package plan

import (
	"slices"

	"github.com/seed-82afce7a/rewind/internal/apply"
)

// pieceSteps is how many steps a piece has at most.
const pieceSteps = 4 << 10

// pieces are a list of steps that grows. There may be a million, and append would copy what
// there is after each quarter, into memory that is fresh each time.
type pieces [][]apply.Step

func (p *pieces) add(s apply.Step) {
	last := len(*p) - 1
	if last < 0 || len((*p)[last]) == cap((*p)[last]) {
		room := 16
		if last >= 0 {
			room = min(2*cap((*p)[last]), pieceSteps)
		}
		*p = append(*p, make([]apply.Step, 0, room))
		last++
	}
	(*p)[last] = append((*p)[last], s)
}

// take returns all of them as one list, and leaves none.
func (p *pieces) take() []apply.Step {
	defer func() { *p = nil }()
	if len(*p) == 1 {
		return (*p)[0]
	}
	return slices.Concat(*p...)
}
