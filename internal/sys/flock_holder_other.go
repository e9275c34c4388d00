//go:build !linux

package sys

import "os"

// FlockHolder is not known here.
func FlockHolder(*os.File) (pid int, command string) { return 0, "" }
