package states

import (
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Name returns the name by which the file was opened.
func (f *File) Name() string { return f.name }

// on calls do with the lock held, unless the file is closed.
func (f *File) on(call string, do func() error) error {
	f.fs.tree.Mu.Lock()
	defer f.fs.tree.Mu.Unlock()
	err := error(fs.ErrClosed)
	if !f.closed {
		err = do()
	}
	if err == io.EOF || err == io.ErrShortWrite {
		return err
	}
	return pathError(call, f.name, err)
}

// Read reads from where the last Read or Write ended, or from where Seek set.
func (f *File) Read(b []byte) (n int, err error) {
	err = f.on("read", func() error {
		n, err = f.readAt(b, f.off)
		f.off += int64(n)
		if n > 0 && err == io.EOF {
			return nil
		}
		return err
	})
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.on("read", func() error {
		n, err = f.readAt(b, off)
		return err
	})
	return n, err
}

func (f *File) readAt(b []byte, off int64) (int, error) {
	if f.flag&os.O_WRONLY != 0 {
		return 0, syscall.EBADF
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	n, err := f.fs.tree.Read(f.id, b, off)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// Write writes from where the last Read or Write ended or, with os.O_APPEND, at
// the end. A crash may lose the bytes, or part of them, until the next Sync or
// Datasync. If the file was opened with os.O_SYNC, Write syncs it before it
// returns.
func (f *File) Write(b []byte) (n int, err error) {
	err = f.on("write", func() error {
		if f.flag&os.O_APPEND != 0 {
			f.off = f.fs.tree.Nodes[f.id].Size()
		}
		n, err = f.writeAt(b, f.off)
		f.off += int64(n)
		return err
	})
	return n, err
}

// WriteAt implements io.WriterAt. Its bytes survive what those of Write do.
func (f *File) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.on("write", func() error {
		if f.flag&os.O_APPEND != 0 {
			return syscall.EINVAL
		}
		n, err = f.writeAt(b, off)
		return err
	})
	return n, err
}

func (f *File) writeAt(b []byte, off int64) (int, error) {
	if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return 0, syscall.EBADF
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	n, err := f.fs.tree.Write(f.id, b, off)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	// On Linux O_SYNC is O_DSYNC and one bit more.
	if how := f.flag & os.O_SYNC; how != 0 && n > 0 {
		if failed := f.fs.tree.Sync(f.id, how != os.O_SYNC); failed != nil {
			return 0, failed
		}
	}
	return n, err
}

// Seek implements io.Seeker.
func (f *File) Seek(offset int64, whence int) (off int64, err error) {
	err = f.on("seek", func() error {
		switch whence {
		case io.SeekCurrent:
			offset += f.off
		case io.SeekEnd:
			offset += f.fs.tree.Nodes[f.id].Size()
		case io.SeekStart:
		default:
			return syscall.EINVAL
		}
		if offset < 0 {
			return syscall.EINVAL
		}
		f.off = offset
		return nil
	})
	return offset, err
}

// Truncate sets the size of the file.
func (f *File) Truncate(size int64) error {
	return f.on("truncate", func() error { return f.fs.tree.Truncate(f.id, size) })
}

// Allocate is fallocate(2) with mode 0: the file is at least off+n bytes long
// afterwards, and its new bytes read as zeros.
func (f *File) Allocate(off, n int64) error {
	return f.on("fallocate", func() error { return f.fs.tree.Allocate(f.id, off, n, false, false) })
}

// Sync is fsync(2): the content, the size and the mode of the file survive a
// crash from now on, but its name does not; see FS.SyncDir. For a directory Sync
// is FS.SyncDir.
func (f *File) Sync() error {
	return f.on("sync", func() error { return f.fs.tree.Sync(f.id, false) })
}

// Datasync is fdatasync(2): the content and the size of the file survive a
// crash from now on.
func (f *File) Datasync() error {
	return f.on("datasync", func() error { return f.fs.tree.Sync(f.id, true) })
}

// Close closes the file and makes nothing durable.
func (f *File) Close() error {
	return f.on("close", func() error {
		f.closed = true
		return f.fs.tree.Close(f.id)
	})
}

// Stat returns the fs.FileInfo of the file.
func (f *File) Stat() (fi fs.FileInfo, err error) {
	err = f.on("stat", func() error {
		fi = infoOf(f.fs.tree.Nodes[f.id], path.Base(f.name))
		return nil
	})
	return fi, err
}

// ReadDir implements fs.ReadDirFile.
func (f *File) ReadDir(n int) (entries []fs.DirEntry, err error) {
	err = f.on("readdir", func() error {
		if !f.listed {
			if f.rest, err = f.fs.entries(f.id); err != nil {
				return err
			}
			f.listed = true
		}
		if n <= 0 {
			entries, f.rest = f.rest, nil
			return nil
		}
		if len(f.rest) == 0 {
			return io.EOF
		}
		n = min(n, len(f.rest))
		entries, f.rest = f.rest[:n:n], f.rest[n:]
		return nil
	})
	return entries, err
}
