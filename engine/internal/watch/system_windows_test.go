package watch

import "golang.org/x/sys/windows"

// misnames reports whether this is Wine, which goes on telling a directory that was renamed
// by its old name.
func misnames() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
