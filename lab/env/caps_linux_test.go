package env_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/lab/env"
	"github.com/stele-go/stele/lab/run"
)

// mount mounts and returns the mount point, until the end of the test.
func mount(t *testing.T, source, fs, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounts need root")
	}
	target := t.TempDir()
	if err := loopfs.Mount(source, target, fs, options); errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loopfs.UnmountIdle(target, time.Minute); err != nil {
			t.Error(err)
		}
	})
	return target
}

// ext4On makes an ext4 in a file in store and mounts it.
func ext4On(t *testing.T, store, options string, mkfs ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("images need root")
	}
	program, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		t.Skip(err)
	}
	image, err := os.Create(filepath.Join(store, "image"))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	if err := image.Truncate(32 << 20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, append(mkfs, "-q", "-F", image.Name())...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dev, err := loopfs.Attach(image)
	if err != nil {
		t.Skip(err)
	}
	defer dev.Close()
	return mount(t, dev.Name(), "ext4", options)
}

// What the kernel itself says of mounts, from the mount down to the disk. The store of
// the images has caps of its own.
func TestCapsOfMounts(t *testing.T) {
	store := t.TempDir()
	of := func(dir string) (codes []string) {
		e := env.Read(dir)
		for _, c := range run.CapsOf(&e) {
			codes = append(codes, c.Code)
		}
		return codes
	}
	below := of(store)
	for name, c := range map[string]struct {
		dir  func(t *testing.T) string
		want string // of the mount itself
	}{
		"tmpfs":                {func(t *testing.T) string { return mount(t, "tmpfs", "tmpfs", "size=1m") }, run.CapMemory},
		"image in memory":      {func(t *testing.T) string { return ext4On(t, mount(t, "tmpfs", "tmpfs", "size=64m"), "") }, run.CapMemory},
		"ext4":                 {func(t *testing.T) string { return ext4On(t, t.TempDir(), "") }, ""},
		"ext4, no journal":     {func(t *testing.T) string { return ext4On(t, t.TempDir(), "", "-O", "^has_journal") }, run.CapNoJournal},
		"ext4, data=writeback": {func(t *testing.T) string { return ext4On(t, t.TempDir(), "data=writeback") }, run.CapWriteback},
		"ext4, nobarrier":      {func(t *testing.T) string { return ext4On(t, t.TempDir(), "nobarrier") }, run.CapNoBarrier},
		"volatile overlay": {func(t *testing.T) string {
			on := ext4On(t, t.TempDir(), "")
			for _, d := range []string{"lower", "upper", "work"} {
				if err := os.Mkdir(filepath.Join(on, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			return mount(t, "overlay", "overlay", "volatile,lowerdir="+on+"/lower,upperdir="+on+"/upper,workdir="+on+"/work")
		}, run.CapVolatile},
	} {
		t.Run(name, func(t *testing.T) {
			got := of(c.dir(t))
			var want []string
			if c.want != "" {
				want = append(want, c.want)
			}
			if c.want != run.CapMemory { // which does not reach the store
				for _, code := range below {
					if code != c.want {
						want = append(want, code)
					}
				}
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("caps %q, want %q", got, want)
			}
		})
	}
}
