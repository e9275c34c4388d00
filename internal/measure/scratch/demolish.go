package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/sys"
)

// patience is how long a mount may stay busy after the processes that used it
// were told to exit.
const patience = 5 * time.Second

// demolish removes a scratch directory: mounts, loop devices, files, and last the
// owner file and the directory itself, so that Sweep still recognises what a failure
// or a crash leaves. The caller holds the owner's lock.
func demolish(root string) error {
	if err := unlimit(root); err != nil {
		return err
	}
	if err := unmountAll(root); err != nil {
		return err
	}
	image := filepath.Join(root, imageName)
	for _, device := range loopsOver(image) {
		if err := loopfs.Detach(device, image); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == ownerName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(root, ownerName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unmountAll unmounts the scratch directory's own mount points. It fails if anything
// else is mounted under the directory, so that no foreign file system is emptied.
func unmountAll(root string) error {
	mnt, group := filepath.Join(root, mountName), filepath.Join(root, groupName)
	deadline := time.Now().Add(patience)
	for {
		ms, err := sys.Mounts()
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		own := ""
		for _, m := range ms {
			if m.Path == mnt || m.Path == group {
				own = m.Path
			} else if m.Path == root || strings.HasPrefix(m.Path, root+"/") {
				return fmt.Errorf("scratch: %s: not removed: a %s is mounted at %s; unmount it first", root, m.FS, m.Path)
			}
		}
		if own == "" {
			return nil
		}
		err = loopfs.Unmount(own)
		if errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("%w: a process still uses it (fuser -vm %s names it)", err, own)
		}
		if err != nil {
			return err
		}
	}
}

// backing returns the path of the file under each loop device in use.
func backing() map[string]string {
	paths, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	files := map[string]string{}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil { // detached since
			continue
		}
		device := "/dev/" + filepath.Base(filepath.Dir(filepath.Dir(p)))
		files[device] = strings.TrimSuffix(string(data), "\n")
	}
	return files
}

func loopsOver(image string) []string {
	var devices []string
	for device, file := range backing() {
		if file == image {
			devices = append(devices, device)
		}
	}
	return devices
}
