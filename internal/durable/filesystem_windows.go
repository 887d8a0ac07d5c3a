package durable

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

func fileSystem(dir string) (string, error) {
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err != nil {
		return "", err
	}
	var name [windows.MAX_PATH + 1]uint16
	err = windows.GetVolumeInformation(root, nil, 0, nil, nil, nil, &name[0], uint32(len(name)))
	return windows.UTF16ToString(name[:]), err
}
