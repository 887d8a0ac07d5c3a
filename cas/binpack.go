package cas

const (
	// A leaf page of bbolt begins with its own head, and has for each row a
	// head of its own and the key.
	leafRowBytes = 16 + 8
	// smallRow: of rows of up to so many bytes three and more share a page.
	smallRow = (pageSize-pageHeaderBytes)/3 - leafRowBytes
	// partnersMax is among how many rows the partner of one is looked for: it
	// is to be of its neighbourhood, since both are read from the same pages.
	partnersMax = 64
)

// binPack orders frames so that their rows fill the pages of the bucket data.
// bbolt puts small rows one behind another on a page. Of those that are not it
// puts two on a run of pages, and leaves the rest of the last one empty: half a
// page, on average. So each gets the partner with which that is the least. The
// small ones come first, and of them the smallest last; then the largest of all:
// were the last small one alone on its page, or the first large one still fit on
// it, bbolt would pair all others differently. Where that happens all the same it
// costs space, and nothing else.
func binPack(frames []*frame) []*frame {
	out := make([]*frame, 0, len(frames))
	var large []*frame
	for _, f := range frames {
		if len(f.row) <= smallRow {
			out = append(out, f)
		} else {
			large = append(large, f)
		}
	}
	for i := range out {
		if last := len(out) - 1; len(out[i].row) < len(out[last].row) {
			out[i], out[last] = out[last], out[i]
		}
	}
	for i := range large {
		if len(large[i].row) > len(large[0].row) {
			large[i], large[0] = large[0], large[i]
		}
	}
	taken := make([]bool, len(large))
	for i, f := range large {
		if taken[i] {
			continue
		}
		out = append(out, f)
		if j := partner(large, taken, i); j > i {
			taken[j] = true
			out = append(out, large[j])
		}
	}
	return out
}

// partner returns which of the next rows that are not taken leaves the least of
// a page empty, together with row i; i itself if there is none.
func partner(large []*frame, taken []bool, i int) int {
	best, least, seen := i, pageSize, 0
	for j := i + 1; j < len(large) && seen < partnersMax; j++ {
		if taken[j] {
			continue
		}
		seen++
		if n := unfilled(len(large[i].row) + len(large[j].row)); n < least {
			best, least = j, n
		}
	}
	return best
}

// unfilled returns how much of a run of pages two rows leave empty that have n
// bytes together.
func unfilled(n int) int {
	used := (pageHeaderBytes + 2*leafRowBytes + n) % pageSize
	return (pageSize - used) % pageSize
}
