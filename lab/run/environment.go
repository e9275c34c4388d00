package run

import (
	"slices"
	"strings"
)

// An Environment describes a machine and one directory on it. A field that could not
// be read is empty or 0, and Unknown says why.
type Environment struct {
	// The machine.
	Hostname  string  `json:"hostname"`
	OS        string  `json:"os"`     // "linux"
	Arch      string  `json:"arch"`   // "amd64"
	Kernel    string  `json:"kernel"` // release
	CPU       string  `json:"cpu"`    // model
	CPUs      int     `json:"cpus"`   // online
	Memory    int64   `json:"memory_bytes"`
	Governor  string  `json:"governor"`  // CPU frequency governor
	Throttled int64   `json:"throttled"` // thermal throttle events since boot, all cores
	Virtual   string  `json:"virtual"`   // hypervisor or container; empty on bare metal
	Load      float64 `json:"load1"`     // load average of the last minute
	// Shares of all processors' time during a short look, 0 to 1.
	Busy   float64 `json:"cpu_busy"`   // running something
	IOWait float64 `json:"cpu_iowait"` // idle, with a task waiting for a disk
	Steal  float64 `json:"cpu_steal"`  // taken by the hypervisor for others
	// The Go side.
	Go         string            `json:"go"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	Pinned     string            `json:"pinned_cpus,omitempty"` // processors of the blocks, "0,2-3"; empty for all
	GoSettings map[string]string `json:"go_settings,omitempty"` // GOGC, GOMEMLIMIT, GODEBUG where set
	// The directory.
	Dir        string `json:"dir"`
	FS         string `json:"fs"`            // "ext4"
	Mount      string `json:"mount"`         // mount point
	Options    string `json:"mount_options"` // of mount and super block
	Journal    string `json:"journal"`       // "ordered", "none", "n/a" with a reason in Unknown
	FreeBytes  int64  `json:"free_bytes"`
	TotalBytes int64  `json:"total_bytes"`
	// The device under it.
	Device     string `json:"device"`      // "/dev/nvme0n1p2"
	DeviceID   string `json:"device_id"`   // "259:2"; empty where there is none
	Model      string `json:"model"`       // of the disk
	Rotational string `json:"rotational"`  // "yes", "no" or ""
	Scheduler  string `json:"scheduler"`   // I/O scheduler
	WriteCache string `json:"write_cache"` // "write back" or "write through"
	Backing    string `json:"backing"`     // the file under a loop device; empty for others
	BackingFS  string `json:"backing_fs"`  // the file system under a loop device or an overlay; else empty
	BackingIO  string `json:"backing_io"`  // "direct" or "buffered": how a loop device reaches Backing; else empty
	// Members are the devices that Device is made of, where it is a
	// device-mapper, md or multi-device btrfs one: "/dev/sda2".
	Members []string `json:"members,omitempty"`
	// Disks are the devices at the bottom of Device, where they are not Device itself:
	// the disk of a partition, the disks under a device-mapper or md device.
	Disks []string `json:"disks,omitempty"`
	// Lower are the file systems that this one lies on, the nearest first: under an
	// overlay, or under the file of a loop device.
	Lower []Layer `json:"lower,omitempty"`
	// Unknown says, by JSON name, why a field could not be read.
	Unknown map[string]Reason `json:"unknown,omitempty"`
	// Warnings are reasons to doubt a measurement here.
	Warnings []Warning `json:"warnings,omitempty"`
}

// A Layer is a mounted file system and the device under it. Its fields are those of
// Environment.
type Layer struct {
	FS         string   `json:"fs"`
	Mount      string   `json:"mount"`
	Options    string   `json:"mount_options"`
	Journal    string   `json:"journal"`
	Device     string   `json:"device,omitempty"`
	WriteCache string   `json:"write_cache,omitempty"`
	Disks      []string `json:"disks,omitempty"`
}

// Codes of warnings about a place. The values are in its Environment, or those that the
// code names.
const (
	WarnNoJournal    = "no-journal"
	WarnNoBarrier    = "no-barrier"
	WarnTmpfs        = "tmpfs"
	WarnMemoryDisk   = "memory-disk"
	WarnOverlay      = "overlay"
	WarnNetwork      = "network-fs"
	WarnFuse         = "fuse"
	WarnLoop         = "loop"
	WarnWriteThrough = "write-through"
	WarnLowSpace     = "low-space"
	WarnBusy         = "busy"      // other programs use the processors
	WarnDiskBusy     = "disk-busy" // processors wait for a disk
	WarnStolen       = "stolen"    // the hypervisor takes the processors
	WarnThrottled    = "throttled"
	WarnGovernor     = "governor"
	WarnVirtual      = "virtual"
	WarnFewCPUs      = "few-cpus"
	WarnSiblings     = "smt-siblings" // blocks are pinned to processors of one core: Text
	WarnLimited      = "limited"      // the device is limited to the rates Text, of a volume that counts N bytes as one request; 0 counts each request once
	WarnLimitGroup   = "limit-group"  // the limit is one of cgroup v2
	WarnBeside       = "beside"       // N other processes measured on this machine at the same time
)

// GoSettingsText returns the settings of Go that were set, ordered by name:
// "GODEBUG=madvdontneed=1 GOGC=50".
func (e *Environment) GoSettingsText() string {
	var s []string
	for k, v := range e.GoSettings {
		s = append(s, k+"="+v)
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}
