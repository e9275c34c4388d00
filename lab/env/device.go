package env

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab/run"
)

// lower is what describe needs to follow a mount down to its device.
type lower struct {
	mounts []sys.MountPoint
	stat   func(path string) (sys.Statx, error)
	depth  int // how many file systems lie above
}

// maxLayers bounds the file systems on each other that are followed: more than anybody
// stacks.
const maxLayers = 8

// layers describes the mount m and all that lies beneath it.
func (s system) layers(m sys.MountPoint, l lower) []run.Layer {
	if l.depth++; l.depth > maxLayers {
		return nil
	}
	e := run.Environment{Unknown: map[string]run.Reason{}}
	s.describe(&e, m, l)
	this := run.Layer{FS: e.FS, Mount: e.Mount, Options: e.Options, Journal: e.Journal, Device: e.Device, WriteCache: e.WriteCache, Disks: e.Disks}
	if len(e.Lower) > 0 && e.FS == "overlay" { // the device is that of the layer beneath
		this.Journal, this.Device, this.WriteCache, this.Disks = "", "", "", nil
	}
	return append([]run.Layer{this}, e.Lower...)
}

// mountOf returns the mount that path lies on.
func (l lower) mountOf(path string) (sys.MountPoint, error) {
	st, err := l.stat(path)
	if err != nil {
		return sys.MountPoint{}, err
	}
	m, ok := sys.FindMount(l.mounts, path, st)
	if !ok {
		return m, fmt.Errorf("no mount is above %s", path)
	}
	return m, nil
}

// describe fills in all that follows from the mount of the directory.
func (s system) describe(e *run.Environment, m sys.MountPoint, l lower) {
	e.FS, e.Mount = m.FS, m.Path
	e.Options = strings.Join(run.MountOptions(m.Options+","+m.Super), ",")

	// What an overlay writes goes to the file system of its upper directory.
	if m.FS == "overlay" {
		upper, ok := option(m.Super, "upperdir")
		if !ok {
			s.noDevice(e, run.Reason{Code: run.ReasonNoUpper})
			return
		}
		under, err := l.mountOf(upper)
		if err != nil {
			s.noDevice(e, run.Reason{Code: run.ReasonUpperHidden, Text: err.Error()})
			return
		}
		beneath := s.layers(under, l)
		defer func() { e.Lower = beneath }()
		m, e.BackingFS = under, under.FS
	}

	dir, hidden := s.blockDir(m, l)
	if hidden.Code != "" {
		s.noDevice(e, hidden)
		e.Journal = s.journal(e, m.FS, "")
		return
	}
	e.Journal = s.journal(e, m.FS, filepath.Base(dir))
	s.readDevice(e, dir, l)
	if m.FS == "btrfs" {
		s.btrfsMembers(e, filepath.Base(dir))
	}
}

// notApplicable is the journal of what has none, or of which none is known.
const notApplicable = "n/a"

var deviceFields = []string{"device", "device_id", "model", "rotational", "scheduler", "write_cache"}

func (s system) noDevice(e *run.Environment, reason run.Reason) {
	for _, field := range deviceFields {
		unknown(e, field, reason)
	}
	if e.Journal == "" {
		e.Journal = notApplicable
		unknown(e, "journal", reason)
	}
}

// blockDir returns the directory in /sys of the device that m is mounted from, or why
// there is no such directory.
func (s system) blockDir(m sys.MountPoint, l lower) (string, run.Reason) {
	dev := m.Dev
	if strings.HasPrefix(dev, "0:") { // made up by the file system
		switch {
		case inMemory(m.FS):
			return "", run.Reason{Code: run.ReasonInMemory, Text: m.FS}
		case !strings.HasPrefix(m.Source, "/"):
			return "", run.Reason{Code: run.ReasonNoLocalDevice, Text: m.Source}
		}
		st, err := l.stat(m.Source)
		if err != nil {
			return "", run.Reason{Code: run.ReasonSourceHidden, Text: err.Error()}
		}
		if dev = st.Rdev; strings.HasPrefix(dev, "0:") {
			return "", run.Reason{Code: run.ReasonNoDevice, Text: m.Source}
		}
	}
	dir, err := filepath.EvalSymlinks(s.path("/sys/dev/block/" + dev))
	if err != nil {
		return "", run.Reason{Code: run.ReasonUnknownDevice, Text: dev}
	}
	return dir, run.Reason{}
}

