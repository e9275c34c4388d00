package env

import (
	"slices"
	"strings"
	"testing"
)

func codes(ws []Warning) []string {
	var cs []string
	for _, w := range ws {
		cs = append(cs, w.Code)
	}
	return cs
}

func TestWarnings(t *testing.T) {
	// A machine on which nothing is doubtful.
	good := Environment{
		Dir: "/data", CPUs: 8, GOMAXPROCS: 8, Load: 0.1, Governor: "performance", FS: "ext4", Mount: "/data",
		Options: "rw,relatime", Journal: "ordered", FreeBytes: 50, TotalBytes: 100, Device: "/dev/nvme0n1p2",
		WriteCache: "write back",
	}
	for _, c := range []struct {
		name   string
		change func(e *Environment)
		want   []string
	}{
		{"a good machine", func(e *Environment) {}, nil},
		{"no journal", func(e *Environment) { e.Journal = "none" }, []string{WarnNoJournal}},
		{"journal not known", func(e *Environment) { e.Journal = "n/a" }, nil},
		{"nobarrier", func(e *Environment) { e.Options = "rw,nobarrier" }, []string{WarnNoBarrier}},
		{"tmpfs", func(e *Environment) { e.FS = "tmpfs"; e.Device = "" }, []string{WarnTmpfs}},
		{"nfs", func(e *Environment) { e.FS = "nfs4"; e.Device = "" }, []string{WarnNetwork}},
		{"sshfs", func(e *Environment) { e.FS = "fuse.sshfs"; e.Device = "" }, []string{WarnNetwork}},
		{"fuse", func(e *Environment) { e.FS = "fuse.ntfs-3g" }, []string{WarnFuse}},
		{"overlay on a disk", func(e *Environment) { e.FS = "overlay"; e.BackingFS = "ext4" }, []string{WarnOverlay}},
		{"overlay in memory", func(e *Environment) { e.FS = "overlay"; e.BackingFS = "tmpfs"; e.Device = "" }, []string{WarnTmpfs, WarnOverlay}},
		{"zram", func(e *Environment) { e.Device = "/dev/zram0" }, []string{WarnMemoryDisk}},
		{"image on a disk", func(e *Environment) { e.Device = "/dev/loop0"; e.Backing = "/x"; e.BackingFS = "ext4" }, []string{WarnLoop}},
		{"image in memory", func(e *Environment) { e.Device = "/dev/loop0"; e.Backing = "/x"; e.BackingFS = "tmpfs" }, []string{WarnMemoryDisk}},
		{"write through", func(e *Environment) { e.WriteCache = "write through" }, nil},
		{"write through, virtual", func(e *Environment) { e.WriteCache = "write through"; e.Virtual = "virtual machine" }, []string{WarnWriteThrough, WarnVirtual}},
		{"full", func(e *Environment) { e.FreeBytes = 9 }, []string{WarnLowSpace}},
		{"tenth free", func(e *Environment) { e.FreeBytes = 10 }, nil},
		{"size not known", func(e *Environment) { e.FreeBytes, e.TotalBytes = 0, 0 }, nil},
		{"busy", func(e *Environment) { e.Busy = 0.3; e.Steal = 0.5 }, []string{WarnBusy}},
		{"load of a moment ago", func(e *Environment) { e.Load = 9 }, nil},
		{"waiting", func(e *Environment) { e.IOWait = 0.2 }, []string{WarnBusy}},
		{"stolen", func(e *Environment) { e.Steal = 0.1 }, []string{WarnBusy}},
		{"throttled", func(e *Environment) { e.Throttled = 1 }, []string{WarnThrottled}},
		{"powersave", func(e *Environment) { e.Governor = "performance, powersave" }, []string{WarnGovernor}},
		{"one processor", func(e *Environment) { e.GOMAXPROCS = 1 }, []string{WarnFewCPUs}},
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
		for _, w := range ws {
			if len(w.Text) < 60 || !strings.HasSuffix(w.Text, ".") || strings.Contains(w.Text, "%!") {
				t.Errorf("%s: text %q", c.name, w.Text)
			}
		}
	}
}
