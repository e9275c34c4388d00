package scratch

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/internal/measure/throttle"
	"github.com/stele-go/stele/internal/sys"
)

// groupName is the mount point of cgroup v1's blkio hierarchy, in a scratch directory
// whose device is limited.
const groupName = "blkio"

// A Limit is the rate of an image's device, as a cloud volume has one. Reads and
// writes are limited separately, not together as cloud volumes do. 0 is no limit.
//
// The limit is set on the device in the root group of cgroup v1's controller
// blkio, so it holds for every process and for the kernel threads that write the
// journal. A limit of a child group, all that v2 has (io.max), holds for that
// group's processes only: the journal's thread is in none, and an fsync escapes
// the limit.
//
// The image lies under two loop devices, one on the other, and the lower one
// is limited. Linux lets requests for metadata (REQ_META: the journal's) pass
// at once where they are over a limit, and has later ones pay for them
// (__blk_throtl_bio); on the lower device they are no longer marked so.
//
// Image moves this process, and so its children, to the root group. Where the
// kernel cannot limit so, in a container or where v2 has the controller, the error
// of Image says why.
//
// A limit does not simulate a cloud volume's latency or jitter: a request within
// the limits takes the time that the disk under the image takes.
type Limit struct {
	IOPS           int64 // requests a second at the device: after large ones are split and neighbours merged
	BytesPerSecond int64
}

// limit sets or changes the limit of an image made with one.
func (p *Directory) limit(l Limit) error {
	devices := loopsOver(filepath.Join(p.root, imageName))
	group := filepath.Join(p.root, groupName)
	if err := os.Mkdir(group, 0o700); err == nil {
		if err := throttle.MountBlkio(group); err != nil {
			return errors.Join(err, os.Remove(group))
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

// unlimit removes the limit of a scratch directory's devices. The kernel keeps the
// limits of a detached loop device for its next user, so unlimit comes before the
// device is detached.
func unlimit(root string) error {
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
