package atomicfile

import (
	"fmt"
	"io/fs"
	"syscall"
)

// Write writes b at the current offset, which is the end of the new content unless
// Seek has moved it.
func (f *File) Write(b []byte) (int, error) {
	if err := f.check("write"); err != nil {
		return 0, err
	}
	n, err := f.t.Write(b)
	if err != nil {
		return n, f.fatal("write", err)
	}
	return n, nil
}

// WriteAt writes b at off and does not move the current offset.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	if err := f.check("write"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.fail("write", negativeOffset(off))
	}
	n, err := f.t.WriteAt(b, off)
	if err != nil {
		return n, f.fatal("write", err)
	}
	return n, nil
}

// Read reads the new content at the current offset, as os.File.Read does. A read
// error is not final.
func (f *File) Read(b []byte) (int, error) {
	if err := f.check("read"); err != nil {
		return 0, err
	}
	n, err := f.t.Read(b)
	return n, f.wrap("read", err)
}

// ReadAt reads the new content at off, as os.File.ReadAt does. A read error is not
// final.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check("read"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.fail("read", negativeOffset(off))
	}
	n, err := f.t.ReadAt(b, off)
	return n, f.wrap("read", err)
}

func negativeOffset(off int64) error {
	return fmt.Errorf("at offset %d; want 0 or more: %w", off, syscall.EINVAL)
}

// Seek sets the offset of the next Write or Read, as os.File.Seek does.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if err := f.check("seek"); err != nil {
		return 0, err
	}
	n, err := f.t.Seek(offset, whence)
	return n, f.wrap("seek", err)
}

// Truncate sets the size of the new content in bytes and does not move the current
// offset.
func (f *File) Truncate(size int64) error {
	if err := f.check("truncate"); err != nil {
		return err
	}
	if err := f.t.Truncate(size); err != nil {
		return f.fatal("truncate", err)
	}
	return nil
}

// Stat describes the temporary file; its Name is the last element of the path.
func (f *File) Stat() (fs.FileInfo, error) {
	if err := f.check("stat"); err != nil {
		return nil, err
	}
	fi, err := f.t.Stat(f.base)
	return fi, f.wrap("stat", err)
}

// Chmod makes Commit set exactly these permissions, setuid, setgid and sticky bits,
// regardless of the umask and Options.Keep. Until then the temporary file keeps
// the permissions it was created with.
func (f *File) Chmod(mode fs.FileMode) error {
	if err := f.check("chmod"); err != nil {
		return err
	}
	f.mode, f.chmod = mode, true
	return nil
}

// Chown makes Commit set this owner and group, regardless of Options.Keep; -1
// leaves the choice to Options.Keep. With another owner or group some permissions may
// not be kept; see Keep. Linux only: elsewhere Commit fails.
func (f *File) Chown(uid, gid int) error {
	if err := f.check("chown"); err != nil {
		return err
	}
	f.uid, f.gid, f.chown = uid, gid, true
	return nil
}

// applyMetadata sets owner, permissions, ACL and attributes. It comes after the
// writes, and chmod after chown, because both clear setuid and setgid bits.
func (f *File) applyMetadata() error {
	if f.hasOld {
		if err := f.applyKeep(); err != nil {
			return err
		}
	} else if f.chown {
		if err := f.t.Chown(f.uid, f.gid); err != nil {
			return f.fatal("chown", err)
		}
	}
	if f.chmod {
		return f.setMode(f.mode)
	}
	return nil
}

// Name returns the path that Create was called with; in a Dir, the directory's path
// joined with the name.
func (f *File) Name() string { return f.path }

// TempName returns the path of the temporary file, which exists until Commit or
// Abort, for example for a program that checks the new content. Commit fails if it
// was renamed or removed. The path is relative to Options.Root, if that is set.
func (f *File) TempName() string {
	if f.at == nil {
		return ""
	}
	return join(f.at.name, f.temp)
}

// SyscallConn gives access to the descriptor of the temporary file, as
// syscall.Conn describes, for other ways to write: ioctl(2), copy_file_range(2).
// Writes at explicit offsets do not move the current offset, and their errors are
// not final: call Abort after them. Only Control is certain to work, and only
// until Commit or Abort.
func (f *File) SyscallConn() (syscall.RawConn, error) {
	if err := f.check("write"); err != nil {
		return nil, err
	}
	return rawConn{func(do func(*File) error) error {
		if err := f.check("write"); err != nil {
			return err
		}
		return do(f)
	}}, nil
}
