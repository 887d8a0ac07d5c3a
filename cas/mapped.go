package cas

// mappedBytes is about how much of a file that is read stays in the memory of this
// process. Of several open files of a store it holds for each.
const mappedBytes = 40 << 20

// aroundBytes is about what of a mapped file comes into memory with one page that
// is read: the system brings in its neighbours too.
const aroundBytes = 64 << 10

// touch notes that about so many bytes of the mapped file were read. What the system
// maps of the file counts as memory of this process for as long as the file is
// mapped, and that is as long as the process lives, or one long transaction. When it
// is much, all of it is given back; what is read again is taken from the system's
// memory of the file, or from the disk. A file that is kept open for the next reader
// keeps the count. What was counted may have been in memory before, and each page that
// comes back costs some microseconds: so the system is asked first how much there is.
//
// The transaction makes this safe: while there is one, bbolt maps the file nowhere
// else, and what was the file's last byte when it began is mapped.
func (f *file) touch(n, most int) {
	if f.touched += aroundBytes + n; f.touched < most {
		return
	}
	if is := mappedNow(); is >= 0 && is < most {
		f.touched = min(is, most-most/4)
		return
	}
	f.touched = 0
	giveBack(f.db.Info().Data, uintptr(f.used))
}
