package env

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab/run"
)

// machine lays out the files of a made-up machine. A value "-> x" is a
// symlink to x, seen from the root.
func machine(t *testing.T, files map[string]string) system {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(filepath.Join(root, target), path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Skip(err) // no symlinks, or no such names
		}
	}
	return system{root: root}
}

// stats answers for the paths it knows.
type statsOf map[string]sys.Statx

func (s statsOf) stat(path string) (sys.Statx, error) {
	if st, ok := s[path]; ok {
		return st, nil
	}
	return sys.Statx{}, &os.PathError{Op: "statx", Path: path, Err: os.ErrNotExist}
}

// disk adds a disk's files under /sys to m and returns its directory there.
func disk(m map[string]string, dir, dev, rotational, scheduler, cache, model string) {
	name := filepath.Base(dir)
	m[dir+"/dev"] = dev + "\n"
	m[dir+"/uevent"] = "MAJOR=1\nDEVNAME=" + name + "\nDEVTYPE=disk\n"
	m[dir+"/queue/rotational"] = rotational + "\n"
	m[dir+"/queue/scheduler"] = scheduler + "\n"
	m[dir+"/queue/write_cache"] = cache + "\n"
	if model != "" {
		m[dir+"/device/model"] = model + "   \n"
	}
	m["/sys/dev/block/"+dev] = "-> " + dir
}

func partition(m map[string]string, dir, dev string) {
	m[dir+"/dev"] = dev + "\n"
	m[dir+"/uevent"] = "DEVNAME=" + filepath.Base(dir) + "\n"
	m[dir+"/partition"] = "1\n"
	m["/sys/dev/block/"+dev] = "-> " + dir
}

