package place

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/stele-go/stele/internal/measure/throttle"
	"github.com/stele-go/stele/internal/sys"
)

// groupName is the mount point of cgroup v1's blkio hierarchy in a place whose
// device is limited.
const groupName = "blkio"

// A Limit is the rate of the volume that an image stands for. The kernel
// limits reads and writes each by itself, and not both together, as cloud
// volumes do. 0 is no limit.
//
// It holds for whoever uses the image, the threads of the kernel that write
// its journal included, as it is set on a device in the root group of cgroup
// v1's controller blkio. A limit of a child group, all that v2 has (io.max),
// holds for that group's processes only: the journal's thread is in none, and
// an fsync of another process passes it by.
//
// The image lies under two loop devices, one on the other, and the lower one
// is limited. Linux lets requests for metadata (REQ_META: the journal's) pass
// at once where they are over a limit, and has later ones pay for them
// (__blk_throtl_bio); on the lower device they are no longer marked so.
//
// This process, and so what it starts, is moved to the root group if it is in
// another. Where the kernel cannot limit so, in a container or where v2 has
// the controller, the error of Image says why.
//
// What a limit does not bring is a cloud volume's latency, nor its jitter: a
// request that is within the limits takes what the disk under the image takes.
type Limit struct {
	IOPS           int64 // requests a second, as the device gets them: a large one is split, neighbours are merged
	BytesPerSecond int64
}

// limit sets or changes the limit of an image that was made with one.
func (p *Place) limit(l Limit) error {
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

// unlimit takes the limit of a place away. The kernel keeps those of a loop
// device when it is detached, and the next to use it would have them: so this
// comes before the device can go.
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
