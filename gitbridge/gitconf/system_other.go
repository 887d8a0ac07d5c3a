//go:build !windows

package gitconf

// SystemFile is where git keeps a file of settings for all users of the machine.
func SystemFile(name string, _ *Options) string { return "/etc/" + name }
