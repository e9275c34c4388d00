package power

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stele-go/stele/crashtest"
	"github.com/stele-go/stele/crashtest/internal/scratch"
	"github.com/stele-go/stele/crashtest/internal/serve"
	"github.com/stele-go/stele/internal/measure/loopfs"
)

// unavailable returns an error that is crashtest.ErrUnavailable if the rig cannot
// run for fs here.
func unavailable(fs fileSystem) error {
	missing := func(what string) error {
		return fmt.Errorf("power: cuts on %s need %s: %w", fs.name, what, crashtest.ErrUnavailable)
	}
	if os.Geteuid() != 0 {
		return missing("root, to mount")
	}
	if !serve.CanMount() {
		return missing("CAP_SYS_ADMIN, to mount, which this container withholds")
	}
	for _, dev := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(dev); err != nil {
			return missing(dev + " (" + err.Error() + ")")
		}
	}
	if _, err := exec.LookPath(fs.mkfs[0]); err != nil {
		return missing(fs.mkfs[0] + " (" + err.Error() + ")")
	}
	return nil
}

// A rig is the directory, the process and the files of a recording.
type rig struct {
	fs    fileSystem
	dir   string
	image *os.File // content of the device
	log   *os.File
	disk  *serve.Process
}

// newRig starts a disk that holds an empty file system, which base holds too.
// close ends it.
func newRig(fs fileSystem) (r *rig, base *image, err error) {
	r = &rig{fs: fs}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.dir, err = os.MkdirTemp("", "stele-crashtest-"); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{dirDisk, dirFS, dirCut} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o700); err != nil {
			return nil, nil, err
		}
	}
	if r.log, err = scratch.File(os.O_RDWR | os.O_APPEND); err != nil {
		return nil, nil, err
	}
	if r.image, base, err = makeFS(fs); err != nil {
		return nil, nil, err
	}
	return r, base, r.start()
}

// makeFS makes an empty file system, and returns it as a file and as an image.
func makeFS(fs fileSystem) (f *os.File, m *image, err error) {
	if f, err = scratch.File(os.O_RDWR); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := f.Truncate(fs.size); err != nil {
		return nil, nil, err
	}
	if err := runMkfs(fs, f); err != nil {
		return nil, nil, err
	}
	m, err = readImage(f)
	return f, m, err
}

// runMkfs makes the file system on f.
func runMkfs(fs fileSystem, f *os.File) error {
	args := append(fs.mkfs[:len(fs.mkfs):len(fs.mkfs)], "/proc/self/fd/3")
	out, err := loopfs.Mkfs(context.Background(), func() ([]byte, error) {
		mkfs := exec.Command(args[0], args[1:]...)
		mkfs.ExtraFiles = []*os.File{f}
		return mkfs.CombinedOutput()
	})
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return nil
}

// start starts the disk and waits until it is ready.
func (r *rig) start() (err error) {
	if r.disk, err = serve.Start(diskEnv, r.dir, r.image, r.log); err != nil {
		return fmt.Errorf("start the disk: %w", err)
	}
	if line, _ := bufio.NewReader(r.disk.Out).ReadString('\n'); line != "ready\n" {
		err := r.disk.Close()
		r.disk = nil
		return fmt.Errorf("the disk does not start (does the program call ServeDisk first?): it said %q, and %w", line, err)
	}
	return nil
}

// checkDevice checks that the loop device hides nothing from the disk: it must
// not cache, and must send flushes.
func checkDevice(device string) error {
	block := "/sys/block/" + filepath.Base(device)
	for _, want := range []struct{ file, value string }{
		{"loop/dio", "1"},
		{"queue/write_cache", "write back"},
		{"queue/fua", "0"}, // else a write could be durable without a flush
	} {
		b, err := os.ReadFile(filepath.Join(block, want.file))
		if err != nil {
			return fmt.Errorf("power: check that %s flushes: %w", device, err)
		}
		if got := strings.TrimSpace(string(b)); got != want.value {
			return fmt.Errorf("power: %s/%s is %q; the log would not show every write and flush unless it is %q", block, want.file, got, want.value)
		}
	}
	return nil
}

// position returns the current length of the log.
func (r *rig) position() (int64, error) {
	fi, err := r.log.Stat()
	if err != nil {
		return 0, fmt.Errorf("power: stat the log: %w", err)
	}
	return fi.Size(), nil
}

// records returns the records in the first `length` bytes of the log.
func (r *rig) records(length int64) ([]record, error) {
	b := make([]byte, length)
	if _, err := r.log.ReadAt(b, 0); err != nil && length > 0 {
		return nil, fmt.Errorf("power: read the log: %w", err)
	}
	return parseLog(b, r.fs.size)
}

// mountDisk mounts the file system on the disk.
func (r *rig) mountDisk() (dir string, err error) {
	device, err := r.attachDisk()
	if err != nil {
		return "", err
	}
	defer device.Close()
	dir = filepath.Join(r.dir, dirFS)
	return dir, mount(device, r.fs, dir)
}

// attachDisk puts a loop device over the disk.
func (r *rig) attachDisk() (device *os.File, err error) {
	f, err := os.OpenFile(filepath.Join(r.dir, dirDisk, fileImage), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if device, err = loopfs.Attach(f); err != nil {
		return nil, err
	}
	if err := checkDevice(device.Name()); err != nil {
		device.Close()
		return nil, err
	}
	return device, nil
}

// boot mounts the image m and calls look. It discards later changes to m.
func (r *rig) boot(m *image, look func(dir string)) error {
	f, err := scratch.File(os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := m.writeTo(f); err != nil {
		return err
	}
	dir := filepath.Join(r.dir, dirCut)
	if err := mountImage(f, r.fs, dir); err != nil {
		return err
	}
	look(dir) // if it ends the goroutine, the disk will unmount
	return unmount(dir)
}

// mountImage mounts the file system in f on dir, by a loop device that lasts
// as long as the mount.
func mountImage(f *os.File, fs fileSystem, dir string) error {
	device, err := loopfs.Attach(f)
	if err != nil {
		return err
	}
	return errors.Join(mount(device, fs, dir), device.Close())
}

func mount(device *os.File, fs fileSystem, dir string) error {
	err := loopfs.Mount(device.Name(), dir, fs.name, fs.opts)
	if errors.Is(err, syscall.ENODEV) {
		err = fmt.Errorf("%w: the kernel has no %s: %w", crashtest.ErrUnavailable, fs.name, err)
	}
	return err
}

// unmount unmounts dir, and retries while it is busy, for a minute.
func unmount(dir string) error { return loopfs.UnmountIdle(dir, time.Minute) }

// close ends the disk, which unmounts what is still mounted.
func (r *rig) close() (err error) {
	if r.disk != nil {
		if err = r.disk.Close(); err != nil {
			err = fmt.Errorf("power: the disk %w", err)
		}
	}
	for _, f := range []*os.File{r.image, r.log} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	for _, name := range []string{dirDisk, dirFS, dirCut, ""} {
		if r.dir != "" {
			err = errors.Join(err, ignoreNotExist(os.Remove(filepath.Join(r.dir, name))))
		}
	}
	return err
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
