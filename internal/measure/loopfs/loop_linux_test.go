package loopfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// loopOver returns the file under a loop device, "" when there is none.
func loopOver(device string) string {
	data, _ := os.ReadFile("/sys/block/" + filepath.Base(device) + "/loop/backing_file")
	return strings.TrimSpace(string(data))
}

func image(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLoop(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip(err)
	}
	mine := image(t)
	device, err := Attach(mine)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	path := device.Name()
	if got := loopOver(path); got != mine.Name() {
		t.Fatalf("%s lies over %q, want %q", path, got, mine.Name())
	}
	// What reaches the device reaches the file.
	if _, err := device.WriteAt([]byte("words"), 4096); err != nil {
		t.Fatal(err)
	}
	if err := device.Sync(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := mine.ReadAt(got, 4096); err != nil || string(got) != "words" {
		t.Errorf("in the file stands %q, %v", got, err)
	}

	device.Close()
	waitDetached(t, path, mine.Name()) // by itself
}

func TestLoopDetach(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip(err)
	}
	mine, other := image(t), image(t)
	device, err := Attach(mine)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	// Kept without a mount or an open file, as no Attach leaves it.
	info, err := unix.IoctlLoopGetStatus64(int(device.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	info.Flags &^= unix.LO_FLAGS_AUTOCLEAR
	if err := unix.IoctlLoopSetStatus64(int(device.Fd()), info); err != nil {
		t.Fatal(err)
	}
	path := device.Name()
	device.Close()
	defer func() { // whatever fails below
		for begun := time.Now(); loopOver(path) == mine.Name() && time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
			Detach(path, mine.Name())
		}
	}()

	if err := Detach(path, other.Name()); err != nil {
		t.Error(err)
	}
	time.Sleep(20 * time.Millisecond)
	if got := loopOver(path); got != mine.Name() {
		t.Errorf("detached, though it lies over another file; now %q", got)
	}
	for range 2 {
		if err := Detach(path, mine.Name()); err != nil {
			t.Error(err)
		}
	}
	waitDetached(t, path, mine.Name())
}

// waitDetached waits for what the kernel may finish after the last close, which
// may be that of another program that looks at all devices.
func waitDetached(t *testing.T, device, file string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(10 * time.Millisecond) {
		if loopOver(device) != file {
			return
		}
	}
	t.Errorf("%s is still attached", device)
}
