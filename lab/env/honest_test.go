package env

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/lab/run"
)

// measuredSyncs are syncs that take so long each and cause so much at the devices.
func measuredSyncs(took time.Duration, devices ...DeviceRequests) []SyncWay {
	var ways []SyncWay
	for _, w := range syncWays {
		way := SyncWay{Name: w.name, Time: run.Estimate{Median: float64(took)}, Devices: devices}
		if w.name == "write" {
			way.Time.Median, way.Devices = 2000, nil
			for _, d := range devices {
				d.Writes, d.Flushes = 0, 0
				way.Devices = append(way.Devices, d)
			}
		}
		ways = append(ways, way)
	}
	return ways
}

func TestJudge(t *testing.T) {
	ext4 := run.Environment{Dir: "/d", FS: "ext4", Mount: "/d", Journal: "ordered", Device: "/dev/sda", WriteCache: "write back"}
	sda := DeviceRequests{Device: "/dev/sda", WriteCache: "write back", Writes: 2, Flushes: 1}
	with := func(d DeviceRequests, writes, flushes float64) DeviceRequests {
		d.Writes, d.Flushes = writes, flushes
		return d
	}
	dm := DeviceRequests{Device: "/dev/dm-0", WriteCache: "write back", Writes: 2, NoFlushes: "the kernel does not count the flushes of dm-0"}
	loop := DeviceRequests{Device: "/dev/loop0", WriteCache: "write back", Writes: 1, Flushes: 1}
	through := DeviceRequests{Device: "/dev/sdb", WriteCache: "write through", Writes: 1}
	for _, c := range []struct {
		name string
		e    run.Environment
		ways []SyncWay
		want string
		why  string // a part of the reason
	}{
		{"a disk", ext4, measuredSyncs(time.Millisecond, sda), Honest, ""},
		{"a disk without a volatile cache", ext4, measuredSyncs(time.Millisecond, through), Honest, ""},
		{"device mapper over a disk", ext4, measuredSyncs(time.Millisecond, dm, sda), Honest, ""},
		{"device mapper alone", ext4, measuredSyncs(time.Millisecond, dm), CannotTell, "does not count the flushes of dm-0"},
		{"an image", ext4, measuredSyncs(time.Millisecond, loop, sda), Honest, ""},
		{"an image over a layer that swallows", ext4, measuredSyncs(time.Millisecond, loop, with(sda, 0, 0)), NotHonest, "no request at /dev/sda"},
		{"nothing written", ext4, measuredSyncs(time.Millisecond, with(sda, 0, 0)), NotHonest, "causes no request"},
		{"written, not flushed", ext4, measuredSyncs(time.Millisecond, with(sda, 1, 0)), NotHonest, "write cache, which is not flushed"},
		{"too fast for a disk", ext4, measuredSyncs(2*time.Microsecond, sda), NotHonest, "takes 2µs, and no disk"},
		{"nothing to watch", ext4, measuredSyncs(time.Millisecond), CannotTell, "no device"},
		{"tmpfs", run.Environment{Dir: "/t", FS: "tmpfs", Mount: "/t"}, measuredSyncs(time.Microsecond), NotHonest, "in memory"},
		{"rclone", run.Environment{Dir: "/t", FS: "fuse.rclone", Mount: "/t"}, measuredSyncs(time.Millisecond), NotHonest, "does nothing"},
		{"NFS", run.Environment{Dir: "/t", FS: "nfs4", Mount: "/t"}, measuredSyncs(time.Millisecond), CannotTell, "another program or machine"},
		{"a program that writes a disk", run.Environment{FS: "fuse.x", Mount: "/t"}, measuredSyncs(50*time.Microsecond, sda), CannotTell, "another program"},
		{"a slow program", run.Environment{FS: "fuse.x", Mount: "/t"}, measuredSyncs(time.Millisecond, with(sda, 0, 0)), CannotTell, "another program"},
		{"a program that only answers", run.Environment{FS: "fuse.x", Mount: "/t"}, measuredSyncs(20*time.Microsecond, with(sda, 0, 0)), NotHonest, "no disk of this machine is written"},
	} {
		s := Syncs{Ways: c.ways, Caps: run.CapsOf(&c.e)}
		s.judge(&c.e)
		if s.Verdict != c.want || !strings.Contains(strings.Join(s.Why, "; "), c.why) {
			t.Errorf("%s: %s", c.name, s.VerdictLine())
		}
	}
	failed := measuredSyncs(time.Millisecond, sda)
	failed[2].Error = "no O_SYNC"
	s := Syncs{Ways: failed}
	if s.judge(&ext4); s.Verdict != CannotTell || !strings.Contains(s.VerdictLine(), "no O_SYNC") {
		t.Errorf("a way that fails: %s", s.VerdictLine())
	}
}

func TestKnownMounts(t *testing.T) {
	for fs, want := range map[string]string{
		"nfs4": "COMMIT", "ceph": "OSDs", "fuse.juicefs": "writeback", "fuse.rclone": "does nothing", "fuse.sshfs": "fsync@openssh.com",
		"fuse.s3fs": "uploads", "fuse.gcsfuse": "uploads", "9p": "host", "virtiofs": "host", "cifs": "nostrictsync", "fuse.other": "fuse.other",
	} {
		if got := known(&run.Environment{FS: fs}); !strings.Contains(got, want) {
			t.Errorf("%s: %q", fs, got)
		}
		if got := known(&run.Environment{FS: "ext4", Lower: []run.Layer{{FS: fs}}}); !strings.Contains(got, want) {
			t.Errorf("an image on %s: %q", fs, got)
		}
	}
	if got := known(&run.Environment{FS: "ext4"}); got != "" {
		t.Errorf("ext4: %q", got)
	}
}

func TestTreeWarnings(t *testing.T) {
	for _, c := range []struct {
		t    Tree
		want string // a part of the only warning; empty for none
	}{
		{Tree{Entries: 99_999, Bytes: 4 << 20}, ""},
		{Tree{Entries: 100_000, Bytes: 4 << 20}, "/d is crowded: 100000 entries"},
		{Tree{Entries: 1_000_000, More: true}, "more than 1000000 entries"},
		{Tree{Entries: 3, Bytes: 90 << 20}, "was crowded: it has 3 entries, and the directory itself is 90 MiB"},
		{Tree{Mounts: []InnerMount{{Path: "/d/m", FS: "tmpfs", Caps: run.CapsOf(&run.Environment{FS: "tmpfs"})}}}, "There the files are in memory"},
	} {
		c.t.warn("/d")
		if got := fmt.Sprint(c.t.Warnings); c.want == "" && len(c.t.Warnings) > 0 || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c.t, got)
		}
	}
}
