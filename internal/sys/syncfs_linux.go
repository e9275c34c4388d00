package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Syncfs writes out everything that the file system of dir has waiting
// (syncfs(2)).
func Syncfs(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return namedCall("syncfs", f, unix.Syncfs)
}
