package show

import (
	"fmt"
	"io"
)

// An Output is where results go. It remembers that they could not be written:
// a caller who does not get his answer must not be told that all is well.
type Output struct {
	io.Writer
	err error
}

// Write passes on, and remembers the first failure.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// Failed returns why results were lost, nil if they were not. A reader that
// went away did not want them.
func (o *Output) Failed() error {
	if IgnoreClosed(o.err) == nil {
		return nil
	}
	return fmt.Errorf("what was to be told of it could not be written: %w", o.err)
}

// Behind returns the writer behind an output, which may be a terminal.
func Behind(stream any) any {
	if o, ok := stream.(*Output); ok {
		return o.Writer
	}
	return stream
}

// BehindWriter is [behind] for who writes there himself.
func BehindWriter(w io.Writer) io.Writer {
	inner, _ := Behind(w).(io.Writer)
	return inner
}
