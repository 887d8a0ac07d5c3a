//go:build !unix && !windows

package trust

import "io/fs"

// owned cannot tell owners here, and so trusts nothing that no setting allows.
func (j *Judge) owned(string, fs.FileInfo) bool { return false }

func ownerOf(string, fs.FileInfo) string { return "an unknown user" }

// Self names the user.
func Self() string { return "you" }
