package attr

import (
	"bufio"
	"bytes"
	"io"
)

// Files that do not fit into memory. Their line ends can be converted as they
// are read, twice: whether they are to be is known at the end only.

// LinesOnly reports whether the conversion is of line ends and nothing else, so
// that [Lines] and [CRLFReader] can carry it out.
func (v Conversion) LinesOnly() bool {
	return !v.ident && !v.badCode && v.encoding == "" && (!v.filtered || !v.filter.Required && v.filter.command() == "")
}

// Lines counts what decides about the line ends of a file, whose bytes are
// written to it. The zero Lines has seen none.
type Lines struct {
	n    census
	any  bool
	last byte
}

// Write takes the next bytes. It never fails.
func (l *Lines) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	part := take(p)
	if l.any && l.last == '\r' && p[0] == '\n' {
		l.n.loneCR-- // it was counted at the end of what came before
		part.loneLF--
		part.crlf++
	}
	if l.any && l.last == endMark {
		l.n.others++ // it was not the file's last byte
	}
	l.n.add(part)
	l.any, l.last = true, p[len(p)-1]
	return len(p), nil
}

// CRLF is how many line ends there are that a conversion shortens by a byte.
func (l *Lines) CRLF() int64 { return int64(l.n.crlf) }

// Converts decides, as [Conversion.Clean] does, whether the CRLF line ends of a
// file become LF. Its conversion must be of line ends only.
func (v Conversion) Converts(l *Lines, indexHasCR func() (bool, error)) (bool, error) {
	if v.lines == linesBinary {
		return false, nil
	}
	return v.decide(l.n, indexHasCR)
}

func (n *census) add(o census) {
	n.crlf += o.crlf
	n.loneCR += o.loneCR
	n.loneLF += o.loneLF
	n.nul += o.nul
	n.printable += o.printable
	n.others += o.others
}

// CRLFReader gives the bytes of r with every CRLF as LF.
func CRLFReader(r io.Reader) io.Reader { return &crlfReader{r: bufio.NewReaderSize(r, crlfBytes)} }

const crlfBytes = 64 << 10

type crlfReader struct{ r *bufio.Reader }

func (c *crlfReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	have, err := c.r.Peek(1)
	if err != nil {
		return 0, err
	}
	if have[0] == '\r' {
		two, err := c.r.Peek(2)
		switch {
		case err == nil && two[1] == '\n':
			_, _ = c.r.Discard(1)
		case err != nil && err != io.EOF:
			return 0, err
		}
		p[0], err = c.r.ReadByte()
		return 1, err
	}
	have, _ = c.r.Peek(min(len(p), c.r.Buffered()))
	n := bytes.IndexByte(have, '\r')
	if n < 0 {
		n = len(have)
	}
	return c.r.Read(p[:n])
}