// readBlockDevice describes the block device e.Dir itself.
func (s system) readBlockDevice(e *run.Environment) {
	e.FS, e.Journal = BlockDevice, notApplicable
	for _, field := range []string{"mount", "mount_options", "journal", "free_bytes", "total_bytes"} {
		unknown(e, field, run.Reason{Code: run.ReasonNoFileSystem})
	}
	st, err := sys.StatPath(e.Dir)
	if err != nil {
		s.noDevice(e, why(err))
		return
	}
	dir, err := filepath.EvalSymlinks(s.path("/sys/dev/block/" + st.Rdev))
	if err != nil {
		s.noDevice(e, run.Reason{Code: run.ReasonUnknownDevice, Text: st.Rdev})
		return
	}
	mounts, err := sys.Mounts()
	if err != nil {
		s.noDevice(e, why(err))
		return
	}
	s.readDevice(e, dir, lower{mounts: mounts, stat: sys.StatPath})
}

// journal tells the journal mode of a file system from the device's name in
// /sys. /proc/fs/ext4 and /sys/fs/ext4 are readable by all users.
func (s system) journal(e *run.Environment, fs, device string) string {
	switch fs {
	case "ext4", "ext3", "ext2":
		options, err := s.read("/proc/fs/ext4/" + device + "/options")
		if err == nil && device != "" {
			return parseExt4Journal(options)
		}
		// Without a journal this file says so instead of naming its thread.
		if task, err := s.read("/sys/fs/ext4/" + device + "/journal_task"); err == nil && task == "<none>" {
			return "none"
		}
		unknown(e, "journal", run.Reason{Code: run.ReasonNoOptions, Text: err.Error()})
	case "xfs":
		return "metadata" // always, and only that
	case "btrfs", "zfs", "bcachefs", "f2fs", "nilfs2":
		unknown(e, "journal", run.Reason{Code: run.ReasonCopyOnWrite, Text: fs})
	case "tmpfs", "ramfs":
		unknown(e, "journal", run.Reason{Code: run.ReasonInMemory, Text: fs})
	default:
		unknown(e, "journal", run.Reason{Code: run.ReasonUnknownJournal, Text: fs})
	}
	return notApplicable
}

// readDevice describes the device whose directory in /sys is dir.
func (s system) readDevice(e *run.Environment, dir string, l lower) {
	e.Device = s.deviceName(dir)
	if id, err := readIn(dir, "dev"); err == nil {
		e.DeviceID = id
	} else {
		unknown(e, "device_id", why(err))
	}
	// A partition is a directory within its disk's, which has the queue.
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	if slaves := s.slaves(dir); len(slaves) > 0 {
		for _, sl := range slaves {
			e.Members = append(e.Members, s.deviceName(sl))
		}
	}
	if disks := s.disks(dir, 0); len(disks) != 1 || disks[0] != e.Device {
		e.Disks = disks
	}
	switch v, err := readIn(dir, "queue/rotational"); {
	case err != nil:
		unknown(e, "rotational", why(err))
	case v == "0":
		e.Rotational = "no"
	default:
		e.Rotational = "yes"
	}
	if v, err := readIn(dir, "queue/write_cache"); err == nil {
		e.WriteCache = v
	} else {
		unknown(e, "write_cache", why(err))
	}
	// A device made of one disk queues and is called as that disk.
	disk := s.leaf(dir)
	if v, err := readIn(disk, "queue/scheduler"); err == nil {
		e.Scheduler = parseScheduler(v)
	} else {
		unknown(e, "scheduler", why(err))
	}
	if e.Model = model(disk); e.Model == "" {
		unknown(e, "model", run.Reason{Code: run.ReasonNoModel, Text: filepath.Base(disk)})
	}
	s.readBacking(e, dir, l)
}

