package crashtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/sys"
)

// available says why there can be no rig here, or "".
func available(fs fileSystem) string {
	if os.Geteuid() != 0 {
		return "power cuts need root, to mount"
	}
	if !mayMount() {
		return "power cuts need CAP_SYS_ADMIN, to mount; this container withholds it"
	}
	for _, dev := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(dev); err != nil {
			return "power cuts need " + dev + ": " + err.Error()
		}
	}
	if _, err := exec.LookPath(fs.mkfs[0]); err != nil {
		return "power cuts on " + fs.name + " need " + fs.mkfs[0] + ": " + err.Error()
	}
	return ""
}

// mayMount reports whether this process has CAP_SYS_ADMIN, which is bit 21.
func mayMount() bool {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if hex, found := strings.CutPrefix(line, "CapEff:"); found {
			caps, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && caps&(1<<21) != 0
		}
	}
	return false
}

// errUnavailable is why a test is skipped rather than failed.
var errUnavailable = errors.New("not available here")

// A rig is the folder, the process and the files of a recording.
type rig struct {
	fs    fileSystem
	dir   string
	image *os.File // what is on the device now
	log   *os.File
	disk  *exec.Cmd
	stdin io.Closer // of the disk
	diag  bytes.Buffer
}

// newRig starts a disk that holds an empty file system. Its end unmounts what
// is mounted and ends the process, however the test ends.
func newRig(t testing.TB, fs fileSystem) (_ *rig, base *image, err error) {
	r := &rig{fs: fs, dir: t.TempDir()}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{dirDisk, dirFS, dirCut} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o700); err != nil {
			return nil, nil, err
		}
	}
	if r.log, err = scratch(os.O_RDWR | os.O_APPEND); err != nil {
		return nil, nil, err
	}
	if r.image, base, err = makeFS(fs); err != nil {
		return nil, nil, err
	}
	return r, base, r.start()
}

// makeFS makes an empty file system, and returns it twice.
func makeFS(fs fileSystem) (f *os.File, m *image, err error) {
	if f, err = scratch(os.O_RDWR); err != nil {
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

// scratch returns an empty file without a name, in memory where there is room
// for that: containers often have 64 MB of it.
func scratch(flags int) (*os.File, error) {
	const room = 1 << 30
	dir := "/dev/shm"
	if info, err := sys.StatFS(dir); err != nil || info.Free < room {
		dir = os.TempDir()
	}
	named, err := os.CreateTemp(dir, "stele-crashtest-")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(named.Name(), flags, 0)
	return f, errors.Join(err, named.Close(), os.Remove(named.Name()))
}

// start starts the disk and waits until it is ready.
func (r *rig) start() error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("crashtest: find this program, to start the disk: %w", err)
	}
	// Should ServeDisk not be called, this runs no test.
	r.disk = exec.Command(exe, "-test.run=^$")
	// Under the race detector a process sleeps for a second before it exits.
	r.disk.Env = append(os.Environ(), diskEnv+"="+r.dir, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0")
	r.disk.ExtraFiles = []*os.File{fdImage - 3: r.image, fdLog - 3: r.log}
	r.disk.Stderr = &r.diag
	// Ctrl-C must end the test first: the disk then cleans up after it.
	r.disk.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if r.stdin, err = r.disk.StdinPipe(); err != nil {
		return err
	}
	stdout, err := r.disk.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.disk.Start(); err != nil {
		r.disk = nil
		return fmt.Errorf("crashtest: start the disk: %w", err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	if line != "ready\n" {
		r.stdin.Close()
		err := r.disk.Wait()
		r.disk = nil
		return fmt.Errorf("crashtest: the disk does not start (does TestMain call ServeDisk first?): it said %q and ended with %v: %s", line, err, bytes.TrimSpace(r.diag.Bytes()))
	}
	return nil
}

// trusted checks that the loop device hides nothing from the disk: that it
// does not cache, and that it asks for flushes rather than hoping.
func trusted(device string) error {
	block := "/sys/block/" + filepath.Base(device)
	for _, want := range []struct{ file, value string }{
		{"loop/dio", "1"},
		{"queue/write_cache", "write back"},
		{"queue/fua", "0"}, // else a write could be durable without a flush
	} {
		b, err := os.ReadFile(filepath.Join(block, want.file))
		if err != nil {
			return fmt.Errorf("crashtest: is %s a disk that flushes? %w", device, err)
		}
		if got := strings.TrimSpace(string(b)); got != want.value {
			return fmt.Errorf("crashtest: %s/%s is %q; the log would not show every write and flush unless it is %q", block, want.file, got, want.value)
		}
	}
	return nil
}

// position is the length of the log now.
func (r *rig) position() (int64, error) {
	fi, err := r.log.Stat()
	if err != nil {
		return 0, fmt.Errorf("crashtest: length of the log: %w", err)
	}
	return fi.Size(), nil
}

// records returns what is in the first `length` bytes of the log.
func (r *rig) records(length int64) ([]record, error) {
	b := make([]byte, length)
	if _, err := r.log.ReadAt(b, 0); err != nil && length > 0 {
		return nil, fmt.Errorf("crashtest: read the log: %w", err)
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
	if err := trusted(device.Name()); err != nil {
		device.Close()
		return nil, err
	}
	return device, nil
}

// boot mounts the image m, which is lost afterwards, and calls look.
func (r *rig) boot(m *image, look func(dir string)) error {
	f, err := scratch(os.O_RDWR)
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
	look(dir) // should it end the goroutine, the disk will unmount
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
		err = fmt.Errorf("%w: the kernel has no %s: %w", errUnavailable, fs.name, err)
	}
	return err
}

// unmount unmounts dir, which may be busy for a moment.
func unmount(dir string) error { return loopfs.UnmountIdle(dir, time.Minute) }

// close ends the disk, which unmounts what is still mounted.
func (r *rig) close() error {
	var err error
	if r.disk != nil {
		r.stdin.Close()
		if err = r.disk.Wait(); err != nil {
			err = fmt.Errorf("crashtest: the disk ended with %w: %s", err, bytes.TrimSpace(r.diag.Bytes()))
		}
	}
	for _, f := range []*os.File{r.image, r.log} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
