package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Copied counts what CopyTo has made.
type Copied struct {
	Segments       int
	Linked, Cloned int   // of Segments; the others were copied
	Bytes          int64 // of all segments
	CopiedBytes    int64 // of the segments that were neither linked nor cloned
}

// CopyTo puts every segment of the snapshot into the directory dir, which has none
// of them, under its own name: as a hard link, which is right because no segment is
// ever written to, only replaced; where that cannot be, as a clone that shares its
// blocks (FICLONERANGE); else as a copy, at Options.Rate. Copies and clones are
// synced; the names are not.
//
// After an error, that of ctx included, some of the segments are there.
func (n *Snapshot) CopyTo(ctx context.Context, dir string) (c Copied, err error) {
	k := copier{snapshot: n, dir: dir}
	for _, f := range n.files() {
		if err := context.Cause(ctx); err != nil {
			return k.made, err
		}
		if err := k.add(ctx, f); err != nil {
			return k.made, fmt.Errorf("catalog: copy %s to %s: %w", n.catalog.path(f), dir, err)
		}
	}
	return k.made, nil
}

// A copier is one CopyTo.
type copier struct {
	snapshot *Snapshot
	dir      string
	made     Copied
	buf      []byte
}

// add adds one segment.
func (k *copier) add(ctx context.Context, f *file) error {
	to := filepath.Join(k.dir, f.name)
	path, isFile := k.snapshot.catalog.place.File(f.name)
	size := f.info.Size
	linked := false
	if isFile {
		fi, err := os.Stat(path)
		if err == nil && size != 0 && fi.Size() != size {
			err = fmt.Errorf("it has %d bytes; want %d: %w", fi.Size(), size, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		size = fi.Size() // also if the file cannot be read
		err = os.Link(path, to)
		if err != nil && !mayCopy(err) {
			return err
		}
		linked = err == nil
	}
	if linked {
		k.made.Linked++
	} else if err := k.copy(ctx, f, path, to, size); err != nil {
		return err
	}
	k.made.Segments++
	k.made.Bytes += size
	return nil
}

// mayCopy reports whether a file that cannot be linked because of err may be copied:
// it is of another file system, has all links it may have, or its file system has
// none.
func mayCopy(err error) bool {
	for _, final := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, fs.ErrNotExist, fs.ErrExist} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// copy makes a clone or a copy of the segment, which is the file path unless that is
// empty.
func (k *copier) copy(ctx context.Context, f *file, path, to string, size int64) (err error) {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	off := int64(0)
	if path != "" {
		if off, err = k.copyFile(ctx, out, path, size); err != nil {
			return err
		}
	}
	if off < size {
		if err := k.copyContent(ctx, out, f, off, size); err != nil {
			return err
		}
	}
	return sys.SyncData(out)
}

// copyFile clones the file or has the kernel copy it, and returns how many bytes
// are done: fewer than size where the kernel cannot.
func (k *copier) copyFile(ctx context.Context, out *os.File, path string, size int64) (done int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	err = control(out, func(fd int) error { return sys.CloneTail(fd, 0, in, 0) })
	if err == nil {
		k.made.Cloned++
		return size, nil
	}
	for done < size {
		var n int64
		err := control(out, func(fd int) (err error) {
			n, err = sys.CopyInKernel(fd, done, in, done, min(size-done, stepBytes))
			return err
		})
		done += n
		k.made.CopiedBytes += n
		if err != nil && mayCopy(err) || err == nil && n == 0 {
			return done, nil // copyContent tells what is wrong, if anything is
		}
		if err == nil {
			err = k.wrote(ctx, out, done, n)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// copyContent copies the segment from an offset on through memory.
func (k *copier) copyContent(ctx context.Context, out *os.File, f *file, off, size int64) error {
	in, _, err := k.snapshot.catalog.place.Open(ctx, f.name)
	if err != nil {
		return err
	}
	defer in.Close()
	src := segment2.Within(ctx, in)
	if k.buf == nil {
		k.buf = make([]byte, stepBytes)
	}
	for off < size {
		p := k.buf[:min(size-off, stepBytes)]
		if n, err := src.ReadAt(p, off); n < len(p) {
			return err
		}
		n, err := out.WriteAt(p, off)
		off += int64(n)
		k.made.CopiedBytes += int64(n)
		if err == nil {
			err = k.wrote(ctx, out, off, int64(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wrote begins to write back the n bytes before off, and keeps the copy at its rate.
func (k *copier) wrote(ctx context.Context, out *os.File, off, n int64) error {
	control(out, func(fd int) error { sys.StartWriteback(fd, off-n, n); return nil }) // a hint
	if err := k.snapshot.catalog.throttle.wait(ctx, int(2*n)); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// control calls f with the descriptor of a file.
func control(file *os.File, f func(fd int) error) error {
	c, err := file.SyscallConn()
	if err != nil {
		return err
	}
	if closed := c.Control(func(fd uintptr) { err = f(int(fd)) }); closed != nil {
		return closed
	}
	return err
}
