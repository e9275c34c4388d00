package env

import (
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// Limits past which a warning is given.
const (
	busyShare  = 0.25 // of all processors' time used by others
	waitShare  = 0.10 // of it waiting for a disk
	stealShare = 0.02 // of it taken by the hypervisor
	freeShare  = 0.10 // of the file system still free
)

// warnings are the reasons to doubt a measurement in e. It makes no system calls.
func warnings(e *run.Environment) []run.Warning {
	var ws []run.Warning
	warn := func(code string) { ws = append(ws, run.Warning{Code: code}) }
	kind := func(fs string) {
		switch {
		case inMemory(fs):
			warn(run.WarnTmpfs)
		case isNetwork(fs):
			warn(run.WarnNetwork)
		case strings.HasPrefix(fs, "fuse"):
			warn(run.WarnFuse)
		}
	}
	kind(e.FS)
	if e.FS == "overlay" {
		warn(run.WarnOverlay)
		kind(e.BackingFS)
	}
	if e.Journal == "none" {
		warn(run.WarnNoJournal)
	}
	if hasOption(e.Options, "nobarrier") || hasOption(e.Options, "barrier=0") {
		warn(run.WarnNoBarrier)
	}
	warnDevice(e, warn)
	if e.TotalBytes > 0 && float64(e.FreeBytes) < freeShare*float64(e.TotalBytes) {
		warn(run.WarnLowSpace)
	}
	warnMachine(e, warn)
	return ws
}

func warnDevice(e *run.Environment, warn func(code string)) {
	if e.Device == "" {
		return
	}
	disk := strings.TrimRight(filepath.Base(e.Device), "0123456789")
	switch {
	case disk == "zram" || disk == "ram" || disk == "pmem":
		warn(run.WarnMemoryDisk)
	case e.Backing != "" && inMemory(e.BackingFS):
		warn(run.WarnMemoryDisk)
	case e.Backing != "":
		warn(run.WarnLoop)
	case e.WriteCache == "write through" && e.Virtual != "":
		warn(run.WarnWriteThrough)
	}
}

func warnMachine(e *run.Environment, warn func(code string)) {
	switch {
	case e.Busy > busyShare:
		warn(run.WarnBusy)
	case e.IOWait > waitShare:
		warn(run.WarnDiskBusy)
	case e.Steal > stealShare:
		warn(run.WarnStolen)
	}
	if e.Throttled > 0 {
		warn(run.WarnThrottled)
	}
	if strings.Contains(e.Governor, "powersave") {
		warn(run.WarnGovernor)
	}
	if e.Virtual != "" {
		warn(run.WarnVirtual)
	}
	if e.GOMAXPROCS == 1 {
		warn(run.WarnFewCPUs)
	}
}

func isNetwork(fs string) bool {
	return run.RemoteFS(fs) || fs == "gfs2" || fs == "ocfs2"
}
