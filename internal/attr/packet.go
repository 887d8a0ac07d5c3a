package attr

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// packetDataMax is the most that one packet of git's pkt-line format carries.
const packetDataMax = 65516

// writePackets writes each text as a packet, then a flush packet.
func writePackets(w io.Writer, texts ...string) error {
	var b bytes.Buffer
	for _, s := range texts {
		fmt.Fprintf(&b, "%04x%s", len(s)+4, s)
	}
	b.WriteString("0000")
	_, err := w.Write(b.Bytes())
	return err
}

// writeContent writes data in as many packets as it takes, then a flush packet.
func writeContent(w io.Writer, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), packetDataMax)
		if _, err := fmt.Fprintf(w, "%04x", n+4); err != nil {
			return err
		}
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return writePackets(w)
}

// A packetReader reads what a filter answers. It trusts nothing: whatever is
// not a packet is errProtocol.
type packetReader struct{ r *bufio.Reader }

func newPacketReader(r io.Reader) packetReader {
	return packetReader{bufio.NewReaderSize(r, 1<<16)}
}

// next appends the data of the next packet to buf; more is false for a flush
// packet.
func (p packetReader) next(buf []byte) (_ []byte, more bool, err error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return buf, false, fmt.Errorf("%w: %w", errProtocol, err)
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	if err != nil || n > 0 && n < 4 || n > packetDataMax+4 {
		return buf, false, fmt.Errorf("%w: packet length %q", errProtocol, head[:])
	}
	if n == 0 {
		return buf, false, nil
	}
	at := len(buf)
	buf = append(buf, make([]byte, n-4)...)
	if _, err := io.ReadFull(p.r, buf[at:]); err != nil {
		return buf, false, fmt.Errorf("%w: %w", errProtocol, err)
	}
	return buf, true, nil
}

// linesMax is the longest list that a filter may send.
const linesMax = 1000

// lines reads text packets up to a flush packet.
func (p packetReader) lines() ([]string, error) {
	var list []string
	for len(list) <= linesMax {
		line, more, err := p.next(nil)
		if err != nil || !more {
			return list, err
		}
		list = append(list, strings.TrimSuffix(string(line), "\n"))
	}
	return nil, fmt.Errorf("%w: a list without end", errProtocol)
}

// content reads data packets up to a flush packet.
func (p packetReader) content() ([]byte, error) {
	data := []byte{}
	for {
		var more bool
		var err error
		if data, more, err = p.next(data); err != nil || !more {
			return data, err
		}
	}
}
