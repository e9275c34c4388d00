package uring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// Pollable returns nil if the device under f, a file or a block device, has queues
// for polling, which a polled ring needs. Otherwise the error says why and is
// errors.ErrUnsupported.
func Pollable(f *os.File) error {
	var st unix.Stat_t
	if err := sys.WithFD(f, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	dev := st.Dev
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		dev = st.Rdev
	}
	return pollable(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(dev), unix.Minor(dev)))
}

func pollable(link string) error {
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return fmt.Errorf("io_uring: cannot poll, as the file system is on no single block device (%s): %w", link, errors.ErrUnsupported)
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "queue", "io_poll")
	polls, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("io_uring: cannot poll: %w: %w", err, errors.ErrUnsupported)
	}
	if text := strings.TrimSpace(string(polls)); text != "1" {
		return fmt.Errorf("io_uring: device %s has no queues for polling (%s is %s); an NVMe disk has some after nvme.poll_queues=N on the kernel's command line, a virtio disk after virtio_blk.poll_queues=N: %w",
			filepath.Base(dir), path, text, errors.ErrUnsupported)
	}
	return nil
}
