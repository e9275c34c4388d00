package sys

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// FileInfo is the owner, mode and identity of a file, which its replacement takes
// over.
type FileInfo struct {
	Mode     fs.FileMode // type, permissions, setuid, setgid and sticky bits
	UID, GID int
	dev, ino uint64 // so that == tells files apart
}

// Same reports whether both describe one file.
func (fi FileInfo) Same(other FileInfo) bool { return fi.dev == other.dev && fi.ino == other.ino }

// Info describes the file name, without following a symlink.
func (d Dir) Info(name string) (FileInfo, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		return fileInfo(&st), err
	}
}

// InfoOf describes the open file f.
func InfoOf(f *os.File) (fi FileInfo, err error) {
	err = WithFD(f, func(fd int) error {
		fi, err = newTemp(fd).Info()
		return err
	})
	return fi, err
}

func fileInfo(st *unix.Stat_t) FileInfo {
	fi := FileInfo{Mode: fs.FileMode(st.Mode & 0o777), UID: int(st.Uid), GID: int(st.Gid), dev: uint64(st.Dev), ino: st.Ino}
	if st.Mode&unix.S_ISUID != 0 {
		fi.Mode |= fs.ModeSetuid
	}
	if st.Mode&unix.S_ISGID != 0 {
		fi.Mode |= fs.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		fi.Mode |= fs.ModeSticky
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		fi.Mode |= fs.ModeDir
	case unix.S_IFLNK:
		fi.Mode |= fs.ModeSymlink
	default:
		fi.Mode |= fs.ModeIrregular
	}
	return fi
}
