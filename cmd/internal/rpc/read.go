package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// messageBytesMax is how long a message may be. The longest that make sense are
// lists of paths; more is not kept in memory.
const messageBytesMax = 16 << 20

// errLong is met in place of a line over messageBytesMax, which is read over.
var errLong = errors.New("line too long")

// read takes in lines until the input ends.
func (s *server) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		switch {
		case errors.Is(err, errLong):
			s.refuse(nil, CodeInvalid, fmt.Sprintf("a message may have at most %d bytes", messageBytesMax))
			continue
		case len(bytes.TrimSpace(line)) > 0:
			s.message(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns the next line without its end. With the last bytes of the
// input comes io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > messageBytesMax {
			return nil, skipLine(r, err)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

// skipLine reads over the rest of a line whose last part came with err.
func skipLine(r *bufio.Reader, err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	return errLong // an end of the input is met again by the next read
}

// incoming is a message before it is known to be a request.
type incoming struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// message takes in one line: a request is queued, a cancellation is obeyed at
// once, other notifications are ignored, anything else is refused.
func (s *server) message(line []byte) {
	if !json.Valid(line) {
		s.refuse(nil, CodeParse, "this is not JSON")
		return
	}
	var m incoming
	if err := json.Unmarshal(line, &m); err != nil {
		s.refuse(nil, CodeInvalid, "this is not a JSON-RPC request (batches are not supported)")
		return
	}
	switch {
	case !isID(m.ID):
		s.refuse(nil, CodeInvalid, "the id must be a string or a number")
	case m.JSONRPC != "2.0" || m.Method == "":
		s.refuse(m.ID, CodeInvalid, `a request has "jsonrpc":"2.0" and a method`)
	case len(m.ID) == 0:
		s.notified(m)
	case !isObject(m.Params):
		s.refuse(m.ID, CodeParams, "params must be an object")
	default:
		if !s.take(&Request{ID: m.ID, Method: m.Method, Params: m.Params, server: s}) {
			s.refuse(m.ID, CodeInvalid, "a request with this id is not answered yet")
		}
	}
}

// notified obeys a cancellation; other notifications ask for nothing.
func (s *server) notified(m incoming) {
	var p struct {
		ID        json.RawMessage `json:"id"`
		RequestID json.RawMessage `json:"requestId"` // of the Model Context Protocol
	}
	if len(m.Params) == 0 || json.Unmarshal(m.Params, &p) != nil {
		return
	}
	switch m.Method {
	case "cancel":
		s.cancel(p.ID)
	case "notifications/cancelled":
		s.cancel(p.RequestID)
	}
}

// refuse answers what is no request. Without a known id the answer has id null.
func (s *server) refuse(id json.RawMessage, code int, why string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	s.send(response{JSONRPC: "2.0", ID: id, Error: &Error{Code: code, Message: why}})
}

// isID reports whether a raw value may be an id, or is missing.
func isID(id json.RawMessage) bool {
	return len(id) == 0 || id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9'
}

func isObject(params json.RawMessage) bool {
	return len(params) == 0 || params[0] == '{' || string(params) == "null"
}
