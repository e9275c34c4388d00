package atomicfile

import (
	"io/fs"
	"syscall"
)

// Write writes b at the offset, which is at the end unless Seek has moved it.
func (f *File) Write(b []byte) (int, error) {
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	n, err := f.t.Write(b)
	if err != nil {
		return n, f.fatal("write", err)
	}
	return n, nil
}

// WriteAt writes b at off, and does not move the offset.
func (f *File) WriteAt(b []byte, off int64) (int, error) {
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.fail("write", syscall.EINVAL)
	}
	n, err := f.t.WriteAt(b, off)
	if err != nil {
		return n, f.fatal("write", err)
	}
	return n, nil
}

// Read reads from the new content at the offset, as os.File.Read does. An
// error of reading does not end the File.
func (f *File) Read(b []byte) (int, error) {
	if err := f.usable("read"); err != nil {
		return 0, err
	}
	n, err := f.t.Read(b)
	return n, f.plain("read", err)
}

// ReadAt reads from the new content at off, as os.File.ReadAt does.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if err := f.usable("read"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.fail("read", syscall.EINVAL)
	}
	n, err := f.t.ReadAt(b, off)
	return n, f.plain("read", err)
}

// Seek sets the offset of the next Write or Read, as os.File.Seek does.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if err := f.usable("seek"); err != nil {
		return 0, err
	}
	n, err := f.t.Seek(offset, whence)
	return n, f.plain("seek", err)
}

// Truncate sets the size of the new content, in bytes, and does not move the
// offset.
func (f *File) Truncate(size int64) error {
	if err := f.usable("truncate"); err != nil {
		return err
	}
	if err := f.t.Truncate(size); err != nil {
		return f.fatal("truncate", err)
	}
	return nil
}

// Stat tells about the new content as it is until Commit, under the last name
// of the path.
func (f *File) Stat() (fs.FileInfo, error) {
	if err := f.usable("stat"); err != nil {
		return nil, err
	}
	fi, err := f.t.Stat(f.base)
	return fi, f.plain("stat", err)
}

// Chmod has Commit give the file exactly these permissions, setuid, setgid and
// sticky bits, whatever the umask and Options.Keep say. Until then the file has
// what it was created with.
func (f *File) Chmod(mode fs.FileMode) error {
	if err := f.usable("chmod"); err != nil {
		return err
	}
	f.mode, f.chmod = mode, true
	return nil
}

// Chown has Commit give the file this owner and group, whatever Options.Keep
// says; -1 leaves what there is, or what Options.Keep says. What is kept of the
// permissions is what this owner and group may have; see Keep. Linux only:
// elsewhere Commit fails.
func (f *File) Chown(uid, gid int) error {
	if err := f.usable("chown"); err != nil {
		return err
	}
	f.uid, f.gid, f.chown = uid, gid, true
	return nil
}

// settle gives the file what it is to have beside its content: after the
// writes, and the change of owner, which clear setuid and setgid bits.
func (f *File) settle() error {
	if f.keep {
		if err := f.adopt(); err != nil {
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

// Name is the path that Create was called with, or in a Dir that of the folder
// and the name.
func (f *File) Name() string { return f.path }

// TempName is the path of the temporary file, which is there until Commit or
// Abort: for a program that checks the new content. Commit fails if
// it was renamed or removed. It is relative to Options.Root, if that is set.
func (f *File) TempName() string {
	if f.at == nil {
		return ""
	}
	return join(f.at.name, f.temp)
}

// SyscallConn gives access to the descriptor of the new content, as
// syscall.Conn describes it, for writing by other means: ioctl(2),
// copy_file_range(2). What those write at offsets does not move that of Write,
// and their errors do not end the File: Abort it. Only Control is sure to work,
// and only until Commit or Abort.
func (f *File) SyscallConn() (syscall.RawConn, error) {
	if err := f.usable("write"); err != nil {
		return nil, err
	}
	return rawConn{func(do func(*File) error) error {
		if err := f.usable("write"); err != nil {
			return err
		}
		return do(f)
	}}, nil
}
