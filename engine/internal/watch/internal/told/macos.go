package told

import "strings"

// The flags of an FSEventStreamEventFlags, as in
// https://developer.apple.com/documentation/coreservices/1455361-fseventstreameventflags.
const (
	flagMustScanSubDirs = 1 << 0
	flagUserDropped     = 1 << 1
	flagKernelDropped   = 1 << 2
	flagEventIDsWrapped = 1 << 3
	flagHistoryDone     = 1 << 4
	flagRootChanged     = 1 << 5
	flagMount           = 1 << 6
	flagUnmount         = 1 << 7
	itemCreated         = 1 << 8
	itemRemoved         = 1 << 9
	itemInodeMetaMod    = 1 << 10
	itemRenamed         = 1 << 11
	itemModified        = 1 << 12
	itemFinderInfoMod   = 1 << 13
	itemChangeOwner     = 1 << 14
	itemXattrMod        = 1 << 15
	itemIsFile          = 1 << 16
	itemIsDir           = 1 << 17
	itemIsSymlink       = 1 << 18
	itemOwnEvent        = 1 << 19
	itemIsHardlink      = 1 << 20
	itemIsLastHardlink  = 1 << 21
	itemCloned          = 1 << 22

	itemTouched = itemInodeMetaMod | itemModified | itemFinderInfoMod | itemChangeOwner | itemXattrMod
	itemMoved   = itemCreated | itemRemoved | itemRenamed | itemCloned
	itemKinds   = itemIsFile | itemIsDir | itemIsSymlink | itemOwnEvent | itemIsHardlink | itemIsLastHardlink
	nothing     = flagHistoryDone
)

// Flags says what the flags of an event of macOS mean. Doubt, if not empty, is why nothing
// is known any more.
//
// Flags of one path are told together, whatever happened in between, so that what was
// moved counts as that whatever else it was.
func Flags(flags uint32) (kind Kind, doubt string) {
	switch {
	case flags&(flagUserDropped|flagKernelDropped) != 0:
		return 0, "too much changed at once"
	case flags&flagEventIDsWrapped != 0:
		return 0, "the system counts its events anew"
	case flags&flagRootChanged != 0:
		return 0, "the worktree was moved or deleted"
	case flags&(flagMount|flagUnmount) != 0:
		return 0, "something was mounted or unmounted"
	case flags&flagMustScanSubDirs != 0:
		return Below, ""
	case flags&^(itemTouched|itemKinds|itemMoved|nothing) != 0 || flags&(itemTouched|itemMoved) == 0 && flags != nothing:
		return Below, "" // of a kind that was not known when this was written
	case flags&itemMoved != 0:
		return Moved, ""
	}
	return Touched, ""
}

// Rel gives the path below a root of a path that macOS tells; not ok if it does not lie
// there. The root may be told in another case or Unicode form, with a slash at its end,
// or by the volume that macOS keeps the user's files on.
func Rel(root, path string) (rel string, ok bool) {
	const data = "/system/volumes/data"
	names, want := strings.Split(strings.TrimSuffix(path, "/"), "/"), strings.Count(root, "/")+1
	if root == "/" {
		want = 1
	}
	for _, skip := range []int{0, strings.Count(data, "/")} {
		if len(names) < want+skip {
			break
		}
		top := alike(strings.Join(names[:want+skip], "/"))
		if skip > 0 {
			top = strings.TrimPrefix(top, data)
		}
		if top == strings.TrimSuffix(alike(root), "/") {
			return strings.Join(names[want+skip:], "/"), true
		}
	}
	return "", false
}
