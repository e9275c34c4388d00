package run

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-go/stele/durability"
)

// A Cap is a condition of a place for which less survives there than variants promise,
// or for which nobody here can know.
type Cap struct {
	Code string `json:"code"` // one of the Cap constants
	On   string `json:"on"`   // the mount point or the device that it is about
	// Level is the most that a finished write survives here.
	Level durability.Level `json:"level"`
	// After, with Only, is the state after a crash that the one promise Only comes
	// down to; other promises are not touched. Both are nil for a cap of all.
	After *durability.After `json:"after_crash,omitempty"`
	Only  *Promise          `json:"only,omitempty"`
}

// Codes of a Cap.
const (
	// CapMemory: the files are in memory (tmpfs, ramfs), or their device is (zram, a
	// RAM disk, a null device).
	CapMemory = "memory"
	// CapNoBarrier: a sync sends no flush (nobarrier, barrier=0), and the device has a
	// write cache, or does not tell.
	CapNoBarrier = "no-barrier"
	// CapNoJournal: the file system keeps no journal and writes in place. A sync does
	// write and flush, but a power cut leaves a file system that has to be repaired,
	// and the repair may move or remove what was synced.
	CapNoJournal = "no-journal"
	// CapVolatile: an overlay mounted volatile, which drops every sync.
	CapVolatile = "volatile"
	// CapNoSync: a file system that takes a sync and does nothing.
	CapNoSync = "no-sync"
	// CapWriteback: ext4 with data=writeback, whose journal does not order data before
	// the rename that names them.
	CapWriteback = "writeback"
	// CapServer and CapProgram lower nothing: a server, or a program behind FUSE, is
	// trusted with the sync, and what it does cannot be seen.
	CapServer  = "server"
	CapProgram = "program"
)

// Doubt reports whether the cap lowers nothing, and only says who is trusted.
func (c Cap) Doubt() bool { return c.Code == CapServer || c.Code == CapProgram }

// here returns what the caps of the place leave of p, and those that apply.
func (pl *Place) here(p Promise) (here Promise, apply []Cap) {
	here = p
	if !p.Writes() {
		return p, nil
	}
	for _, c := range pl.Caps {
		switch {
		case c.Doubt():
			if p.Level == durability.Power {
				apply = append(apply, c)
			}
		case c.Only != nil:
			if p == *c.Only && c.After != nil {
				here.After, apply = *c.After, append(apply, c)
			}
		case p.Level < c.Level:
			here.Level, apply = max(here.Level, c.Level), append(apply, c)
		}
	}
	if here.Level != p.Level { // who is trusted with a sync that is lost anyway
		apply = slices.DeleteFunc(apply, Cap.Doubt)
	}
	return here, apply
}

// here is Place.here of the place of that name, with the codes of the caps.
func (r *Run) here(place string, p Promise) (here Promise, codes []string) {
	i := slices.IndexFunc(r.Places, func(pl Place) bool { return pl.Name == place })
	if i < 0 {
		return p, nil
	}
	here, caps := r.Places[i].here(p)
	for _, c := range caps {
		codes = append(codes, c.Code)
	}
	return here, codes
}

// CapsOf derives the caps of a place from what is known of its file system and the
// layers beneath. A run from before Environment.Lower has less of it: the file system
// under an overlay or an image by name only.
func CapsOf(e *Environment) []Cap {
	top := Layer{e.FS, e.Mount, e.Options, e.Journal, e.Device, e.WriteCache, slices.Concat(e.Members, e.Disks)}
	lower := e.Lower
	if e.FS == "overlay" && len(lower) > 0 {
		top.Journal, top.Device, top.WriteCache, top.Disks = "", "", "", nil // those of the layer beneath
	} else if e.BackingFS != "" && len(lower) == 0 {
		lower = []Layer{{FS: e.BackingFS, Mount: e.Backing}}
	}
	var caps []Cap
	for _, l := range append([]Layer{top}, lower...) {
		for _, c := range l.caps() {
			if !slices.ContainsFunc(caps, func(o Cap) bool { return o.Code == c.Code }) {
				caps = append(caps, c)
			}
		}
	}
	return caps
}

// memoryDevice are the devices whose blocks are memory, or nowhere. A pmem device is not
// one of them: it may be either.
var memoryDevice = regexp.MustCompile(`^(zram|ram|nullb)[0-9]+`)

// inPlace are file systems that have no journal and write metadata in place, where the
// kernel's file system knows no other way.
var inPlace = []string{"ext2", "vfat", "msdos", "exfat", "minix"}

// caps are those of one layer.
func (l Layer) caps() []Cap {
	on := l.Mount
	if on == "" {
		on = l.FS
	}
	var caps []Cap
	kill := func(code, on string) { caps = append(caps, Cap{Code: code, On: on, Level: durability.Kill}) }
	switch l.FS {
	case "tmpfs", "ramfs", "devtmpfs", "hugetlbfs":
		kill(CapMemory, on)
	}
	for _, dev := range append([]string{l.Device}, l.Disks...) {
		if memoryDevice.MatchString(path.Base(dev)) {
			kill(CapMemory, dev)
			break
		}
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(MountOptions(l.Options), func(o string) bool { return slices.Contains(options, o) })
	}
	if has("nobarrier", "barrier=0", "fsync_mode=nobarrier") && l.WriteCache != "write through" {
		kill(CapNoBarrier, on)
	}
	switch {
	case l.FS == "overlay" && has("volatile", "fsync=volatile"):
		kill(CapVolatile, on)
	case l.dropsSyncs(has):
		kill(CapNoSync, on)
	}
	switch {
	case l.Journal == "none" || slices.Contains(inPlace, l.FS):
		kill(CapNoJournal, on)
	case l.Journal == "writeback":
		renamed, torn := Writes(durability.Kill, durability.OldOrNew), durability.Torn
		caps = append(caps, Cap{Code: CapWriteback, On: on, Level: durability.Kill, After: &torn, Only: &renamed})
	}
	switch {
	case RemoteFS(l.FS):
		caps = append(caps, Cap{Code: CapServer, On: on})
	case strings.HasPrefix(l.FS, "fuse"):
		caps = append(caps, Cap{Code: CapProgram, On: on})
	}
	return caps
}

// dropsSyncs reports whether the file system answers a sync without doing it:
//   - rclone's mount: Fsync does nothing (cmd/mount/file.go, cmd/cmount/fs.go).
//   - goofys: fsync is ignored on purpose (kahing/goofys#154).
//   - SMB with nostrictsync: the client sends no flush (mount.cifs(8)).
//   - f2fs with checkpoint=disable: fsync returns at once (fs/f2fs/file.c).
func (l Layer) dropsSyncs(has func(options ...string) bool) bool {
	switch l.FS {
	case "fuse.rclone", "fuse.goofys":
		return true
	case "cifs", "smb3":
		return has("nostrictsync")
	case "f2fs":
		return slices.ContainsFunc(MountOptions(l.Options), func(o string) bool { return strings.HasPrefix(o, "checkpoint=disable") })
	}
	return false
}

// RemoteFS reports whether another machine, or the host of this one, keeps the files of
// a file system of that type.
func RemoteFS(fs string) bool {
	switch fs {
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "9p", "virtiofs", "vboxsf", "afs", "lustre",
		"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.ceph", "fuse.ceph-fuse", "fuse.juicefs", "fuse.rclone", "fuse.goofys", "fuse.mount-s3":
		return true
	}
	return false
}
