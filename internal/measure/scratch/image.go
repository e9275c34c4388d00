package scratch

import (
	"bytes"
	"cmp"
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
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/internal/units"
)

// DefaultSize is the default size of an image, in bytes.
const DefaultSize = 1 << 30

// Options describe an Image.
type Options struct {
	// FS is "ext4", "xfs", "btrfs" or "tmpfs".
	FS string
	// Size in bytes; 0 is DefaultSize.
	Size int64
	// Store is the directory of the image file: its disk is the one measured.
	// "" is the current directory; the directory for temporary files is in memory
	// on many machines.
	Store string
	// Tune are arguments of tune2fs(8) for the new file system, before it is
	// mounted; ext4 only.
	Tune []string
	// Limit is the rate of the device, from the mount until Close. The zero
	// value is no limit.
	Limit Limit
}

// A maker is how one file system is made.
type maker struct {
	min  int64    // smallest size, in bytes
	pkg  string   // Debian package of mkfs
	args []string // of mkfs, without the file
}

var makers = map[string]maker{
	// Without lazy initialisation, which would go on writing during the first
	// measurements. Blocks of 4 KiB whatever the size, as on a disk; an inode
	// for each block, since a directory takes one of both. The journal is the
	// default, stated to be sure.
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

// Image makes a file system in a sparse file and mounts it with the kernel's
// default options, without set-uid programs and device files. It needs Linux and
// root. Cancelling ctx stops Image; a Directory it has returned stays.
//
// The loop device does direct I/O to the image where the file system below can,
// so that blocks are not cached twice and a write is complete when the disk has
// it. The image takes blocks from the disk as it is written to: ratios between
// variants hold, absolute times are not those of the bare disk.
//
// A tmpfs has neither image nor device; only its mount point is in the store.
func Image(ctx context.Context, o Options) (*Directory, error) {
	m := makers[o.FS]
	o.Size = cmp.Or(o.Size, DefaultSize)
	o.Store = cmp.Or(o.Store, ".")
	if err := o.check(m); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("scratch: %s image: %w: only root can mount; run as root, or use a directory of an existing disk", o.FS, fs.ErrPermission)
	}
	mkfs := ""
	if o.FS != "tmpfs" {
		var err error
		if mkfs, err = find("mkfs."+o.FS, m.pkg); err != nil {
			return nil, fmt.Errorf("scratch: %s image: %w", o.FS, err)
		}
		info, err := sys.StatFS(o.Store)
		if err != nil {
			return nil, fmt.Errorf("scratch: %s image: %w", o.FS, err)
		}
		if info.Free < o.Size {
			return nil, fmt.Errorf("scratch: %s image: %w: %s needed, %d MiB free in %s", o.FS, syscall.ENOSPC, units.Size(o.Size), info.Free>>20, o.Store)
		}
	}
	p, err := claim(o.Store, o.FS)
	if err != nil {
		return nil, err
	}
	p.Name = o.FS
	if err := p.build(ctx, o, mkfs, m.args); err != nil {
		return nil, errors.Join(fmt.Errorf("scratch: %s image: %w", o.FS, err), p.Close())
	}
	return p, nil
}

// check returns the first wrong setting, or an error on systems without images.
func (o Options) check(m maker) error {
	if m.min == 0 {
		return setting.Wrong("scratch: Options.FS", o.FS, "%s", strings.Join(Systems(), ", "))
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("scratch: %s image: %w on %s", o.FS, errors.ErrUnsupported, runtime.GOOS)
	}
	if len(o.Tune) > 0 && o.FS != "ext4" {
		return setting.Wrong("scratch: Options.Tune", setting.Text(fmt.Sprintf("%q with %s", o.Tune, o.FS)), "ext4")
	}
	if o.FS == "tmpfs" && o.Limit != (Limit{}) {
		return setting.Refused(errors.ErrUnsupported, "scratch: Options.Limit", setting.Text("set with tmpfs"), "a file system with a device")
	}
	return cmp.Or(
		setting.AtLeast("scratch: Options.Size", setting.Bytes(o.Size), setting.Bytes(m.min)),
		setting.AtLeast("scratch: Options.Limit.IOPS", o.Limit.IOPS, 0),
		setting.AtLeast("scratch: Options.Limit.BytesPerSecond", o.Limit.BytesPerSecond, 0),
	)
}

func (p *Directory) build(ctx context.Context, o Options, mkfs string, args []string) error {
	mnt := filepath.Join(p.root, mountName)
	if err := os.Mkdir(mnt, 0o700); err != nil {
		return err
	}
	var err error
	if o.FS == "tmpfs" {
		err = mount("tmpfs", mnt, o.FS, fmt.Sprintf("size=%d,mode=0700", o.Size))
	} else {
		err = p.buildImage(ctx, o, mnt, mkfs, args)
	}
	if err != nil {
		return err
	}
	p.Path = filepath.Join(mnt, workName)
	if err := os.Mkdir(p.Path, 0o700); err != nil {
		return err
	}
	return ctx.Err()
}

// buildImage makes the image file and its file system, and mounts it on mnt.
func (p *Directory) buildImage(ctx context.Context, o Options, mnt, mkfs string, args []string) error {
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
		return p.limit(o.Limit)
	}
	return nil
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

// find looks for a program in PATH, then in the directories of root's PATH.
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

// ran returns the error of a program that was run, with its output.
func ran(ctx context.Context, program string, out []byte, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, bytes.TrimSpace(out))
}
