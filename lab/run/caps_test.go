package run

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
)

func capCodes(caps []Cap) string {
	var codes []string
	for _, c := range caps {
		codes = append(codes, c.Code)
	}
	return strings.Join(codes, " ")
}

func TestCapsOf(t *testing.T) {
	disk := Environment{FS: "ext4", Mount: "/d", Options: "rw", Journal: "ordered", Device: "/dev/sda1", WriteCache: "write back"}
	tmpfs := Layer{FS: "tmpfs", Mount: "/t", Options: "rw", Journal: "n/a"}
	for _, c := range []struct {
		name   string
		change func(e *Environment)
		want   string
	}{
		{"a disk", func(e *Environment) {}, ""},
		{"no journal", func(e *Environment) { e.Journal = "none" }, CapNoJournal},
		{"journal not known", func(e *Environment) { e.Journal = "n/a" }, ""},
		{"vfat", func(e *Environment) { e.FS, e.Journal = "vfat", "n/a" }, CapNoJournal},
		{"data=writeback", func(e *Environment) { e.Journal = "writeback" }, CapWriteback},
		{"tmpfs", func(e *Environment) { *e = Environment{FS: "tmpfs", Mount: "/t"} }, CapMemory},
		{"zram", func(e *Environment) { e.Device = "/dev/zram0" }, CapMemory},
		{"a partition of a RAM disk", func(e *Environment) { e.Device, e.Disks = "/dev/ram0p1", []string{"/dev/ram0"} }, CapMemory},
		{"md over zram", func(e *Environment) { e.Device, e.Disks = "/dev/md0", []string{"/dev/sda", "/dev/zram1"} }, CapMemory},
		{"persistent memory", func(e *Environment) { e.Device = "/dev/pmem0" }, ""},
		{"nobarrier", func(e *Environment) { e.Options = "rw,nobarrier" }, CapNoBarrier},
		{"barrier=0, cache not known", func(e *Environment) { e.Options, e.WriteCache = "rw,barrier=0", "" }, CapNoBarrier},
		{"nobarrier, no cache", func(e *Environment) { e.Options, e.WriteCache = "rw,nobarrier", "write through" }, ""},
		{"image on a disk", func(e *Environment) {
			e.Device, e.Backing, e.BackingFS = "/dev/loop0", "/d/image", "ext4"
			e.Lower = []Layer{{FS: "ext4", Mount: "/d", Journal: "ordered", Device: "/dev/sda1"}}
		}, ""},
		{"image in memory", func(e *Environment) {
			e.Device, e.Backing, e.BackingFS, e.Lower = "/dev/loop0", "/t/image", "tmpfs", []Layer{tmpfs}
		}, CapMemory},
		{"image in memory, of an older run", func(e *Environment) { e.Device, e.Backing, e.BackingFS = "/dev/loop0", "/t/image", "tmpfs" }, CapMemory},
		{"image on a file system without a journal", func(e *Environment) {
			e.Device, e.Lower = "/dev/loop0", []Layer{{FS: "ext4", Journal: "none"}}
		}, CapNoJournal},
		{"image on NFS", func(e *Environment) { e.Device, e.Lower = "/dev/loop0", []Layer{{FS: "nfs4", Mount: "/n"}} }, CapServer},
		{"overlay on a disk", func(e *Environment) {
			e.FS, e.BackingFS, e.Lower = "overlay", "ext4", []Layer{{FS: "ext4", Journal: "ordered"}}
		}, ""},
		{"volatile overlay", func(e *Environment) {
			e.FS, e.Options, e.Lower = "overlay", "rw,volatile", []Layer{{FS: "ext4", Journal: "ordered"}}
		}, CapVolatile},
		{"volatile overlay, as newer kernels name it", func(e *Environment) {
			e.FS, e.Options, e.Lower = "overlay", "rw,fsync=volatile", []Layer{{FS: "ext4", Journal: "ordered"}}
		}, CapVolatile},
		{"overlay in memory", func(e *Environment) { e.FS, e.BackingFS, e.Lower = "overlay", "tmpfs", []Layer{tmpfs} }, CapMemory},
		{"NFS", func(e *Environment) { *e = Environment{FS: "nfs4", Mount: "/n"} }, CapServer},
		{"SMB", func(e *Environment) { *e = Environment{FS: "cifs", Mount: "/n", Options: "rw,nostrictsync"} }, CapNoSync + " " + CapServer},
		{"rclone", func(e *Environment) { *e = Environment{FS: "fuse.rclone", Mount: "/n"} }, CapNoSync + " " + CapServer},
		{"a program", func(e *Environment) { *e = Environment{FS: "fuse", Mount: "/n"} }, CapProgram},
		{"f2fs without checkpoints", func(e *Environment) { e.FS, e.Options = "f2fs", "rw,checkpoint=disable:10%" }, CapNoSync},
		{"f2fs without flushes", func(e *Environment) { e.FS, e.Options = "f2fs", "rw,fsync_mode=nobarrier" }, CapNoBarrier},
	} {
		e := disk
		c.change(&e)
		if got := capCodes(CapsOf(&e)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestHere(t *testing.T) {
	power, kill := Writes(durability.Power, durability.OldOrNew), Writes(durability.Kill, durability.OldOrNew)
	none, reads := Writes(durability.None, durability.Torn), WritesNothing()
	for _, c := range []struct {
		e       Environment
		promise Promise
		want    Promise
		codes   string
	}{
		{Environment{FS: "tmpfs"}, power, kill, CapMemory},
		{Environment{FS: "tmpfs"}, kill, kill, ""},
		{Environment{FS: "tmpfs"}, none, none, ""},
		{Environment{FS: "tmpfs"}, reads, reads, ""},
		{Environment{FS: "ext4", Journal: "writeback"}, power, power, ""},
		{Environment{FS: "ext4", Journal: "writeback"}, kill, Writes(durability.Kill, durability.Torn), CapWriteback},
		{Environment{FS: "ext4", Journal: "writeback"}, Writes(durability.Kill, durability.Prefix), Writes(durability.Kill, durability.Prefix), ""},
		{Environment{FS: "nfs"}, power, power, CapServer},
		{Environment{FS: "nfs"}, kill, kill, ""},
		{Environment{FS: "fuse.rclone"}, power, kill, CapNoSync},
	} {
		pl := Place{Environment: c.e, Caps: CapsOf(&c.e)}
		here, caps := pl.here(c.promise)
		if here != c.want || capCodes(caps) != c.codes {
			t.Errorf("%s keeps of %v: %v for %q, want %v for %q", c.e.FS, c.promise, here, capCodes(caps), c.want, c.codes)
		}
	}
}

// What is shown is capped, what is compared is not: two ways of one promise stay
// comparable, and those of two do not become so.
func TestCapsDoNotChangeWhatIsCompared(t *testing.T) {
	r := simulated(1, 8, newDisk(1, 0.01), 1)
	r.Results[0].Variants[1].Promise = powerPrefix
	r.Places = []Place{{Name: r.Results[0].Place, Environment: Environment{FS: "tmpfs", Mount: "/t"}}}
	r.Analyse()
	v := r.Results[0].Variants[1]
	if v.Promise != powerPrefix || v.Here != killPrefix || !slices.Equal(v.Capped, []string{CapMemory}) {
		t.Errorf("promises %v, here %v for %q", v.Promise, v.Here, v.Capped)
	}
	if len(r.Results[0].Refused) != 1 {
		t.Errorf("refused: %+v", r.Results[0].Refused)
	}
	// It comes back from a file, and is derived anew.
	var file bytes.Buffer
	if err := r.Write(&file); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Results[0].Variants[1]; got.Here != killPrefix || capCodes(again.Places[0].Caps) != CapMemory {
		t.Errorf("read again: here %v, caps %+v", got.Here, again.Places[0].Caps)
	}
	again.Places[0].Environment.FS = "ext4"
	again.Analyse()
	if got := again.Results[0].Variants[1]; got.Here != powerPrefix || got.Capped != nil {
		t.Errorf("on a disk: here %v for %q", got.Here, got.Capped)
	}
}