func (s system) deviceName(dir string) string {
	uevent, _ := readIn(dir, "uevent")
	if name := parseUevent(uevent)["DEVNAME"]; name != "" {
		return "/dev/" + name
	}
	return "/dev/" + filepath.Base(dir)
}

func (s system) readBacking(e *run.Environment, dir string, l lower) {
	file, err := readIn(dir, "loop/backing_file")
	if err != nil {
		return // not a loop device
	}
	if strings.HasPrefix(file, "/dev/loop") { // one on another: what counts lies under both
		s.readBacking(e, filepath.Join(filepath.Dir(dir), filepath.Base(file)), l)
		return
	}
	e.Backing = file
	switch v, err := readIn(dir, "loop/dio"); {
	case err != nil:
		unknown(e, "backing_io", why(err))
	case v == "1":
		e.BackingIO = "direct"
	default:
		e.BackingIO = "buffered"
	}
	// The kernel marks a file that was removed; its directory may be there.
	m, err := l.mountOf(filepath.Dir(strings.TrimSuffix(file, " (deleted)")))
	if err != nil {
		unknown(e, "backing_fs", why(err))
		return
	}
	e.BackingFS = m.FS
	e.Lower = s.layers(m, l)
}

// slaves returns the directories in /sys of the devices that a device-mapper or
// md device is made of.
func (s system) slaves(dir string) []string {
	links, _ := filepath.Glob(filepath.Join(dir, "slaves", "*"))
	var dirs []string
	for _, link := range links {
		if d, err := filepath.EvalSymlinks(link); err == nil {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// disks returns the devices at the bottom of the one whose directory in /sys is dir.
func (s system) disks(dir string, depth int) []string {
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	slaves := s.slaves(dir)
	if len(slaves) == 0 || depth == maxLayers {
		return []string{s.deviceName(dir)}
	}
	var disks []string
	for _, sl := range slaves {
		for _, d := range s.disks(sl, depth+1) {
			disks = addWord(disks, d)
		}
	}
	return disks
}

// leaf follows single members and partitions down to a disk. It stops at a
// device of several members, which has no one disk.
func (s system) leaf(dir string) string {
	for range 16 { // more levels than anybody stacks
		if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
			dir = filepath.Dir(dir)
			continue
		}
		slaves := s.slaves(dir)
		if len(slaves) != 1 {
			break
		}
		dir = slaves[0]
	}
	return dir
}

// model reads the name that the driver gives a disk: SCSI, SATA, NVMe and
// virtio-scsi under model, memory cards under name.
func model(dir string) string {
	for _, name := range []string{"device/model", "device/name"} {
		if v, err := readIn(dir, name); err == nil && v != "" {
			return v
		}
	}
	return ""
}

// btrfsMembers lists the devices of the btrfs that device belongs to, where
// there are several.
func (s system) btrfsMembers(e *run.Environment, device string) {
	found, _ := filepath.Glob(s.path("/sys/fs/btrfs/*/devices/" + device))
	if len(found) != 1 {
		return
	}
	entries, _ := os.ReadDir(filepath.Dir(found[0]))
	if len(entries) < 2 {
		return
	}
	for _, d := range entries {
		if name := "/dev/" + d.Name(); !slices.Contains(e.Members, name) {
			e.Members = append(e.Members, name)
		}
	}
}

func readIn(dir, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	return strings.TrimSpace(string(data)), err
}

func inMemory(fs string) bool {
	return fs == "tmpfs" || fs == "ramfs" || fs == "devtmpfs"
}
