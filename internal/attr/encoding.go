package attr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/ianaindex"
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

// fromUTF converts UTF-16 and UTF-32. git wants a byte order mark where the
// name leaves the order open, and none where the name gives it.
func fromUTF(name, utf string, data []byte) ([]byte, error) {
	size := 2
	if utf[:2] == "32" {
		size = 4
	}
	mark := markOf(data, size)
	var order binary.ByteOrder = binary.LittleEndian
	switch utf[2:] {
	case "", "LE-BOM":
		if mark == nil && utf[2:] == "" {
			return nil, fmt.Errorf("%w: %q needs a byte order mark", ErrContent, name)
		}
		if mark == nil { // iconvs differ about the order
			return nil, fmt.Errorf("%w: %q without a byte order mark", ErrEncoding, name)
		}
		order, data = mark, data[size:]
	case "BE":
		order = binary.BigEndian
		fallthrough
	default:
		if mark != nil {
			return nil, fmt.Errorf("%w: %q must not have a byte order mark", ErrContent, name)
		}
	}
	out, ok := decode(data, size, order)
	if !ok {
		return nil, fmt.Errorf("%w: not valid %q", ErrContent, name)
	}
	return out, nil
}

// markOf returns the order that a byte order mark at the head of data gives,
// nil if there is none.
func markOf(data []byte, size int) binary.ByteOrder {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if len(data) >= size && unit(data, size, order) == 0xfeff {
			return order
		}
	}
	return nil
}

func unit(data []byte, size int, order binary.ByteOrder) rune {
	if size == 2 {
		return rune(order.Uint16(data))
	}
	return rune(order.Uint32(data))
}

// decode is strict: what is not a character or cut short fails.
func decode(data []byte, size int, order binary.ByteOrder) ([]byte, bool) {
	out := make([]byte, 0, len(data))
	for len(data) >= size {
		r := unit(data, size, order)
		data = data[size:]
		if size == 2 && utf16.IsSurrogate(r) && len(data) >= size {
			r = utf16.DecodeRune(r, unit(data, size, order))
			data = data[size:]
			if r == utf8.RuneError {
				return nil, false
			}
		}
		if !utf8.ValidRune(r) {
			return nil, false
		}
		out = utf8.AppendRune(out, r)
	}
	return out, len(data) == 0
}
