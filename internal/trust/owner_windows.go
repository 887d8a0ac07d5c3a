package trust

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// owned reports whether a file belongs to the user of this process, or to the
// administrators if that is one of them: so git has it here.
func (j *Judge) owned(path string, _ fs.FileInfo) bool {
	owner := ownerSID(path)
	if owner == nil {
		return false
	}
	self, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err == nil && owner.Equals(self.User.Sid) {
		return true
	}
	if !owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) {
		return false
	}
	member, err := windows.Token(0).IsMember(owner)
	return err == nil && member
}

func ownerSID(path string) *windows.SID {
	d, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return nil
	}
	owner, _, err := d.Owner()
	if err != nil {
		return nil
	}
	return owner
}

// ownerOf names the owner of a file.
func ownerOf(path string, _ fs.FileInfo) string {
	owner := ownerSID(path)
	if owner == nil {
		return "an unknown user"
	}
	account, domain, _, err := owner.LookupAccount("")
	if err != nil {
		return owner.String()
	}
	return domain + `\` + account
}

// Self names the user of this process.
func Self() string {
	if self, err := windows.GetCurrentProcessToken().GetTokenUser(); err == nil {
		return self.User.Sid.String()
	}
	return "you"
}
