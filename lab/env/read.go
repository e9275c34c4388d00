// Package env reads the conditions of a measurement: the machine, the system,
// and the file system and device under a directory. Their data is run.Environment.
//
// # Mistakes to avoid
//
//   - Taking an empty field or 0 for an answer. run.Environment.Unknown has the
//     reason for each field that could not be read.
//   - Trusting a virtual disk about itself: WriteCache and Rotational are as the
//     device reports them, and a hypervisor may report anything.
//   - Probing a busy file system while others wait for it: Probe calls syncfs.
package env

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab/run"
)

// look is how long Read watches the processors: long enough for the kernel's
// ticks of 10 ms to make a share, short enough not to be noticed.
const look = 200 * time.Millisecond

// Read returns the fingerprint of this machine and of the directory dir. It
// takes about a fifth of a second, and needs no rights beyond reading /proc
// and /sys.
func Read(dir string) run.Environment { return read(dir, system.readDirectory) }

// ReadDevice returns the fingerprint of this machine and of the block device path, which is
// used without a file system: FS is BlockDevice, and Dir the path.
func ReadDevice(path string) run.Environment { return read(path, system.readBlockDevice) }

// BlockDevice is the FS of a place that is a block device and no directory.
const BlockDevice = "block device"

// read returns the fingerprint of this machine and of dir, which describe reads.
func read(dir string, describe func(s system, e *run.Environment)) run.Environment {
	s := system{root: "/"}
	e := run.Environment{Dir: dir, Unknown: map[string]run.Reason{}}
	if abs, err := filepath.Abs(dir); err == nil {
		e.Dir = abs
	}
	readGo(&e, os.LookupEnv)
	e.OS, e.Arch = runtime.GOOS, runtime.GOARCH
	if host, err := os.Hostname(); err == nil {
		e.Hostname = host
	} else {
		unknown(&e, "hostname", run.ReasonOf(err))
	}
	if runtime.GOOS != "linux" {
		e.CPUs = runtime.NumCPU()
		for _, field := range linuxOnly {
			unknown(&e, field, run.Reason{Code: run.ReasonLinuxOnly})
		}
		e.Warnings = warnings(&e)
		return e
	}
	s.readMachine(&e)
	s.readUse(&e, look)
	describe(s, &e)
	e.Warnings = warnings(&e)
	return e
}

// linuxOnly are the fields that are read from /proc, /sys and Linux's own calls.
var linuxOnly = []string{
	"kernel", "cpu", "memory_bytes", "governor", "throttled", "virtual", "load1", "cpu_busy", "cpu_iowait",
	"cpu_steal", "fs", "mount", "mount_options", "journal", "free_bytes", "total_bytes", "device", "device_id",
	"model", "rotational", "scheduler", "write_cache",
}

func unknown(e *run.Environment, field string, reason run.Reason) { e.Unknown[field] = reason }

func readGo(e *run.Environment, lookup func(string) (string, bool)) {
	e.Go, e.GOMAXPROCS = runtime.Version(), runtime.GOMAXPROCS(0)
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS"} {
		if v, ok := lookup(name); ok {
			if e.GoSettings == nil {
				e.GoSettings = map[string]string{}
			}
			e.GoSettings[name] = v
		}
	}
}

// A system reads files under root: "/", or in tests a tree that looks like
// another machine.
type system struct{ root string }

func (s system) path(name string) string { return filepath.Join(s.root, name) }

// read returns a file without the newline at its end.
func (s system) read(name string) (string, error) {
	data, err := os.ReadFile(s.path(name))
	return strings.TrimRight(string(data), "\n\x00"), err
}

func (s system) exists(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}

// field reads a file into *to, or says why not.
func (s system) field(e *run.Environment, field, name string, to *string) {
	v, err := s.read(name)
	if err != nil {
		unknown(e, field, why(err))
		return
	}
	*to = v
}

// why returns the reason that an error is.
func why(err error) run.Reason {
	var p *fs.PathError
	if errors.As(err, &p) && errors.Is(err, fs.ErrNotExist) {
		return run.Reason{Code: run.ReasonNoFile, Text: p.Path}
	}
	return run.ReasonOf(err)
}

