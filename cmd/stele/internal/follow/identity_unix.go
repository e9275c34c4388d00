//go:build unix

package follow

import (
	"os"
	"syscall"
)

// inodeOf returns device and inode of a file.
func inodeOf(fi os.FileInfo) identity {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{Device: uint64(st.Dev), Inode: uint64(st.Ino)}
}
