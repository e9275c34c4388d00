package sys

import "os"

// Mounts lists what is mounted in this process's mount namespace.
func Mounts() ([]MountPoint, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseMounts(f)
}
