package cas

// mappedBytes is about how much of a file that is read stays in the memory of this
// process. Of several open files of a store it holds for each.
const mappedBytes = 40 << 20

// aroundBytes is about what of a mapped file comes into memory with one page that
// is read: the system brings in its neighbours too.
const aroundBytes = 64 << 10

// A residence is what is known of how much of a mapped file is in the memory of this
// process.
type residence struct {
	touched int // about how many bytes of its pages, at most
	others  int // how many bytes of other files are, by the last look
}

// touch notes that about so many bytes of the mapped file were read. What the system
// maps of the file counts as memory of this process for as long as the file is
// mapped, and that is as long as the process lives, or one long transaction. When it
// is much, all of it is given back; what is read again is taken from the system's
// memory of the file, or from the disk. A file that is kept open for the next reader
// keeps the count. What was counted may have been in memory before, and each page that
// comes back costs some microseconds: so the system is asked first how much there is. It
// counts all files of the process, the program itself among them: how much the others
// take up is seen when nothing of this one is left.
//
// The transaction makes this safe: while there is one, bbolt maps the file nowhere
// else, and what was the file's last byte when it began is mapped.
func (f *file) touch(n, most int) {
	r := &f.resident
	if r.touched += aroundBytes + n; r.touched < most {
		return
	}
	is := mappedNow()
	r.others = min(r.others, max(is, 0))
	if mine := is - r.others; is >= 0 && mine < most {
		r.touched = min(mine, most-most/4)
		return
	}
	giveBack(f.db.Info().Data, uintptr(f.used))
	*r = residence{others: max(mappedNow(), 0)}
}
