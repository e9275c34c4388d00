package env_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/lab/env"
	"github.com/stele-go/stele/lab/run"
)

// What the lab says of an image: this holds both packages against real file
// systems of each kind.
func TestEnvironmentOfImages(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("images need Linux and root")
	}
	for _, c := range []struct {
		fs, journal string
		size        int64
		yes, no     []string
	}{
		{"ext4", "ordered", 64 << 20, []string{"O_TMPFILE", "FALLOC_FL_INSERT_RANGE", "O_DIRECT", "xattr", "acl"}, []string{"FICLONE"}},
		{"xfs", "metadata", 300 << 20, []string{"FICLONE", "FICLONERANGE", "FALLOC_FL_INSERT_RANGE", "FALLOC_FL_UNSHARE_RANGE", "O_DIRECT"}, nil},
		{"btrfs", "n/a", 128 << 20, []string{"FICLONE", "FICLONERANGE", "FALLOC_FL_PUNCH_HOLE"}, []string{"FALLOC_FL_INSERT_RANGE"}},
		{"tmpfs", "n/a", 8 << 20, []string{"O_TMPFILE"}, []string{"FICLONE", "FALLOC_FL_INSERT_RANGE"}},
	} {
		t.Run(c.fs, func(t *testing.T) {
			store := t.TempDir()
			p, err := scratch.Image(t.Context(), scratch.Options{FS: c.fs, Size: c.size, Store: store})
			var path *os.PathError
			if errors.Is(err, os.ErrNotExist) && errors.As(err, &path) ||
				err != nil && (strings.Contains(err.Error(), "is not installed") || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.EPERM)) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				err := p.Close()
				for begun := time.Now(); errors.Is(err, syscall.EBUSY) && time.Since(begun) < time.Minute; {
					err = p.Close() // a process that is being started has copies of our files
				}
				if err != nil {
					t.Error(err)
				}
			}()
			can, err := env.Probe(p.Path)
			if err != nil {
				t.Fatal(err)
			}
			e := can.Environment
			if e.FS != c.fs || e.Journal != c.journal || e.Mount != filepath.Dir(p.Path) || e.TotalBytes > c.size {
				t.Errorf("fs %q, journal %q, mount %q, %d bytes", e.FS, e.Journal, e.Mount, e.TotalBytes)
			}
			warned := map[string]bool{}
			for _, w := range e.Warnings {
				warned[w.Code] = true
			}
			if c.fs == "tmpfs" {
				if e.Device != "" || e.Unknown["device"].Code != run.ReasonInMemory || !warned[run.WarnTmpfs] {
					t.Errorf("%+v", e)
				}
			} else {
				image := filepath.Join(filepath.Dir(e.Mount), "image")
				if !strings.HasPrefix(e.Device, "/dev/loop") || e.Backing != image || e.BackingFS == "" || e.BackingIO == "" {
					t.Errorf("device %q over %q (want %q) on %q, %q", e.Device, e.Backing, image, e.BackingFS, e.BackingIO)
				}
				if !warned[run.WarnLoop] && !warned[run.WarnMemoryDisk] || warned[run.WarnNoJournal] {
					t.Errorf("warnings %+v", e.Warnings)
				}
				under := env.Read(store)
				if e.BackingFS != under.FS {
					t.Errorf("image on %q, store on %q", e.BackingFS, under.FS)
				}
			}
			for _, name := range c.yes {
				if !can.Supports(name) {
					one, _ := can.Get(name)
					t.Errorf("%s: %s (%s)", name, one.Supported, one.Detail)
				}
			}
			for _, name := range c.no {
				if one, _ := can.Get(name); one.Supported != env.No {
					t.Errorf("%s: %s (%s)", name, one.Supported, one.Detail)
				}
			}
		})
	}
}

// A run on a fresh image is comparable with an earlier one on another.
func TestTwoImagesAreOneEnvironment(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("images need Linux and root")
	}
	var envs []run.Environment
	for range 2 {
		p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 32 << 20, Store: t.TempDir()})
		if err != nil {
			t.Skip(err) // why is TestImage's to say
		}
		defer p.Close()
		envs = append(envs, env.Read(p.Path))
	}
	diffs := envs[0].Diff(envs[1])
	for _, d := range diffs {
		if d.Matters {
			t.Errorf("%+v", d)
		}
	}
	if len(diffs) == 0 {
		t.Error("not even the directories differ")
	}
}

// The environment names the image, not the two loop devices between it and a
// file system whose device is limited.
func TestEnvironmentOfALimitedImage(t *testing.T) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("images need Linux and root")
	}
	store := t.TempDir()
	p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 64 << 20, Store: store, Limit: scratch.Limit{IOPS: 10_000}})
	if err != nil {
		t.Skip(err)
	}
	defer p.Close()
	e, under := env.Read(p.Path), env.Read(store)
	image := filepath.Join(filepath.Dir(e.Mount), "image")
	if e.Backing != image || e.BackingFS != under.FS || e.BackingIO == "" {
		t.Errorf("it lies on %q, %q, %q; want %s, %q", e.Backing, e.BackingFS, e.BackingIO, image, under.FS)
	}
}
