package throttle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/measure/loopfs"
)

// MountBlkio mounts the hierarchy of cgroup v1's controller blkio on dir: the
// existing one, or a new one, which ends when dir is unmounted. It needs
// CAP_SYS_ADMIN.
//
// Only version 1 limits its root group, which the kernel threads that write a file
// system's journal are in. Version 2 limits child groups only (io.max): the
// journal's writes for an fsync escape the limit.
func MountBlkio(dir string) error {
	err := loopfs.Mount("blkio", dir, "cgroup", "blkio")
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w: the controller is in use by cgroup v2 (io in /sys/fs/cgroup/cgroup.subtree_control), or mounted together with others; remove io there, or boot with systemd.unified_cgroup_hierarchy=0", err)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: this kernel has no blkio controller of cgroup v1", err)
	case err != nil:
		return err
	}
	// A container sees its own group as the root. The journal's thread is not in
	// that group, so its limit would not hold.
	for _, file := range []string{"release_agent", throttleFiles[0]} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			loopfs.Unmount(dir)
			if file == "release_agent" && errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is a container's group, not the root group: %w", dir, errors.ErrUnsupported)
			}
			return fmt.Errorf("the kernel cannot limit devices (CONFIG_BLK_DEV_THROTTLING): %w", err)
		}
	}
	return nil
}

// In the order of throttleValues.
var throttleFiles = [...]string{
	"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device",
	"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
}

func throttleValues(l Limit) [len(throttleFiles)]int64 {
	return [...]int64{l.IOPS, l.IOPS, l.BytesPerSecond, l.BytesPerSecond}
}

// Set limits a block device, "/dev/loop0" for example, in the cgroup of the directory
// group. A rate of 0 removes the limit.
func Set(group, device string, l Limit) error {
	number, err := os.ReadFile(filepath.Join("/sys/class/block", filepath.Base(device), "dev"))
	if err != nil {
		return err
	}
	dev := strings.TrimSpace(string(number))
	for i, value := range throttleValues(l) {
		path := filepath.Join(group, throttleFiles[i])
		had, err := limitIn(path, dev)
		if err != nil {
			return err
		}
		if had == value {
			continue
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "%s %d\n", dev, value), 0); err != nil {
			return err
		}
		if now, err := limitIn(path, dev); err != nil || now != value {
			return fmt.Errorf("%s: the kernel set the limit of %s to %d, not %d: %w", path, device, now, value, errors.Join(err, errors.ErrUnsupported))
		}
	}
	return nil
}

// limitIn returns the limit of a device in a group's file, whose lines are
// "MAJOR:MINOR LIMIT". 0 is no limit.
func limitIn(path, dev string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, dev+" "); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, nil
}

// JoinRoot moves this process, and so its later children, into the root group, whose
// directory is group: version 1 does not count the requests of a child group towards
// its parent's limits.
func JoinRoot(group string) error {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) { // 7:blkio:/
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && fields[1] == "blkio" && fields[2] != "/" {
			return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
		}
	}
	return nil
}