func (s system) readMachine(e *run.Environment) {
	s.field(e, "kernel", "/proc/sys/kernel/osrelease", &e.Kernel)

	info, err := s.read("/proc/cpuinfo")
	cpu := parseCPUInfo(info)
	if e.CPU = cpu.model; e.CPU == "" {
		unknown(e, "cpu", run.Reason{Code: run.ReasonNoCPUModel})
		if err != nil {
			unknown(e, "cpu", why(err))
		}
	}
	e.CPUs = runtime.NumCPU()
	if online, err := s.read("/sys/devices/system/cpu/online"); err == nil {
		if n, err := parseCPUList(online); err == nil {
			e.CPUs = n
		}
	}

	mem, err := s.read("/proc/meminfo")
	if err == nil {
		e.Memory, err = parseMemTotal(mem)
	}
	if err != nil {
		unknown(e, "memory_bytes", why(err))
	}
	s.readGovernor(e)
	s.readThrottled(e)
	e.Virtual = s.virtual(cpu)
}

func (s system) readGovernor(e *run.Environment) {
	files, _ := filepath.Glob(s.path("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	var seen []string
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil {
			seen = addWord(seen, strings.TrimSpace(string(data)))
		}
	}
	if e.Governor = strings.Join(seen, ", "); e.Governor == "" {
		unknown(e, "governor", run.Reason{Code: run.ReasonNoCPUFreq})
	}
}

func addWord(words []string, w string) []string {
	if slices.Contains(words, w) {
		return words
	}
	return append(words, w)
}

// readThrottled adds up the events of all cores. The siblings of a core each
// show the core's count, so a core is counted once.
func (s system) readThrottled(e *run.Environment) {
	files, _ := filepath.Glob(s.path("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"))
	seen := map[string]bool{}
	found := false
	for _, f := range files {
		cpu := filepath.Dir(filepath.Dir(f))
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil {
			continue
		}
		found = true
		pkg, err1 := os.ReadFile(filepath.Join(cpu, "topology/physical_package_id"))
		core, err2 := os.ReadFile(filepath.Join(cpu, "topology/core_id"))
		if err1 == nil && err2 == nil {
			id := string(pkg) + "/" + string(core)
			if seen[id] {
				continue
			}
			seen[id] = true
		}
		e.Throttled += n
	}
	if !found {
		unknown(e, "throttled", run.Reason{Code: run.ReasonNoThrottling})
	}
}

func (s system) readUse(e *run.Environment, d time.Duration) {
	load, err := s.read("/proc/loadavg")
	if err == nil {
		e.Load, err = parseLoad(load)
	}
	if err != nil {
		unknown(e, "load1", why(err))
	}
	before, err := s.cpuTimes()
	if err == nil {
		time.Sleep(d)
		var after cpuTimes
		if after, err = s.cpuTimes(); err == nil {
			e.Busy, e.IOWait, e.Steal, err = after.since(before)
		}
	}
	if err != nil {
		for _, field := range []string{"cpu_busy", "cpu_iowait", "cpu_steal"} {
			unknown(e, field, why(err))
		}
	}
}

func (s system) cpuTimes() (cpuTimes, error) {
	stat, err := s.read("/proc/stat")
	if err != nil {
		return cpuTimes{}, err
	}
	return parseCPUTimes(stat)
}

// readDirectory asks the kernel about the directory itself, and /proc and /sys
// about what it lies on.
func (s system) readDirectory(e *run.Environment) {
	all := func(reason run.Reason) {
		for _, field := range directoryFields {
			if field != "fs" || e.FS == "" {
				unknown(e, field, reason)
			}
		}
	}
	real, err := filepath.EvalSymlinks(e.Dir)
	if err != nil {
		all(why(err))
		unknown(e, "free_bytes", why(err))
		unknown(e, "total_bytes", why(err))
		return
	}
	if info, err := sys.StatFS(real); err != nil {
		unknown(e, "free_bytes", run.ReasonOf(err))
		unknown(e, "total_bytes", run.ReasonOf(err))
	} else {
		e.FreeBytes, e.TotalBytes = info.Free, info.Total
		e.FS = sys.FSName(info.Magic)
	}
	st, err := sys.StatPath(real)
	if err != nil {
		all(why(err))
		return
	}
	mounts, err := sys.Mounts()
	if err != nil {
		all(why(err))
		return
	}
	m, ok := sys.FindMount(mounts, real, st)
	if !ok {
		all(run.Reason{Code: run.ReasonNoMount, Text: real})
		return
	}
	s.describe(e, m, lower{mounts: mounts, stat: sys.StatPath})
}

var directoryFields = []string{
	"fs", "mount", "mount_options", "journal", "device", "device_id", "model", "rotational", "scheduler", "write_cache",
}
