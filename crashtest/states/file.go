package states

import (
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Name returns the name that the file was opened by.
func (f *File) Name() string { return f.name }

// on calls do with the lock held, unless the file is closed.
func (f *File) on(call string, do func() error) error {
	f.fs.tree.mu.Lock()
	defer f.fs.tree.mu.Unlock()
	err := error(fs.ErrClosed)
	if !f.closed {
		err = do()
	}
	if err == io.EOF || err == io.ErrShortWrite {
		return err
	}
	return pathError(call, f.name, err)
}

// Read reads on from the last read or write.
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

// ReadAt is that of io.ReaderAt.
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
	n, err := f.fs.tree.read(f.id, b, off)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// Write writes on from the last read or write or, with os.O_APPEND, at the
// end. Where the file was opened with os.O_SYNC it is synced before Write
// returns; otherwise a crash may lose the bytes or part of them until the next
// Sync or Datasync.
func (f *File) Write(b []byte) (n int, err error) {
	err = f.on("write", func() error {
		if f.flag&os.O_APPEND != 0 {
			f.off = f.fs.tree.nodes[f.id].size()
		}
		n, err = f.writeAt(b, f.off)
		f.off += int64(n)
		return err
	})
	return n, err
}

// WriteAt is that of io.WriterAt, and survives what Write does.
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
	n, err := f.fs.tree.write(f.id, b, off)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	// On Linux O_SYNC is O_DSYNC and one bit more.
	if how := f.flag & os.O_SYNC; how != 0 && n > 0 {
		if failed := f.fs.tree.sync(f.id, how != os.O_SYNC); failed != nil {
			return 0, failed
		}
	}
	return n, err
}

// Seek sets where the next Read or Write begins.
func (f *File) Seek(offset int64, whence int) (off int64, err error) {
	err = f.on("seek", func() error {
		switch whence {
		case io.SeekCurrent:
			offset += f.off
		case io.SeekEnd:
			offset += f.fs.tree.nodes[f.id].size()
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
	return f.on("truncate", func() error { return f.fs.tree.truncate(f.id, size) })
}

// Allocate is fallocate(2): the file is at least off+n bytes long afterwards,
// and what is new in it reads as zeros.
func (f *File) Allocate(off, n int64) error {
	return f.on("fallocate", func() error { return f.fs.tree.allocate(f.id, off, n, false, false) })
}

// Sync is fsync(2): the content, the size and the mode of the file survive a
// crash from now on. Its name does not: that is what FS.SyncDir is for. Of a
// folder it is FS.SyncDir.
func (f *File) Sync() error {
	return f.on("sync", func() error { return f.fs.tree.sync(f.id, false) })
}

// Datasync is fdatasync(2): the content and the size of the file survive a
// crash from now on.
func (f *File) Datasync() error {
	return f.on("datasync", func() error { return f.fs.tree.sync(f.id, true) })
}

// Close closes the file. It makes nothing durable.
func (f *File) Close() error {
	return f.on("close", func() error {
		f.closed = true
		return f.fs.tree.close(f.id)
	})
}

// Stat returns what is known of the file.
func (f *File) Stat() (fi fs.FileInfo, err error) {
	err = f.on("stat", func() error {
		fi = f.fs.tree.nodes[f.id].info(path.Base(f.name))
		return nil
	})
	return fi, err
}

// ReadDir is that of fs.ReadDirFile.
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
