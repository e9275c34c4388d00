package power

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// The disk is a process of its own: see package serve. It must never wait for
// the file system that waits for it, so it touches no file on it and shares no
// memory map with the process that uses it.

// diskEnv marks the process that serves a disk, and names its directory.
const diskEnv = "STELE_CRASHTEST_DISK"

// In the directory, made by Record:
const (
	dirDisk   = "disk" // mount point of the FUSE, with one file:
	fileImage = "image"
	dirFS     = "fs"  // mount point of the file system that is recorded
	dirCut    = "cut" // mount point of the images of the cuts
)

// Descriptors of the disk. Its stdin ends when the test does; it writes a line
// to its stdout when it is ready.
const (
	fdImage = 3 // content of the device
	fdLog   = 4 // open for appending
)

// ServeDisk serves a disk if this process is one that [Record] started, and then
// exits; otherwise it does nothing. Record starts the running program again, so
// TestMain, or main, must call ServeDisk first.
func ServeDisk() {
	dir := os.Getenv(diskEnv)
	if dir == "" {
		return
	}
	if err := serveDisk(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveDisk(dir string) error {
	d := &disk{
		RawFileSystem: fuse.NewDefaultRawFileSystem(),
		image:         os.NewFile(fdImage, "image"),
		log:           os.NewFile(fdLog, "log"),
	}
	fi, err := d.image.Stat()
	if err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	d.size = fi.Size()
	server, err := fuse.NewServer(d, filepath.Join(dir, dirDisk), &fuse.MountOptions{
		DirectMountStrict: true,
		FsName:            "stele-crashtest",
		MaxWrite:          1 << 20, // the kernel's limit: a request of the loop device is seldom split
	})
	if err != nil {
		return fmt.Errorf("disk: mount FUSE on %s: %w", dir, err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return fmt.Errorf("disk: mount FUSE on %s: %w", dir, err)
	}
	fmt.Println("ready")
	parent := os.Getppid()
	io.Copy(io.Discard, os.Stdin) // until the test closes it, or has ended

	// A test that was killed left its file systems mounted. Otherwise unmount
	// fails with EINVAL.
	for _, name := range []string{dirCut, dirFS} {
		unmount(filepath.Join(dir, name))
	}
	// Any mkfs on this machine opens each loop device for a moment, and so the
	// file below it.
	err = server.Unmount()
	for begun := time.Now(); err != nil && time.Since(begun) < time.Minute; err = server.Unmount() {
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("disk: unmount FUSE from %s: %w", dir, err)
	}
	if os.Getppid() != parent { // the test was killed and cannot remove the mount points
		for _, name := range []string{dirCut, dirFS, dirDisk, ""} {
			os.Remove(filepath.Join(dir, name)) // if there is nothing in it
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// disk is a FUSE with one file, the device.
type disk struct {
	fuse.RawFileSystem
	size int64

	mu     sync.Mutex // held while a record is written: the log is the order
	image  *os.File
	log    *os.File
	buf    []byte
	failed error // the first write to image or log that failed
}

const nodeImage = 2 // the root is 1

func (d *disk) attr(node uint64, out *fuse.Attr) {
	out.Ino = node
	out.Mode = fuse.S_IFDIR | 0o700
	out.Nlink = 2
	if node == nodeImage {
		out.Mode = fuse.S_IFREG | 0o600
		out.Nlink = 1
		out.Size = uint64(d.size)
		out.Blocks = out.Size / 512
	}
}

func (d *disk) Lookup(_ <-chan struct{}, parent *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if parent.NodeId != fuse.FUSE_ROOT_ID || name != fileImage {
		return fuse.ENOENT
	}
	out.NodeId = nodeImage
	d.attr(nodeImage, &out.Attr)
	return fuse.OK
}

func (d *disk) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	d.attr(in.NodeId, &out.Attr)
	return fuse.OK
}

func (d *disk) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	// No page cache, whatever the loop device asks for: a write that waits there
	// is not in the log.
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	return fuse.OK
}

func (d *disk) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, err := d.image.ReadAt(buf, int64(in.Offset))
	if err != nil && err != io.EOF {
		return nil, fuse.ToStatus(err)
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (d *disk) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	if err := d.do(kindWrite, int64(in.Offset), int64(len(data)), data); err != nil {
		return 0, fuse.ToStatus(err)
	}
	return uint32(len(data)), fuse.OK
}

// Fsync is the flush of the loop device (vfs_fsync).
func (d *disk) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return fuse.ToStatus(d.do(kindFlush, 0, 0, nil))
}

// Fallocate is its discards and its zeroing.
func (d *disk) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	const keepSize, punchHole, zeroRange = 1, 2, 16
	if in.Mode&^keepSize != punchHole && in.Mode&^keepSize != zeroRange {
		return fuse.ENOTSUP
	}
	return fuse.ToStatus(d.do(kindZero, int64(in.Offset), int64(in.Length), nil))
}

// do logs a request and executes it.
func (d *disk) do(k kind, off, length int64, data []byte) error {
	if off < 0 || length < 0 || off > d.size || length > d.size-off {
		return syscall.EFBIG
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buf = append(appendHeader(d.buf[:0], k, off, length), data...)
	_, err := d.log.Write(d.buf)
	if err == nil {
		switch k {
		case kindWrite:
			_, err = d.image.WriteAt(data, off)
		case kindZero:
			err = d.zero(off, length)
		}
	}
	if err != nil && d.failed == nil {
		d.failed = fmt.Errorf("disk: request of kind %d at %d+%d: %w", k, off, length, err)
	}
	return err
}

func (d *disk) zero(off, length int64) error {
	zeros := make([]byte, min(length, 1<<20))
	for end := off + length; off < end; {
		n, err := d.image.WriteAt(zeros[:min(end-off, int64(len(zeros)))], off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// Flush answers close(2), which promises nothing.
func (d *disk) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

// StatFs returns the block size, the loop device's unit of discard; without it
// the device has no discard.
func (d *disk) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize = pageSize
	out.Frsize = pageSize
	out.Blocks = uint64(d.size) / pageSize
	out.NameLen = 255
	return fuse.OK
}
