package throttle

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/loopfs"
)

func TestLimitIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits")
	if err := os.WriteFile(path, []byte("7:1 100\n7:10 200\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dev, want := range map[string]int64{"7:1": 100, "7:10": 200, "7:0": 0} {
		if got, err := limitIn(path, dev); got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", dev, got, err, want)
		}
	}
}

// A limit can be set, read back and taken away. What it does to a device,
// package place measures.
func TestThrottle(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	if err := MountBlkio(dir); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := loopfs.UnmountIdle(dir, time.Minute); err != nil {
			t.Error(err)
		}
	}()
	image, err := os.Create(filepath.Join(t.TempDir(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := image.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	loop, err := loopfs.Attach(image)
	if err != nil {
		t.Skip(err)
	}
	defer loop.Close()
	number, err := os.ReadFile("/sys/class/block/" + filepath.Base(loop.Name()) + "/dev")
	if err != nil {
		t.Fatal(err)
	}
	dev := string(number[:len(number)-1])
	for _, l := range []Limit{{IOPS: 123, BytesPerSecond: 45 << 20}, {IOPS: 124}, {}} {
		if err := Set(dir, loop.Name(), l); err != nil {
			t.Fatal(err)
		}
		for i, want := range throttleValues(l) {
			if got, err := limitIn(filepath.Join(dir, throttleFiles[i]), dev); got != want || err != nil {
				t.Errorf("%+v: %s has %d, %v", l, throttleFiles[i], got, err)
			}
		}
	}
	if err := JoinRoot(dir); err != nil {
		t.Error(err)
	}
	if err := Set(dir, "/dev/no-such-device", Limit{}); err == nil {
		t.Error("a limit of a device that is not there is no error")
	}
}
