package attr

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// singleBytes are the encodings of one byte a character, by their IANA names,
// whose tables in golang.org/x/text were compared with those of the iconv that
// git uses and have no difference. What neither or only one of them defines is
// refused.
var singleBytes = []string{
	"US-ASCII",
	"ISO_8859-1:1987", "ISO_8859-2:1987", "ISO_8859-3:1988", "ISO_8859-4:1988", "ISO_8859-5:1988",
	"ISO_8859-6:1987", "ISO_8859-7:1987", "ISO_8859-8:1988", "ISO_8859-9:1989", "ISO-8859-10",
	"ISO-8859-13", "ISO-8859-14", "ISO-8859-15", "ISO-8859-16",
	"windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1256", "windows-1257",
	"KOI8-R", "IBM437", "IBM850", "IBM852", "IBM855", "IBM860", "IBM862", "IBM863", "IBM865", "IBM866",
}

func isUTF8(name string) bool { return name == "" || utfName(name) == "8" }

// utfName returns what follows "UTF" or "UTF-" in a name, in upper case, "" if
// it does not begin so.
func utfName(name string) string {
	rest, ok := strings.CutPrefix(strings.ToUpper(name), "UTF")
	if !ok {
		return ""
	}
	return strings.TrimPrefix(rest, "-")
}

// toUTF8 converts data from a named encoding.
func toUTF8(name string, data []byte) ([]byte, error) {
	switch utf := utfName(name); utf {
	case "16", "32", "16LE", "16BE", "32LE", "32BE", "16LE-BOM":
		return fromUTF(name, utf, data)
	}
	if strings.EqualFold(name, "latin-1") { // git's own addition to iconv's names
		name = "ISO-8859-1"
	}
	enc, err := ianaindex.IANA.Encoding(name)
	if err != nil || enc == nil {
		return nil, fmt.Errorf("%w: %q", ErrEncoding, name)
	}
	if iana, err := ianaindex.IANA.Name(enc); err != nil || !slices.Contains(singleBytes, iana) {
		return nil, fmt.Errorf("%w: %q", ErrEncoding, name)
	}
	out, err := enc.NewDecoder().Bytes(data)
	if err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return nil, fmt.Errorf("%w: a byte that is no character in %q", ErrEncoding, name)
	}
	return out, nil
}

// An order of bytes in UTF-16 or UTF-32, and the mark of it that may head a text.
type order struct {
	encoding.Encoding
	mark string
}

var (
	little16 = order{unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "\xff\xfe"}
	big16    = order{unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "\xfe\xff"}
	little32 = order{utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "\xff\xfe\x00\x00"}
	big32    = order{utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), "\x00\x00\xfe\xff"}
)

// fromUTF converts UTF-16 and UTF-32. git wants a byte order mark where the
// name leaves the order open, and none where the name gives it.
func fromUTF(name, utf string, data []byte) ([]byte, error) {
	little, big := little16, big16
	if utf[:2] == "32" {
		little, big = little32, big32
	}
	var marked *order
	for _, o := range []*order{&little, &big} {
		if bytes.HasPrefix(data, []byte(o.mark)) {
			marked = o
		}
	}
	in := little
	switch utf[2:] {
	case "", "LE-BOM":
		if marked == nil && utf[2:] == "" {
			return nil, fmt.Errorf("%w: %q needs a byte order mark", ErrContent, name)
		}
		if marked == nil { // iconvs differ about the order
			return nil, fmt.Errorf("%w: %q without a byte order mark", ErrEncoding, name)
		}
		in, data = *marked, data[len(marked.mark):]
	case "BE":
		in = big
		fallthrough
	default:
		if marked != nil {
			return nil, fmt.Errorf("%w: %q must not have a byte order mark", ErrContent, name)
		}
	}
	out, err := in.NewDecoder().Bytes(data)
	if err == nil { // what is no character becomes another, and does not come back
		var back []byte
		if back, err = in.NewEncoder().Bytes(out); err == nil && bytes.Equal(back, data) {
			return out, nil
		}
	}
	return nil, fmt.Errorf("%w: not valid %q", ErrContent, name)
}