func mountsOf(t *testing.T, lines ...string) []sys.MountPoint {
	t.Helper()
	ms, err := sys.ParseMounts(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func TestDescribe(t *testing.T) {
	const (
		nvme = "/sys/devices/pci0/nvme/nvme0/nvme0n1"
		sda  = "/sys/devices/pci0/ata1/block/sda"
		sdb  = "/sys/devices/pci0/ata2/block/sdb"
		dm0  = "/sys/devices/virtual/block/dm-0"
		md0  = "/sys/devices/virtual/block/md0"
		loop = "/sys/devices/virtual/block/loop3"
	)
	files := map[string]string{}
	disk(files, nvme, "259:0", "0", "[none] mq-deadline", "write back", "Fast Disk 1")
	partition(files, nvme+"/nvme0n1p2", "259:2")
	disk(files, sda, "8:0", "1", "none [bfq]", "write through", "Spinner")
	partition(files, sda+"/sda1", "8:1")
	disk(files, sdb, "8:16", "1", "mq-deadline", "write back", "Spinner B")
	disk(files, dm0, "253:0", "0", "none", "write back", "")
	files[dm0+"/slaves/nvme0n1p2"] = "-> " + nvme + "/nvme0n1p2"
	disk(files, md0, "9:0", "1", "none", "write back", "")
	files[md0+"/slaves/sda1"] = "-> " + sda + "/sda1"
	files[md0+"/slaves/sdb"] = "-> " + sdb
	disk(files, loop, "7:3", "0", "[none]", "write back", "")
	files[loop+"/loop/backing_file"] = "/store/a b/image (deleted)\n"
	files[loop+"/loop/dio"] = "1\n"
	files["/proc/fs/ext4/nvme0n1p2/options"] = "rw\nbarrier\ndata=ordered\ncommit=5\n"
	files["/proc/fs/ext4/dm-0/options"] = "rw\ndata=journal\n"
	files["/proc/fs/ext4/md0/options"] = "rw\nbarrier\n"
	files["/sys/fs/ext4/sda1/journal_task"] = "<none>\n"
	files["/sys/fs/ext4/sdb/journal_task"] = "123\n"
	files["/sys/fs/btrfs/1234-uuid/devices/sda1"] = "-> " + sda + "/sda1"
	files["/sys/fs/btrfs/1234-uuid/devices/sdb"] = "-> " + sdb
	s := machine(t, files)

	disks := func(names ...string) []string { return names }
	fastDisk := disks("/dev/nvme0n1")
	onStore := []run.Layer{{FS: "ext4", Mount: "/store", Options: "rw", Journal: "ordered", Device: "/dev/nvme0n1p2", WriteCache: "write back", Disks: fastDisk}}
	const store = "40 1 259:2 / /store rw - ext4 /dev/nvme0n1p2 rw"
	st := statsOf{
		"/dev/sda1":      {Rdev: "8:1"},
		"/dev/zero":      {Rdev: "0:0"},
		"/store/a b":     {Dev: "259:2"},
		"/store/upper":   {Dev: "259:2"},
		"/store/notthis": {Dev: "259:2"},
	}
	for _, c := range []struct {
		name, mount string
		want        run.Environment
		unknown     map[string]string // field: part of the code and text of the reason
	}{
		{
			"partition", store,
			run.Environment{FS: "ext4", Mount: "/store", Options: "rw", Journal: "ordered", Device: "/dev/nvme0n1p2", DeviceID: "259:2",
				Model: "Fast Disk 1", Rotational: "no", Scheduler: "none", WriteCache: "write back", Disks: fastDisk},
			nil,
		},
		{
			"device mapper over a partition", "41 1 253:0 / /x rw,noatime - ext4 /dev/mapper/crypt rw,data=journal",
			run.Environment{FS: "ext4", Mount: "/x", Options: "rw,noatime,data=journal", Journal: "journal", Device: "/dev/dm-0", DeviceID: "253:0",
				Model: "Fast Disk 1", Rotational: "no", Scheduler: "none", WriteCache: "write back", Members: []string{"/dev/nvme0n1p2"}, Disks: fastDisk},
			nil,
		},
		{
			"md of two, no journal", "41 1 9:0 / /x rw - ext4 /dev/md0 rw",
			run.Environment{FS: "ext4", Mount: "/x", Options: "rw", Journal: "none", Device: "/dev/md0", DeviceID: "9:0",
				Rotational: "yes", Scheduler: "none", WriteCache: "write back", Members: []string{"/dev/sda1", "/dev/sdb"}, Disks: disks("/dev/sda", "/dev/sdb")},
			map[string]string{"model": "no-model md0"},
		},
		{
			"no effective options, but no journal thread", "41 1 8:1 / /x rw - ext4 /dev/sda1 rw",
			run.Environment{FS: "ext4", Mount: "/x", Options: "rw", Journal: "none", Device: "/dev/sda1", DeviceID: "8:1",
				Model: "Spinner", Rotational: "yes", Scheduler: "bfq", WriteCache: "write through", Disks: disks("/dev/sda")},
			nil,
		},
		{
			"a journal of unknown mode", "41 1 8:16 / /x rw - ext4 /dev/sdb rw",
			run.Environment{FS: "ext4", Mount: "/x", Options: "rw", Journal: "n/a", Device: "/dev/sdb", DeviceID: "8:16",
				Model: "Spinner B", Rotational: "yes", Scheduler: "mq-deadline", WriteCache: "write back"},
			map[string]string{"journal": "no-options open "},
		},
		{
			"loop", "41 1 7:3 / /x rw - xfs /dev/loop3 rw",
			run.Environment{FS: "xfs", Mount: "/x", Options: "rw", Journal: "metadata", Device: "/dev/loop3", DeviceID: "7:3",
				Rotational: "no", Scheduler: "none", WriteCache: "write back",
				Backing: "/store/a b/image (deleted)", BackingFS: "ext4", BackingIO: "direct", Lower: onStore},
			map[string]string{"model": "no-model loop3"},
		},
		{
			"btrfs: no device number, two devices", "41 1 0:50 /@ /x rw - btrfs /dev/sda1 rw,subvol=/@",
			run.Environment{FS: "btrfs", Mount: "/x", Options: "rw,subvol=/@", Journal: "n/a", Device: "/dev/sda1", DeviceID: "8:1",
				Model: "Spinner", Rotational: "yes", Scheduler: "bfq", WriteCache: "write through", Members: []string{"/dev/sda1", "/dev/sdb"}, Disks: disks("/dev/sda")},
			map[string]string{"journal": "copy-on-write btrfs"},
		},
		{
			"overlay", "41 1 0:51 / /x rw - overlay overlay rw,lowerdir=/l,upperdir=/store/upper",
			run.Environment{FS: "overlay", Mount: "/x", Options: "rw,lowerdir=/l,upperdir=/store/upper", Journal: "ordered", Device: "/dev/nvme0n1p2",
				DeviceID: "259:2", Model: "Fast Disk 1", Rotational: "no", Scheduler: "none", WriteCache: "write back", BackingFS: "ext4", Disks: fastDisk, Lower: onStore},
			nil,
		},
		{
			"overlay seen from inside", "41 1 0:51 / /x rw - overlay overlay rw,upperdir=/var/lib/upper",
			run.Environment{FS: "overlay", Mount: "/x", Options: "rw,upperdir=/var/lib/upper", Journal: "n/a"},
			map[string]string{"device": "upper-hidden statx /var/lib/upper", "journal": "upper-hidden", "write_cache": "upper-hidden"},
		},
		{
			"network", "41 1 0:52 / /x rw - nfs4 server:/export rw,vers=4.2",
			run.Environment{FS: "nfs4", Mount: "/x", Options: "rw,vers=4.2", Journal: "n/a"},
			map[string]string{"device": "no-local-device server:/export", "journal": "unknown-journal nfs4"},
		},
		{
			"memory", "41 1 0:53 / /x rw - tmpfs tmpfs rw,size=1k",
			run.Environment{FS: "tmpfs", Mount: "/x", Options: "rw,size=1k", Journal: "n/a"},
			map[string]string{"device": "in-memory tmpfs", "journal": "in-memory tmpfs", "scheduler": "in-memory tmpfs"},
		},
		{
			"source is no device", "41 1 0:54 / /x rw - odd /dev/zero rw",
			run.Environment{FS: "odd", Mount: "/x", Options: "rw", Journal: "n/a"},
			map[string]string{"device": "no-device /dev/zero", "journal": "unknown-journal odd"},
		},
		{
			"device not in /sys", "41 1 99:1 / /x rw - vfat /dev/gone rw",
			run.Environment{FS: "vfat", Mount: "/x", Options: "rw", Journal: "n/a"},
			map[string]string{"device": "unknown-device 99:1", "journal": "unknown-journal vfat"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ms := mountsOf(t, c.mount, store)
			e := run.Environment{Unknown: map[string]run.Reason{}}
			s.describe(&e, ms[0], lower{mounts: ms, stat: st.stat})
			unknown := e.Unknown
			e.Unknown = nil
			if got, want := fmt.Sprintf("%+v", e), fmt.Sprintf("%+v", c.want); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for field, part := range c.unknown {
				if got := unknown[field].Code + " " + unknown[field].Text; !strings.HasPrefix(got, part) {
					t.Errorf("unknown %s: %q, want %q at its beginning", field, got, part)
				}
			}
			for field, reason := range unknown {
				if c.want.Device != "" && c.unknown[field] == "" {
					t.Errorf("unknown %s: %+v", field, reason)
				}
			}
		})
	}
}

func TestReadMachine(t *testing.T) {
	files := map[string]string{
		"/proc/sys/kernel/osrelease":                         "6.18.1\n",
		"/proc/cpuinfo":                                      "model name\t: A CPU\nflags\t\t: fpu sse\n",
		"/proc/meminfo":                                      "MemTotal:       1000 kB\nMemFree: 1 kB\n",
		"/sys/devices/system/cpu/online":                     "0-3\n",
		"/sys/devices/system/cpu/cpu0/topology/core_id":      "0\n",
		"/sys/devices/system/cpu/cpu1/topology/core_id":      "0\n",
		"/sys/devices/system/cpu/cpu2/topology/core_id":      "1\n",
		"/sys/devices/system/cpu/cpufreq/policy0/irrelevant": "",
	}
	for cpu, governor := range []string{"performance", "performance", "powersave"} {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/", cpu)
		files[dir+"cpufreq/scaling_governor"] = governor + "\n"
		files[dir+"topology/physical_package_id"] = "0\n"
	}
	files["/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"] = "5\n"
	files["/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"] = "5\n" // its sibling
	files["/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count"] = "2\n"
	e := run.Environment{Unknown: map[string]run.Reason{}}
	machine(t, files).readMachine(&e)
	if e.Kernel != "6.18.1" || e.CPU != "A CPU" || e.CPUs != 4 || e.Memory != 1000<<10 ||
		e.Governor != "performance, powersave" || e.Throttled != 7 || e.Virtual != "" || len(e.Unknown) != 0 {
		t.Errorf("%+v", e)
	}

	e = run.Environment{Unknown: map[string]run.Reason{}}
	machine(t, nil).readMachine(&e)
	for _, field := range []string{"kernel", "cpu", "memory_bytes", "governor", "throttled"} {
		if e.Unknown[field].Code == "" {
			t.Errorf("no reason for %s", field)
		}
	}
}

func TestReadUse(t *testing.T) {
	e := run.Environment{Unknown: map[string]run.Reason{}}
	machine(t, map[string]string{"/proc/loadavg": "1.25 0 0 1/2 3\n"}).readUse(&e, 0)
	if e.Load != 1.25 || e.Unknown["load1"].Code != "" || !strings.Contains(e.Unknown["cpu_busy"].Text, "/proc/stat") {
		t.Errorf("%+v", e)
	}
}

func TestVirtual(t *testing.T) {
	flag := cpuInfo{hypervisor: true}
	for _, c := range []struct {
		name  string
		files map[string]string
		cpu   cpuInfo
		want  string
	}{
		{"bare metal", map[string]string{"/sys/class/dmi/id/sys_vendor": "Dell Inc.\n", "/proc/1/cgroup": "0::/init.scope\n"}, cpuInfo{}, ""},
		{"bare metal of a cloud", map[string]string{"/sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "/sys/class/dmi/id/product_name": "m5.metal\n"}, cpuInfo{}, ""},
		{"flag only", nil, flag, "virtual machine"},
		{"flag and firmware", map[string]string{"/sys/class/dmi/id/sys_vendor": "QEMU\n", "/sys/class/dmi/id/product_name": "Standard PC\n"}, flag, "virtual machine (QEMU Standard PC)"},
		{"arm64, by firmware", map[string]string{"/sys/class/dmi/id/sys_vendor": "QEMU\n"}, cpuInfo{}, "virtual machine (QEMU)"},
		{"arm64, by device tree", map[string]string{"/proc/device-tree/hypervisor/compatible": "linux,kvm"}, cpuInfo{}, "virtual machine"},
		{"xen", map[string]string{"/sys/hypervisor/type": "xen\n"}, flag, "virtual machine (xen)"},
		{"docker", map[string]string{"/.dockerenv": ""}, cpuInfo{}, "container (docker)"},
		{"podman", map[string]string{"/run/.containerenv": ""}, cpuInfo{}, "container (podman)"},
		{"pod in a machine", map[string]string{"/proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, flag, "virtual machine, container (kubepods)"},
	} {
		if got := machine(t, c.files).virtual(c.cpu); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
