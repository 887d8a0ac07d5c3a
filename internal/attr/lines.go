package attr

import "bytes"

// endMark is an old end-of-file mark, which counts for nothing at the end.
const endMark = 0x1a

// A census counts what git looks at to tell text from binary.
type census struct {
	crlf, loneCR, loneLF   int
	nul, printable, others int
}

func take(data []byte) census {
	var n census
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\r' && i+1 < len(data) && data[i+1] == '\n':
			n.crlf++
			i++
		case c == '\r':
			n.loneCR++
		case c == '\n':
			n.loneLF++
		case c == 0:
			n.nul++
			n.others++
		case c == '\b' || c == '\t' || c == '\f' || c == 0x1b:
			n.printable++
		case c < ' ' || c == 0x7f:
			n.others++
		default:
			n.printable++
		}
	}
	if len(data) > 0 && data[len(data)-1] == endMark {
		n.others--
	}
	return n
}

// binary is git's guess: a NUL, a lone carriage return, or more than one in 128
// that is not printable.
func (n census) binary() bool {
	return n.loneCR > 0 || n.nul > 0 || n.printable>>7 < n.others
}

// HasCRLF reports whether a blob is text with CRLF line ends by git's rule. A
// file whose blob in the index is so keeps its line ends under text=auto and
// core.autocrlf.
func HasCRLF(blob []byte) bool {
	if bytes.IndexByte(blob, '\r') < 0 {
		return false
	}
	n := take(blob)
	return n.crlf > 0 && !n.binary()
}

// convertLines turns CRLF into LF where the conversion says so.
func (v Conversion) convertLines(data []byte, indexHasCR func() (bool, error)) ([]byte, error) {
	if v.lines == linesBinary || len(data) == 0 || !v.safe && bytes.IndexByte(data, '\r') < 0 {
		return data, nil
	}
	convert, err := v.decide(take(data), indexHasCR)
	if err != nil {
		return nil, err
	}
	if !convert {
		return data, nil
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil
}

// decide says whether the line ends of a file that holds n are converted.
func (v Conversion) decide(n census, indexHasCR func() (bool, error)) (convert bool, err error) {
	convert = n.crlf > 0
	if v.lines.auto() {
		if n.binary() {
			return false, nil
		}
		if convert && indexHasCR != nil {
			has, err := indexHasCR()
			if err != nil {
				return false, err
			}
			convert = !has
		}
	}
	if v.safe && !v.survives(n, convert) {
		return false, ErrUnsafe
	}
	return convert, nil
}

// survives reports whether line ends come back as they were when a file that
// holds n is stored and checked out again.
func (v Conversion) survives(n census, converted bool) bool {
	after := n
	if converted {
		after.loneLF += after.crlf
		after.crlf = 0
	}
	if v.outCRLF() && after.loneLF > 0 && !(v.lines.auto() && (after.loneCR > 0 || after.crlf > 0 || after.binary())) {
		after.crlf += after.loneLF
		after.loneLF = 0
	}
	return (n.crlf == 0 || after.crlf > 0) && (n.loneLF == 0 || after.loneLF > 0)
}

func (v Conversion) outCRLF() bool {
	switch v.lines {
	case linesTextCRLF, linesAutoCRLF:
		return true
	case linesText, linesAuto:
		return v.crlf
	}
	return false
}
