package acp

import (
	"bufio"
	"errors"
	"io"
)

// lineMax is how much of a line is kept back and read. A longer one is passed on as it
// comes after that; what is known of it is what those bytes say.
const lineMax = 16 << 20

// ToAgent passes on what the editor says until there is no more of it, or nobody takes it.
func (r *Relay) ToAgent(w io.Writer, from io.Reader) error { return pass(w, from, r.fromEditor) }

// ToEditor passes on what the agent says, likewise.
func (r *Relay) ToEditor(w io.Writer, from io.Reader) error { return pass(w, from, r.fromAgent) }

// pass copies line by line, and has each looked at before it goes on. It reads no further
// than what was written, so that one end waits for the other.
func pass(w io.Writer, from io.Reader, look func([]byte)) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for long := false; ; {
		part, err := in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			part = nil
		}
		ends := !errors.Is(err, bufio.ErrBufferFull)
		if !long && len(line) > 0 && (ends || len(line) > lineMax) {
			look(line)
			part, long = line, true
		}
		if len(part) > 0 {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		if ends {
			if cap(line) > 1<<20 { // the next one is not likely to be as long
				line = nil
			}
			line, long = line[:0], false
		}
		if ends && err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
