package env

import (
	"fmt"
	"github.com/stele-go/stele/lab/run"
	"path/filepath"
	"strings"
)

// Limits past which a warning is given.
const (
	busyShare  = 0.25 // of all processors' time used by others
	waitShare  = 0.10 // of it waiting for a disk
	stealShare = 0.02 // of it taken by the hypervisor
	freeShare  = 0.10 // of the file system still free
)

// warnings looks at what was found out; it asks the system nothing.
func warnings(e *run.Environment) []run.Warning {
	var ws []run.Warning
	warn := func(code, format string, args ...any) {
		ws = append(ws, run.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
	}
	kind := func(fs string) {
		switch {
		case inMemory(fs):
			warn(run.WarnTmpfs, "%s lies on %s, which is memory: no disk is measured, a sync does nothing and nothing survives a power cut. Measure in a folder on the disk that will be used.", e.Dir, fs)
		case isNetwork(fs):
			warn(run.WarnNetwork, "%s lies on %s: another machine, or the host of this one, answers, and its load and cache are part of every figure. Measure where the files will be, several times, and do not take the figures for a local disk's.", e.Dir, fs)
		case strings.HasPrefix(fs, "fuse"):
			warn(run.WarnFuse, "%s lies on %s: every call goes through a program in user space, whose speed is what is measured, and which may ignore a sync. Measure on the file system beneath it.", e.Dir, fs)
		}
	}
	kind(e.FS)
	if e.FS == "overlay" {
		warn(run.WarnOverlay, "%s lies on an overlay, as the root of a container does: names are looked up in every layer, and the first write to a file of a lower layer copies it whole. Measure in a volume, or on the host.", e.Dir)
		kind(e.BackingFS)
	}
	if e.Journal == "none" {
		warn(run.WarnNoJournal, "The file system under %s has no journal: creating and syncing cost less than usual, and after a power cut it has to be repaired and may lose what was synced. Measure on a file system with a journal, an image for example.", e.Dir)
	}
	if hasOption(e.Options, "nobarrier") || hasOption(e.Options, "barrier=0") {
		warn(run.WarnNoBarrier, "%s is mounted with nobarrier: a sync does not empty the disk's cache, so it is fast, and what it reports as safe may be gone after a power cut. Mount it without that option.", e.Mount)
	}
	warnDevice(e, warn)
	if e.TotalBytes > 0 && float64(e.FreeBytes) < freeShare*float64(e.TotalBytes) {
		warn(run.WarnLowSpace, "Only %.0f %% of the file system under %s is free: a full one searches longer for room and scatters files. Free some space, or measure elsewhere.", 100*float64(e.FreeBytes)/float64(e.TotalBytes), e.Dir)
	}
	warnMachine(e, warn)
	return ws
}

func warnDevice(e *run.Environment, warn func(code, format string, args ...any)) {
	if e.Device == "" {
		return
	}
	disk := strings.TrimRight(filepath.Base(e.Device), "0123456789")
	switch {
	case disk == "zram" || disk == "ram" || disk == "pmem":
		warn(run.WarnMemoryDisk, "%s is memory used as a disk: figures say nothing of a real disk. Measure in a folder on the disk that will be used.", e.Device)
	case e.Backing != "" && inMemory(e.BackingFS):
		warn(run.WarnMemoryDisk, "The image under %s lies on %s, which is memory: a sync costs nothing. Put the image on the disk that is to be measured.", e.Device, e.BackingFS)
	case e.Backing != "":
		warn(run.WarnLoop, "%s is a file used as a disk, so each write passes two file systems: ratios between variants hold, absolute times are not those of a disk. For those, measure in a folder.", e.Device)
	case e.WriteCache == "write through" && e.Virtual != "":
		warn(run.WarnWriteThrough, "The virtual disk %s says that it has no write cache, so a sync sends it no flush; whether the host writes at once cannot be seen from here. Fast syncs here do not show that data is safe.", e.Device)
	}
}

func warnMachine(e *run.Environment, warn func(code, format string, args ...any)) {
	switch {
	case e.Busy > busyShare:
		warn(run.WarnBusy, "Other programs used %.0f %% of the processors just now (load %.2f on %d): they compete with what is measured. End them and measure again.", 100*e.Busy, e.Load, e.CPUs)
	case e.IOWait > waitShare:
		warn(run.WarnBusy, "Processors waited for a disk %.0f %% of the time just now: somebody else is using one. Wait until it is done and measure again.", 100*e.IOWait)
	case e.Steal > stealShare:
		warn(run.WarnBusy, "The hypervisor took %.0f %% of the processors' time for other machines just now. Measure at a quieter time, or with more rounds.", 100*e.Steal)
	}
	if e.Throttled > 0 {
		warn(run.WarnThrottled, "The processor was slowed down by heat %d times since boot: the same code may take longer later in a run. Cool the machine, or bound the clock rate, and measure again.", e.Throttled)
	}
	if strings.Contains(e.Governor, "powersave") {
		warn(run.WarnGovernor, "The frequency governor is %s: the clock rate is low or follows the load, so short work looks slower than it is. Set it to performance while measuring.", e.Governor)
	}
	if e.Virtual != "" {
		warn(run.WarnVirtual, "This machine is not bare (%s): neighbours, limits and the host's cache add noise that cannot be seen from here. Trust differences well above the noise floor, and repeat the run at another time.", e.Virtual)
	}
	if e.GOMAXPROCS == 1 {
		warn(run.WarnFewCPUs, "Go has one processor here: the collector and the kernel's own work interrupt what is measured. Measure with two or more.")
	}
}

func isNetwork(fs string) bool {
	switch fs {
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "virtiofs", "vboxsf", "afs", "lustre", "gfs2", "ocfs2",
		"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.gcsfuse":
		return true
	}
	return false
}
