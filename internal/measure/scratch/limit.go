package scratch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/measure/throttle"
	"github.com/stele-go/stele/internal/sys"
)

// groupName is the mount point of cgroup v1's blkio hierarchy, in a scratch directory
// whose device is limited.
const groupName = "blkio"

// groupNote is the file that names the group of cgroup v2 in which the device is
// limited, and the group that the process was in before.
const groupNote = "cgroup"

// A Limit is the rate of an image's device, as a cloud volume has one. Reads and
// writes are limited separately, not together as cloud volumes do. 0 is no limit.
//
// Where cgroup v2 has the controller io, its io.max limits the device for a group that
// this process and the thread of ext4's journal are moved into. Kernel threads that
// stay in the root group escape that limit: those that write the log of XFS, and other
// processes. See LimitedByGroup.
//
// Else the limit is set on the device in the root group of cgroup v1's controller
// blkio, so it holds for every process and for all kernel threads.
//
// The image lies under two loop devices, one on the other, and the lower one
// is limited. Linux lets requests for metadata (REQ_META: the journal's) pass
// at once where they are over a limit, and has later ones pay for them
// (__blk_throtl_bio); on the lower device they are no longer marked so.
//
// Image moves this process, and so its children, to the group. Where the kernel cannot
// limit at all, in a container for example, the error of Image says why.
//
// A limit does not simulate a cloud volume's latency or jitter: a request within
// the limits takes the time that the disk under the image takes.
type Limit struct {
	IOPS           int64 // requests a second at the device: after large ones are split and neighbours merged
	BytesPerSecond int64
}

// LimitedByGroup reports whether a Limit holds for the processes of this program and
// ext4's journal alone (cgroup v2), and not for the log of XFS.
func LimitedByGroup() bool {
	_, err := throttle.Unified()
	return err == nil
}

// limit sets or changes the limit of an image made with one.
func (p *Directory) limit(l Limit) error {
	devices := loopsOver(filepath.Join(p.root, imageName))
	root, noV2 := throttle.Unified()
	if noV2 == nil {
		return p.limitGroup(root, devices, l)
	}
	group := filepath.Join(p.root, groupName)
	if err := os.Mkdir(group, 0o700); err == nil {
		if err := throttle.MountBlkio(group); err != nil {
			return errors.Join(fmt.Errorf("neither cgroup v2 nor v1 can limit a device here: %w; %w", noV2, err), os.Remove(group))
		}
	} else if !errors.Is(err, os.ErrExist) { // else it was limited before
		return err
	}
	if err := throttle.JoinRoot(group); err != nil {
		return err
	}
	for _, d := range devices {
		if err := throttle.Set(group, d, throttle.Limit(l)); err != nil {
			return err
		}
	}
	return nil
}

// limitGroup limits devices in the group of this process, which all its images share:
// a process is in one group of cgroup v2 only.
func (p *Directory) limitGroup(root string, devices []string, l Limit) error {
	was, err := throttle.OwnGroup(root)
	if err != nil {
		return err
	}
	group, err := throttle.MakeGroup(root, prefix+strconv.Itoa(os.Getpid()))
	if err != nil {
		return err
	}
	// For unlimit, which may run in a later process.
	note := filepath.Join(p.root, groupNote)
	if _, err := os.Stat(note); errors.Is(err, os.ErrNotExist) {
		if was == group { // another image's limit moved this process
			was = root
		}
		if err := os.WriteFile(note, []byte(group+"\n"+was+"\n"), 0o600); err != nil {
			return err
		}
	}
	for _, d := range devices {
		if err := throttle.SetMax(group, d, throttle.Limit(l)); err != nil {
			return err
		}
	}
	if err := throttle.Join(group, os.Getpid()); err != nil {
		return err
	}
	ms, err := sys.Mounts()
	for _, m := range ms {
		if m.Path == filepath.Join(p.root, mountName) {
			throttle.JoinJournal(group, m.Source)
		}
	}
	return err
}

// unlimitGroup undoes limitGroup. The group goes with its last limit.
func unlimitGroup(root string) error {
	data, err := os.ReadFile(filepath.Join(root, groupNote))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	group, was, _ := strings.Cut(strings.TrimSuffix(string(data), "\n"), "\n")
	if _, err := os.Stat(group); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, d := range loopsOver(filepath.Join(root, imageName)) {
		if err := throttle.SetMax(group, d, throttle.Limit{}); err != nil {
			return err
		}
	}
	if limited, err := throttle.Limited(group); limited || err != nil {
		return err
	}
	return throttle.Dissolve(group, was)
}

// unlimit removes the limit of a scratch directory's devices. The kernel keeps the
// limits of a detached loop device for its next user, so unlimit comes before the
// device is detached.
func unlimit(root string) error {
	if err := unlimitGroup(root); err != nil {
		return err
	}
	group := filepath.Join(root, groupName)
	if !isMounted(group) {
		return nil
	}
	for _, d := range loopsOver(filepath.Join(root, imageName)) {
		if err := throttle.Set(group, d, throttle.Limit{}); err != nil {
			return err
		}
	}
	return nil
}

func isMounted(path string) bool {
	ms, _ := sys.Mounts()
	for _, m := range ms {
		if m.Path == path {
			return true
		}
	}
	return false
}
