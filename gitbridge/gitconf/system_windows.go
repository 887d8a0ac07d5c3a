package gitconf

import (
	"os"
	"path/filepath"
)

// SystemFile is where git keeps a file of settings for all users of the machine: in "etc"
// of its own installation, above the program. Where git is not on the PATH, or only a
// shim of it, the usual place is looked at.
func SystemFile(name string, o *Options) string {
	for _, dir := range filepath.SplitList(o.env("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "git.exe")); !filepath.IsAbs(dir) || err != nil {
			continue
		}
		for _, above := range []string{"..", `..\..`} { // cmd or bin; mingw64\bin
			if path := filepath.Join(dir, above, "etc", name); isFile(path) {
				return path
			}
		}
	}
	return filepath.Join(o.env("ProgramFiles"), "Git", "etc", name)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}
