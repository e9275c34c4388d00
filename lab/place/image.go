package place

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/sys"
)

// DefaultSize of an image in bytes.
const DefaultSize = 1 << 30

// Options say what an Image is to be.
type Options struct {
	// FS is "ext4", "xfs", "btrfs" or "tmpfs".
	FS string
	// Size in bytes; 0 is DefaultSize.
	Size int64
	// Store is the directory that the image file is put in; it decides which
	// disk is measured. "" is the current directory: the folder for temporary
	// files is in memory on many machines.
	Store string
	// Tune are arguments of tune2fs(8) for the new file system, before it is
	// mounted; ext4 only.
	Tune []string
	// Limit is the rate of the device, from when it is mounted until Close.
	// The zero value is no limit.
	Limit Limit
}

// A maker knows how one file system is made.
type maker struct {
	min  int64    // bytes
	pkg  string   // Debian package of mkfs
	args []string // of mkfs, without the file
}

var makers = map[string]maker{
	// Without lazy initialisation, which would go on writing in the
	// background of the first measurements. Blocks of 4 KiB whatever the
	// size, as on a disk; an inode for each block, since a directory takes
	// one of both. The journal is the default, and asked for all the same.
	"ext4": {32 << 20, "e2fsprogs", []string{
		"-q", "-F", "-b", "4096", "-i", "4096", "-O", "has_journal",
		"-E", "lazy_itable_init=0,lazy_journal_init=0",
	}},
	"xfs":   {300 << 20, "xfsprogs", []string{"-q", "-f"}},
	"btrfs": {128 << 20, "btrfs-progs", []string{"-q", "-f"}},
	"tmpfs": {1 << 20, "", nil},
}

// Systems lists the file systems that Image can make.
func Systems() []string {
	var names []string
	for name := range makers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Image makes a file system in a sparse file and mounts it, without
// set-uid programs and device files and else with the kernel's defaults.
// Linux and root only. Cancelling ctx ends the making, not the place.
//
// The loop device does direct I/O to the image where its file system can, so
// that blocks are not cached twice and a write counts when the disk has it.
// The image takes blocks from the disk as it is written to, so ratios between
// variants hold while absolute times are not those of the bare disk.
//
// A tmpfs has neither image nor device; only its mount point is in the store.
func Image(ctx context.Context, o Options) (*Place, error) {
	m, ok := makers[o.FS]
	if !ok {
		return nil, fmt.Errorf("no image of file system %q: want one of %s", o.FS, strings.Join(Systems(), ", "))
	}
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%s image: %w on %s", o.FS, errors.ErrUnsupported, runtime.GOOS)
	}
	if o.Limit.IOPS < 0 || o.Limit.BytesPerSecond < 0 {
		return nil, fmt.Errorf("%s image: a limit of %d IOPS and %d bytes a second: want none below 0", o.FS, o.Limit.IOPS, o.Limit.BytesPerSecond)
	}
	if o.FS == "tmpfs" && o.Limit != (Limit{}) {
		return nil, fmt.Errorf("tmpfs image: it has no device that could be limited: %w", errors.ErrUnsupported)
	}
	if len(o.Tune) > 0 && o.FS != "ext4" {
		return nil, fmt.Errorf("%s image: tune2fs is for ext4 only", o.FS)
	}
	if o.Size == 0 {
		o.Size = DefaultSize
	}
	if o.Size < m.min {
		return nil, fmt.Errorf("%s image: %s is too small: %s takes at least %s", o.FS, size(o.Size), o.FS, size(m.min))
	}
	if o.Store == "" {
		o.Store = "."
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%s image: %w: only root can mount; run as root, or measure in a directory that is there", o.FS, fs.ErrPermission)
	}
	mkfs := ""
	if o.FS != "tmpfs" {
		var err error
		if mkfs, err = find("mkfs."+o.FS, m.pkg); err != nil {
			return nil, fmt.Errorf("%s image: %w", o.FS, err)
		}
		info, err := sys.StatFS(o.Store)
		if err != nil {
			return nil, fmt.Errorf("%s image: %w", o.FS, err)
		}
		if info.Free < o.Size {
			return nil, fmt.Errorf("%s image: %w: %s wanted, %s free in %s", o.FS, syscall.ENOSPC, size(o.Size), size(info.Free), o.Store)
		}
	}
	p, err := claim(o.Store, o.FS)
	if err != nil {
		return nil, err
	}
	p.Name = o.FS
	if err := p.build(ctx, o, mkfs, m.args); err != nil {
		return nil, errors.Join(fmt.Errorf("%s image: %w", o.FS, err), p.Close())
	}
	return p, nil
}

func (p *Place) build(ctx context.Context, o Options, mkfs string, args []string) error {
	mnt := filepath.Join(p.root, mountName)
	if err := os.Mkdir(mnt, 0o700); err != nil {
		return err
	}
	if o.FS == "tmpfs" {
		if err := mount("tmpfs", mnt, o.FS, fmt.Sprintf("size=%d,mode=0700", o.Size)); err != nil {
			return err
		}
	} else {
		path := filepath.Join(p.root, imageName)
		image, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer image.Close()
		if err := image.Truncate(o.Size); err != nil {
			return err
		}
		out, err := loopfs.Mkfs(ctx, func() ([]byte, error) {
			return exec.CommandContext(ctx, mkfs, append(slices.Clone(args), path)...).CombinedOutput()
		})
		if err := ran(ctx, mkfs, out, err); err != nil {
			return err
		}
		if len(o.Tune) > 0 {
			tune2fs, err := find("tune2fs", "e2fsprogs")
			if err != nil {
				return err
			}
			if err := run(ctx, tune2fs, append(slices.Clone(o.Tune), path)...); err != nil {
				return err
			}
		}
		device, err := loopfs.Attach(image)
		if err != nil {
			return err
		}
		defer device.Close() // the mount keeps it
		limited := o.Limit != (Limit{})
		if limited {
			// See Limit for why there are two.
			if device, err = loopfs.Attach(device); err != nil {
				return err
			}
			defer device.Close()
		}
		if err := mount(device.Name(), mnt, o.FS, ""); err != nil {
			return err
		}
		if limited {
			if err := p.limit(o.Limit); err != nil {
				return err
			}
		}
	}
	p.Path = filepath.Join(mnt, workName)
	if err := os.Mkdir(p.Path, 0o700); err != nil {
		return err
	}
	return ctx.Err()
}

func mount(source, target, fstype, options string) error {
	err := loopfs.Mount(source, target, fstype, options)
	switch {
	case errors.Is(err, syscall.ENODEV):
		return fmt.Errorf("%w: this kernel has no %s", err, fstype)
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: mounting needs CAP_SYS_ADMIN, which a container lacks unless it is privileged", err)
	}
	return err
}

// find looks for a program also where the PATH of an ordinary user ends.
func find(program, pkg string) (string, error) {
	for _, name := range []string{program, "/usr/sbin/" + program, "/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; on Debian: apt-get install %s: %w", program, pkg, exec.ErrNotFound)
}

func run(ctx context.Context, program string, args ...string) error {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return ran(ctx, program, out, err)
}

// ran is the error of a program that was run, with what it said.
func ran(ctx context.Context, program string, out []byte, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, bytes.TrimSpace(out))
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
