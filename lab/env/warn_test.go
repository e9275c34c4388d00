package env

import (
	"slices"
	"testing"

	"github.com/stele-go/stele/lab/run"
)

func codes(ws []run.Warning) []string {
	var cs []string
	for _, w := range ws {
		cs = append(cs, w.Code)
	}
	return cs
}

func TestWarnings(t *testing.T) {
	// A machine on which nothing is doubtful.
	good := run.Environment{
		Dir: "/data", CPUs: 8, GOMAXPROCS: 8, Load: 0.1, Governor: "performance", FS: "ext4", Mount: "/data",
		Options: "rw,relatime", Journal: "ordered", FreeBytes: 50, TotalBytes: 100, Device: "/dev/nvme0n1p2",
		WriteCache: "write back",
	}
	for _, c := range []struct {
		name   string
		change func(e *run.Environment)
		want   []string
	}{
		{"a good machine", func(e *run.Environment) {}, nil},
		{"no journal", func(e *run.Environment) { e.Journal = "none" }, []string{run.WarnNoJournal}},
		{"journal not known", func(e *run.Environment) { e.Journal = "n/a" }, nil},
		{"nobarrier", func(e *run.Environment) { e.Options = "rw,nobarrier" }, []string{run.WarnNoBarrier}},
		{"tmpfs", func(e *run.Environment) { e.FS = "tmpfs"; e.Device = "" }, []string{run.WarnTmpfs}},
		{"nfs", func(e *run.Environment) { e.FS = "nfs4"; e.Device = "" }, []string{run.WarnNetwork}},
		{"sshfs", func(e *run.Environment) { e.FS = "fuse.sshfs"; e.Device = "" }, []string{run.WarnNetwork}},
		{"fuse", func(e *run.Environment) { e.FS = "fuse.ntfs-3g" }, []string{run.WarnFuse}},
		{"overlay on a disk", func(e *run.Environment) { e.FS = "overlay"; e.BackingFS = "ext4" }, []string{run.WarnOverlay}},
		{"overlay in memory", func(e *run.Environment) { e.FS = "overlay"; e.BackingFS = "tmpfs"; e.Device = "" }, []string{run.WarnTmpfs, run.WarnOverlay}},
		{"zram", func(e *run.Environment) { e.Device = "/dev/zram0" }, []string{run.WarnMemoryDisk}},
		{"image on a disk", func(e *run.Environment) { e.Device = "/dev/loop0"; e.Backing = "/x"; e.BackingFS = "ext4" }, []string{run.WarnLoop}},
		{"image in memory", func(e *run.Environment) { e.Device = "/dev/loop0"; e.Backing = "/x"; e.BackingFS = "tmpfs" }, []string{run.WarnMemoryDisk}},
		{"write through", func(e *run.Environment) { e.WriteCache = "write through" }, nil},
		{"write through, virtual", func(e *run.Environment) { e.WriteCache = "write through"; e.Virtual = "virtual machine" }, []string{run.WarnWriteThrough, run.WarnVirtual}},
		{"full", func(e *run.Environment) { e.FreeBytes = 9 }, []string{run.WarnLowSpace}},
		{"tenth free", func(e *run.Environment) { e.FreeBytes = 10 }, nil},
		{"size not known", func(e *run.Environment) { e.FreeBytes, e.TotalBytes = 0, 0 }, nil},
		{"busy", func(e *run.Environment) { e.Busy = 0.3; e.Steal = 0.5 }, []string{run.WarnBusy}},
		{"load of a moment ago", func(e *run.Environment) { e.Load = 9 }, nil},
		{"waiting", func(e *run.Environment) { e.IOWait = 0.2 }, []string{run.WarnDiskBusy}},
		{"stolen", func(e *run.Environment) { e.Steal = 0.1 }, []string{run.WarnStolen}},
		{"throttled", func(e *run.Environment) { e.Throttled = 1 }, []string{run.WarnThrottled}},
		{"powersave", func(e *run.Environment) { e.Governor = "performance, powersave" }, []string{run.WarnGovernor}},
		{"one processor", func(e *run.Environment) { e.GOMAXPROCS = 1 }, []string{run.WarnFewCPUs}},
	} {
		e := good
		c.change(&e)
		ws := warnings(&e)
		got := codes(ws)
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}
