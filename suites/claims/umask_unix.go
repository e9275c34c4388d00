//go:build unix

package claims

import (
	"os"
	"syscall"
)

// withUmask calls f with a umask. The umask is the whole process's: nothing else may create
// files meanwhile.
func withUmask(mask os.FileMode, f func() error) error {
	was := syscall.Umask(int(mask))
	defer syscall.Umask(was)
	return f()
}
