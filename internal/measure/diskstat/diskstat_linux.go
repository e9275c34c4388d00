package diskstat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/sys"
)

// A Disk is the block device that a file system lies on.
type Disk struct {
	Name  string // "nvme0n1p2"
	dir   string // of the device in sysfs
	whole string // of the whole disk: dir, unless the device is a partition
	// noFlushes is why the kernel does not count the device's flushes, or empty.
	noFlushes string
}

// Under returns the block device under dir. The error names the file system if it
// has none.
func Under(dir string) (*Disk, error) {
	st, err := sys.StatPath(dir)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(st.Dev, "0:") {
		return openDisk(st.Dev)
	}
	// Major 0 is an anonymous device. btrfs has one for each subvolume, and
	// names a real one as the source of its mount.
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, err
	}
	mounts, err := sys.Mounts()
	if err != nil {
		return nil, err
	}
	m, ok := sys.FindMount(mounts, path, st)
	if !ok {
		return nil, fmt.Errorf("no mount found for %s", dir)
	}
	src, err := os.Stat(m.Source)
	if err != nil || !filepath.IsAbs(m.Source) || src.Mode()&(fs.ModeDevice|fs.ModeCharDevice) != fs.ModeDevice {
		return nil, fmt.Errorf("%s has no block device of its own", m.FS)
	}
	if st, err = sys.StatPath(m.Source); err != nil {
		return nil, err
	}
	d, err := openDisk(st.Rdev)
	if err == nil && m.FS == "btrfs" {
		err = d.alone()
	}
	return d, err
}

// Named returns the block device of that name in /dev, "/dev/sda" for example.
func Named(name string) (*Disk, error) {
	dir, err := filepath.EvalSymlinks("/sys/class/block/" + strings.ReplaceAll(strings.TrimPrefix(name, "/dev/"), "/", "!"))
	if err != nil {
		return nil, fmt.Errorf("find block device %s in sysfs: %w", name, err)
	}
	return diskIn(dir)
}

// WriteCache is what the device says of its write cache: "write back", "write through", or
// "" where it says nothing.
func (d *Disk) WriteCache() string {
	b, err := os.ReadFile(filepath.Join(d.whole, "queue/write_cache"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func openDisk(number string) (*Disk, error) {
	dir, err := filepath.EvalSymlinks("/sys/dev/block/" + number)
	if err != nil {
		return nil, fmt.Errorf("find block device %s in sysfs: %w", number, err)
	}
	return diskIn(dir)
}

// diskIn opens the device whose sysfs directory is dir.
func diskIn(dir string) (*Disk, error) {
	d := &Disk{Name: filepath.Base(dir), dir: dir, whole: dir}
	if exists(filepath.Join(dir, "partition")) {
		d.whole = filepath.Dir(dir)
	}
	if b, err := os.ReadFile(filepath.Join(d.whole, "queue/iostats")); err == nil && strings.TrimSpace(string(b)) == "0" {
		return nil, fmt.Errorf("%s keeps no statistics: %s is 0", d.Name, filepath.Join(d.whole, "queue/iostats"))
	}
	// The kernel counts flushes where it turns them into requests. Stacked
	// devices (device mapper, md) and memory devices pass them on or serve
	// them without, and show 0 whatever was flushed. Only devices with
	// requests have a directory mq.
	if !exists(filepath.Join(d.whole, "mq")) {
		d.noFlushes = fmt.Sprintf("the kernel does not count the flushes of %s: it has no request queue of its own", d.Name)
	}
	return d, nil
}

// alone returns an error if the btrfs file system on d spans several devices: the
// figures of one would be taken for those of all.
func (d *Disk) alone() error {
	found, err := filepath.Glob("/sys/fs/btrfs/*/devices/" + d.Name)
	if err != nil || len(found) == 0 {
		return err
	}
	all, err := os.ReadDir(filepath.Dir(found[0]))
	if err != nil {
		return err
	}
	if len(all) > 1 {
		return fmt.Errorf("btrfs spans %d devices here, whose figures cannot be told apart", len(all))
	}
	return nil
}

// Stat reads the counters of the device.
func (d *Disk) Stat() (Stat, error) {
	n, err := readDiskStat(d.dir)
	if err != nil {
		return Stat{}, err
	}
	// Fields of Documentation/block/stat.rst. A sector is 512 bytes whatever
	// the device's own are.
	s := Stat{Reads: n[0], ReadBytes: n[2] * 512, Writes: n[4], WriteBytes: n[6] * 512, NoFlushes: d.noFlushes}
	if d.whole != d.dir {
		if n, err = readDiskStat(d.whole); err != nil {
			return Stat{}, err
		}
	}
	if len(n) > 15 {
		s.Flushes = n[15]
	} else if s.NoFlushes == "" {
		s.NoFlushes = "the kernel counts flushes from Linux 5.5 on"
	}
	return s, nil
}

func readDiskStat(dir string) ([]int64, error) {
	name := filepath.Join(dir, "stat")
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var n []int64
	for _, f := range strings.Fields(string(b)) {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		n = append(n, v)
	}
	if len(n) < 11 {
		return nil, fmt.Errorf("%s: %d fields, want 11 or more", name, len(n))
	}
	return n, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}
