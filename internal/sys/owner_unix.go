//go:build unix && !linux

package sys

import (
	"io/fs"
	"syscall"
)

// infoOf returns the FileInfo of fi.
func infoOf(fi fs.FileInfo) FileInfo {
	info := FileInfo{Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.UID, info.GID = int(st.Uid), int(st.Gid)
	}
	return info
}
