package told

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// The actions of FILE_NOTIFY_INFORMATION, as in
// https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-file_notify_information.
const (
	actionAdded    = 1
	actionRemoved  = 2
	actionModified = 3
	actionOldName  = 4
	actionNewName  = 5
)

// Records calls tell for each record that ReadDirectoryChangesW has written. It reports
// false if one is of an unknown form. A name that no path of a snapshot can have is told
// with what stands for the letters that are none.
func Records(p []byte, tell func(path string, kind Kind)) bool {
	const head = 12
	le := binary.LittleEndian
	for {
		if len(p) < head {
			return false
		}
		next, action, size := int(le.Uint32(p)), le.Uint32(p[4:]), int(le.Uint32(p[8:]))
		if size > len(p)-head || size%2 != 0 || next != 0 && (next < head+size || next > len(p)) {
			return false
		}
		name := make([]uint16, size/2)
		for i := range name {
			name[i] = le.Uint16(p[head+2*i:])
		}
		kind := Moved
		switch action {
		case actionModified:
			kind = Touched
		case actionAdded, actionRemoved, actionOldName, actionNewName:
		default:
			return false
		}
		tell(strings.ReplaceAll(string(utf16.Decode(name)), `\`, "/"), kind)
		if next == 0 {
			return true
		}
		p = p[next:]
	}
}

// Short reports whether a name may be one that Windows made up in the form of 8.3: the
// system tells either that or the long one.
func Short(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	tilde := strings.LastIndexByte(base, '~')
	return tilde >= 0 && len(name) <= 12 && tilde+1 < len(base) && base[tilde+1] >= '0' && base[tilde+1] <= '9'
}

// Long gives a path whose names are all long ones, by what long returns for the beginning
// of a path, or "" if nothing lies there. Not exact: a directory on the way is not there
// any more, and what is returned is the nearest one above it.
func Long(path string, long func(string) string) (full string, exact bool) {
	names := strings.Split(path, "/")
	for i, name := range names {
		if Short(name) {
			if found := long(strings.Join(names[:i+1], "/")); found != "" {
				name = found
			} else if i < len(names)-1 {
				return full, false
			}
		}
		if full != "" {
			full += "/"
		}
		full += name
	}
	return full, true
}
