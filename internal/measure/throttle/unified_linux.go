package throttle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// Unified returns the directory of the root group of cgroup v2, if it has the
// controller io. Otherwise the error says why and is errors.ErrUnsupported.
func Unified() (root string, err error) {
	ms, err := sys.Mounts()
	if err != nil {
		return "", err
	}
	for _, m := range ms {
		if m.FS == "cgroup2" && m.Root == "/" {
			return m.Path, unifiedAt(m.Path)
		}
	}
	return "", fmt.Errorf("cgroup v2 is not mounted: %w", errors.ErrUnsupported)
}

// SetMax limits a block device, "/dev/loop0" for example, for the processes in a group
// of cgroup v2 (io.max). A rate of 0 removes the limit.
func SetMax(group, device string, l Limit) error {
	number, err := os.ReadFile(filepath.Join("/sys/class/block", filepath.Base(device), "dev"))
	if err != nil {
		return err
	}
	return setMax(group, strings.TrimSpace(string(number)), l)
}

// OwnGroup returns the directory of the group of cgroup v2 that this process is in.
func OwnGroup(root string) (string, error) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join(root, path), nil
		}
	}
	return "", fmt.Errorf("/proc/self/cgroup names no group of cgroup v2: %w", errors.ErrUnsupported)
}

// JoinJournal moves the thread that writes the journal of an ext4 on a device into a
// group, so that its writes are limited too. It does nothing where there is no such
// thread or the kernel keeps it in the root group.
func JoinJournal(group, device string) {
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(comm), "jbd2/"+filepath.Base(device)+"-") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			_ = Join(group, pid) // the kernel may refuse; see the comment above
		}
	}
}

func ended(err error) bool { return errors.Is(err, unix.ESRCH) }
