package alive

import (
	"errors"

	"golang.org/x/sys/windows"
)

// A process that has ended stays for as long as somebody holds it open.
func process(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // there is no such number
	}
	defer windows.CloseHandle(h)
	ended, err := windows.WaitForSingleObject(h, 0)
	return err != nil || ended != windows.WAIT_OBJECT_0
}
