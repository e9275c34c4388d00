package loopfs

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// Attach puts a loop device over image, which must be open for reading and writing,
// and returns the open device. The device detaches itself (LO_FLAGS_AUTOCLEAR) once
// it is neither open nor mounted: the caller mounts it and then closes it, and a
// killed caller leaves no device.
//
// Attach asks for direct I/O to the image (LO_FLAGS_DIRECT_IO), so that blocks are
// not cached twice and a write completes only when the disk under the image has it.
// Where the image's file system cannot do that, the kernel silently falls back to
// buffered I/O; see /sys/block/loopN/loop/dio.
func Attach(image *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("loop device: %w", err)
	}
	defer control.Close()
	var config unix.LoopConfig
	config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO
	copy(config.Info.File_name[:len(config.Info.File_name)-1], image.Name())
	// Another process may take the free device first: then LOOP_CONFIGURE returns
	// EBUSY, and the next free one is tried.
	for range 64 {
		var n int
		err := sys.WithFD(control, func(fd int) (err error) {
			n, err = unix.IoctlRetInt(fd, unix.LOOP_CTL_GET_FREE)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("loop device: LOOP_CTL_GET_FREE: %w", err)
		}
		path := "/dev/loop" + strconv.Itoa(n)
		device, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("loop device: %w", err)
		}
		err = sys.WithFDs(device, image, func(fd, image int) error {
			config.Fd = uint32(image)
			return unix.IoctlLoopConfigure(fd, &config)
		})
		if err == nil {
			return device, nil
		}
		device.Close()
		if err != unix.EBUSY {
			return nil, fmt.Errorf("loop device: LOOP_CONFIGURE %s over %s: %w", path, image.Name(), err)
		}
	}
	return nil, fmt.Errorf("loop device: no free one in 64 tries: %w", unix.EBUSY)
}

// Detach detaches the loop device path if it lies over image, and does nothing
// otherwise. While the device is in use the kernel only marks it, and detaches it
// at its last close.
func Detach(path, image string) error {
	// While it is open, the device is not detached and taken by others.
	device, err := os.Open(path)
	if err != nil {
		return err
	}
	defer device.Close()
	var want unix.Stat_t
	if err := unix.Stat(image, &want); err != nil {
		return &os.PathError{Op: "stat", Path: image, Err: err}
	}
	var info *unix.LoopInfo64
	err = sys.WithFD(device, func(fd int) (err error) {
		info, err = unix.IoctlLoopGetStatus64(fd)
		return err
	})
	if err == unix.ENXIO { // not attached any more
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "LOOP_GET_STATUS64", Path: path, Err: err}
	}
	if info.Device != uint64(want.Dev) || info.Inode != want.Ino {
		return nil
	}
	err = sys.WithFD(device, func(fd int) error {
		_, err := unix.IoctlRetInt(fd, unix.LOOP_CLR_FD)
		return err
	})
	if err != nil && err != unix.ENXIO {
		return &os.PathError{Op: "LOOP_CLR_FD", Path: path, Err: err}
	}
	return nil
}
