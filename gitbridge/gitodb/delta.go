package gitodb

import "fmt"

// deltaBytesMax bounds a base, a delta and what they make together, all of which
// are in memory at once. git makes deltas of files of up to 512 MiB; of one of
// 480 there is still room for both its versions.
const deltaBytesMax = 960 << 20

// patch applies a delta to its base (gitformat-pack, "Deltified
// representation"). Nothing is allocated before the whole delta was checked.
func patch(base, delta []byte, bytesMax int64) ([]byte, error) {
	from, rest, ok := deltaSize(delta)
	if !ok || from != int64(len(base)) {
		return nil, fmt.Errorf("%w: a delta for another base", ErrCorrupt)
	}
	size, rest, ok := deltaSize(rest)
	if !ok {
		return nil, fmt.Errorf("%w: a delta without a size", ErrCorrupt)
	}
	if size > bytesMax || size+int64(len(base))+int64(len(delta)) > deltaBytesMax {
		return nil, ErrTooLarge
	}
	if n, ok := play(nil, base, rest); !ok || n != size {
		return nil, fmt.Errorf("%w: a delta that does not fit", ErrCorrupt)
	}
	out := make([]byte, size)
	play(out, base, rest)
	return out, nil
}

// play runs the instructions of a delta into out, or only counts what they
// would give where out is nil.
func play(out, base, delta []byte) (n int64, ok bool) {
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		switch {
		case op&0x80 != 0:
			var at, size int
			at, size, delta, ok = copyArgs(op, delta)
			if !ok || at+size > len(base) {
				return 0, false
			}
			piece = base[at : at+size]
		case op == 0 || int(op) > len(delta):
			return 0, false
		default:
			piece, delta = delta[:op], delta[op:]
		}
		if out != nil {
			copy(out[n:], piece)
		}
		n += int64(len(piece))
	}
	return n, true
}

// copyArgs decodes where a copy instruction begins in the base and how long it
// is. Bytes that are zero are left out; each bit says whether one is there.
func copyArgs(op byte, p []byte) (at, size int, rest []byte, ok bool) {
	var args [7]int
	for i := range args {
		if op&(1<<i) == 0 {
			continue
		}
		if len(p) == 0 {
			return 0, 0, nil, false
		}
		args[i], p = int(p[0]), p[1:]
	}
	at = args[0] | args[1]<<8 | args[2]<<16 | args[3]<<24
	size = args[4] | args[5]<<8 | args[6]<<16
	if size == 0 {
		size = 0x10000
	}
	return at, size, p, at >= 0
}

// deltaSize decodes a size at the head of a delta: seven bits a byte, the low
// ones first.
func deltaSize(p []byte) (n int64, rest []byte, ok bool) {
	for i := 0; i < len(p) && i < 8; i++ {
		n |= int64(p[i]&0x7f) << (7 * i)
		if p[i]&0x80 == 0 {
			return n, p[i+1:], true
		}
	}
	return 0, nil, false
}
