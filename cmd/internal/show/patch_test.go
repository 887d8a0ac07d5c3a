package show

import "testing"

// A patch on a terminal without a pager shows what that would obey; elsewhere it
// has the bytes.
func TestAPatchOnABareTerminalShowsWhatItHides(t *testing.T) {
	for line, want := range map[string]string{
		"+a\tb\n": "+a\tb\n", "+crlf\r\n": "+crlf\r\n", "-\x1b[31m\u009b\u202e\xff\rx": `-\x1b[31m\u009b\u202e\xff\rx`, " ": " ", "": "",
	} {
		if got := string(plainLine([]byte(line))); got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
}
