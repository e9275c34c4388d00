package env_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		dir     func(t *testing.T) string
		want    string // of the mount itself
		verdict string // on its syncs
	}{
		"tmpfs":                {func(t *testing.T) string { return mount(t, "tmpfs", "tmpfs", "size=1m") }, run.CapMemory, env.NotHonest},
		"image in memory":      {func(t *testing.T) string { return ext4On(t, mount(t, "tmpfs", "tmpfs", "size=64m"), "") }, run.CapMemory, env.NotHonest},
		"ext4":                 {func(t *testing.T) string { return ext4On(t, t.TempDir(), "") }, "", env.Honest},
		"ext4, no journal":     {func(t *testing.T) string { return ext4On(t, t.TempDir(), "", "-O", "^has_journal") }, run.CapNoJournal, env.Honest},
		"ext4, data=writeback": {func(t *testing.T) string { return ext4On(t, t.TempDir(), "data=writeback") }, run.CapWriteback, env.Honest},
		"ext4, nobarrier":      {func(t *testing.T) string { return ext4On(t, t.TempDir(), "nobarrier") }, run.CapNoBarrier, env.NotHonest},
		"volatile overlay": {func(t *testing.T) string {
			on := ext4On(t, t.TempDir(), "")
			for _, d := range []string{"lower", "upper", "work"} {
				if err := os.Mkdir(filepath.Join(on, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			return mount(t, "overlay", "overlay", "volatile,lowerdir="+on+"/lower,upperdir="+on+"/upper,workdir="+on+"/work")
		}, run.CapVolatile, env.NotHonest},
	} {
		t.Run(name, func(t *testing.T) {
			dir := c.dir(t)
			got := of(dir)
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
			e := env.Read(dir)
			syncs, err := env.ProbeSyncs(dir, &e)
			if err != nil {
				t.Fatal(err)
			}
			wantVerdict := c.verdict
			if wantVerdict == env.Honest && !onADisk(below, syncs) {
				wantVerdict = syncs.Verdict // as the store's own
			}
			if syncs.Verdict != wantVerdict || len(syncs.Ways) != 5 {
				t.Errorf("%s: %+v", syncs.VerdictLine(), syncs.Ways)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 1 { // lost+found
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// onADisk reports whether the store is one whose syncs can be honest: neither in memory
// nor kept by another.
func onADisk(caps []string, s *env.Syncs) bool {
	for _, c := range caps {
		if c != run.CapNoJournal && c != run.CapWriteback {
			return false
		}
	}
	return len(s.Ways[0].Devices) > 1 // the image and a disk
}

// A block device is described itself: as the disk that it is, down to what lies beneath.
func TestReadDevice(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loop devices need root")
	}
	inMemory := func(e run.Environment) bool {
		return slices.ContainsFunc(run.CapsOf(&e), func(c run.Cap) bool { return c.Code == run.CapMemory })
	}
	for name, store := range map[string]func(t *testing.T) string{
		"in memory": func(t *testing.T) string { return mount(t, "tmpfs", "tmpfs", "size=8m") },
		"on a disk": func(t *testing.T) string { return ext4On(t, t.TempDir(), "") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := store(t)
			image, err := os.Create(filepath.Join(dir, "image"))
			if err != nil {
				t.Fatal(err)
			}
			defer image.Close()
			if err := image.Truncate(4 << 20); err != nil {
				t.Fatal(err)
			}
			dev, err := loopfs.Attach(image)
			if err != nil {
				t.Skip(err)
			}
			defer dev.Close()
			e := env.ReadDevice(dev.Name())
			if e.FS != env.BlockDevice || e.Dir != dev.Name() || e.Device != dev.Name() || e.Backing != image.Name() || e.Mount != "" {
				t.Errorf("%s: %+v", dev.Name(), e)
			}
			if got, want := inMemory(e), inMemory(env.Read(dir)); got != want || name == "in memory" && !got {
				t.Errorf("in memory: %v, and its store: %v", got, want)
			}
		})
	}
	if e := env.ReadDevice("/dev/no-such-device"); e.Device != "" || e.Unknown["device"].Code == "" {
		t.Errorf("a device that is not there: %q, %+v", e.Device, e.Unknown["device"])
	}
}

func TestProbeTree(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := env.ProbeTree(dir)
	if err != nil || tree.Entries != 3 || tree.More || len(tree.Mounts) > 0 || len(tree.Warnings) > 0 {
		t.Errorf("%+v, %v", tree, err)
	}
	at := mount(t, "tmpfs", "tmpfs", "size=1m")
	if tree, err = env.ProbeTree(filepath.Dir(at)); err != nil {
		t.Fatal(err)
	}
	if len(tree.Mounts) != 1 || tree.Mounts[0].Path != at || tree.Mounts[0].FS != "tmpfs" || len(tree.Mounts[0].Caps) != 1 || len(tree.Warnings) != 1 {
		t.Errorf("%+v", tree)
	}
	if tree, err = env.ProbeTree(at); err != nil || len(tree.Mounts) != 0 {
		t.Errorf("the mount itself is below itself: %+v, %v", tree, err)
	}
	if _, err := env.ProbeTree(filepath.Join(dir, "gone")); err == nil {
		t.Error("a directory that is not there is counted")
	}
}
