package attr

import "bytes"

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
	if len(data) > 0 && data[len(data)-1] == 0x1a { // an old end-of-file mark
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
	n := take(data)
	convert := n.crlf > 0
	if v.lines.auto() {
		if n.binary() {
			return data, nil
		}
		if convert && indexHasCR != nil {
			has, err := indexHasCR()
			if err != nil {
				return nil, err
			}
			convert = !has
		}
	}
	if v.safe && !v.survives(n, convert) {
		return nil, ErrUnsafe
	}
	if !convert {
		return data, nil
	}
	return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), nil
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
