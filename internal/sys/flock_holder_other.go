//go:build !linux

package sys

import "os"

// FlockHolder returns 0 and "".
func FlockHolder(*os.File) (pid int, command string) { return 0, "" }
