package sys

import "os"

// Mounts returns the mounts in this process's mount namespace.
func Mounts() ([]MountPoint, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseMounts(f)
}
