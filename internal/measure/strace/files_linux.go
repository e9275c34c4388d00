package strace

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

// most bounds the files that are followed: each takes a descriptor.
const most = 512

// files follows the files that a command writes.
type files struct {
	on      bool
	changed bool
	names   bool // changed, and no directory was synced since
	ring    bool
	lost    bool // more than most files are unsynced
	dirty   map[identity]dirtyFile
	not     map[identity]bool // files of the caller: the output of the command
	mapped  []mapping
}

type identity struct{ dev, ino uint64 }

// A dirtyFile was written and not synced since. file keeps it, to ask later whether it
// still has a name.
type dirtyFile struct {
	name string
	file *os.File
}

// A mapping is shared memory that can be written.
type mapping struct {
	addr, length uint64
	id           identity
}

func newFiles(on bool, output ...*os.File) *files {
	f := &files{on: on, dirty: map[identity]dirtyFile{}, not: map[identity]bool{}}
	for _, o := range output {
		var st unix.Stat_t
		if o != nil && sys.WithFD(o, func(fd int) error { return unix.Fstat(fd, &st) }) == nil {
			f.not[identity{st.Dev, st.Ino}] = true
		}
	}
	return f
}

func (f *files) close() {
	for _, d := range f.dirty {
		d.file.Close() // nothing was written
	}
}

// writers are the calls that write to a file, with the number of the argument that is
// its descriptor.
var writers = map[int]int{
	unix.SYS_WRITE: 0, unix.SYS_PWRITE64: 0, unix.SYS_WRITEV: 0, unix.SYS_PWRITEV: 0, unix.SYS_PWRITEV2: 0,
	unix.SYS_FALLOCATE: 0, unix.SYS_FTRUNCATE: 0, unix.SYS_SENDFILE: 0, unix.SYS_COPY_FILE_RANGE: 2, unix.SYS_SPLICE: 2,
}

// renamers change names, by their names here: some have no number on every processor.
var renamers = []string{
	"rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "symlink", "symlinkat", "mknod", "mknodat",
}

// entered looks at a call by its name alone.
func (f *files) entered(name string) {
	if name == "io_uring_setup" {
		f.ring = true
	}
}

// returned applies a call of thread pid that succeeded with result.
func (f *files) returned(pid int, c call, result int64) {
	if !f.on {
		return
	}
	if arg, ok := writers[c.number]; ok {
		durable := c.number == unix.SYS_PWRITEV2 && c.args[5]&(unix.RWF_DSYNC|unix.RWF_SYNC) != 0
		f.wrote(pid, int(int32(c.args[arg])), durable)
		return
	}
	switch c.number {
	case unix.SYS_OPENAT:
		if c.args[2]&(unix.O_CREAT|unix.O_TRUNC) != 0 {
			f.wrote(pid, int(result), false)
		}
	case unix.SYS_IOCTL:
		if c.args[1] == unix.FICLONE || c.args[1] == unix.FICLONERANGE {
			f.wrote(pid, int(int32(c.args[0])), false)
		}
	case unix.SYS_MMAP:
		f.maps(pid, c, uint64(result))
	case unix.SYS_MSYNC:
		f.synced(f.mappedAt(c.args[0]), c.args[2]&unix.MS_SYNC != 0)
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		f.fsynced(pid, int(int32(c.args[0])))
	case unix.SYS_SYNC, unix.SYS_SYNCFS:
		f.allSynced()
	default:
		f.byName(pid, c, result)
	}
}

// wrote notes that the file of a descriptor was written. durable is set where the
// write was synced by a flag of its own.
func (f *files) wrote(pid, fd int, durable bool) {
	id, name, regular := look(pid, fd)
	if !regular || f.not[id] {
		return
	}
	f.changed = true
	if durable || openedToSync(pid, fd) {
		return
	}
	f.soil(pid, fd, id, name)
}

func (f *files) soil(pid, fd int, id identity, name string) {
	if _, had := f.dirty[id]; had {
		return
	}
	if len(f.dirty) >= most {
		f.forget()
	}
	if len(f.dirty) >= most {
		f.lost = true
		return
	}
	n, err := unix.Open(link(pid, fd), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		f.lost = true
		return
	}
	f.dirty[id] = dirtyFile{name, os.NewFile(uintptr(n), name)}
}

// forget drops files that have no name any more: nothing of them is left to survive.
func (f *files) forget() {
	for id, d := range f.dirty {
		var st unix.Stat_t
		if err := unix.Fstat(int(d.file.Fd()), &st); err == nil && st.Nlink == 0 {
			d.file.Close() // opened for its name only
			delete(f.dirty, id)
		}
	}
}

func (f *files) fsynced(pid, fd int) {
	id, _, regular := look(pid, fd)
	if !regular { // a directory, or nothing that matters
		f.names = false
		return
	}
	f.synced(id, true)
}

func (f *files) synced(id identity, really bool) {
	if d, had := f.dirty[id]; had && really {
		d.file.Close() // opened for its name only
		delete(f.dirty, id)
	}
}

func (f *files) allSynced() {
	f.close()
	clear(f.dirty)
	f.names, f.lost = false, false
}

func (f *files) maps(pid int, c call, at uint64) {
	if c.args[3]&unix.MAP_SHARED == 0 || c.args[3]&unix.MAP_ANONYMOUS != 0 || c.args[2]&unix.PROT_WRITE == 0 {
		return
	}
	fd := int(int32(c.args[4]))
	if id, name, regular := look(pid, fd); regular {
		f.changed = true
		f.soil(pid, fd, id, name)
		f.mapped = append(f.mapped, mapping{at, c.args[1], id})
	}
}

func (f *files) mappedAt(addr uint64) identity {
	for _, m := range slices.Backward(f.mapped) {
		if m.addr <= addr && addr < m.addr+m.length {
			return m.id
		}
	}
	return identity{}
}

// into writes what was seen to r.
func (f *files) into(r *Report) {
	f.forget()
	r.Changed, r.UnsyncedNames, r.Ring = f.changed, f.names, f.ring
	for _, d := range f.dirty {
		r.Unsynced = append(r.Unsynced, d.name)
	}
	slices.Sort(r.Unsynced)
	if f.lost {
		r.Unsynced = append(r.Unsynced, fmt.Sprintf("more than %d files", most))
	}
}

func link(pid, fd int) string {
	return "/proc/" + strconv.Itoa(pid) + "/fd/" + strconv.Itoa(fd)
}

// look returns the identity and the name of the file behind a descriptor.
func look(pid, fd int) (id identity, name string, regular bool) {
	var st unix.Stat_t
	if err := unix.Stat(link(pid, fd), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return identity{}, "", false
	}
	name, _ = os.Readlink(link(pid, fd)) // for a text
	return identity{st.Dev, st.Ino}, name, true
}

// openedToSync reports whether the writes of a descriptor are durable when they return
// (O_DSYNC, which O_SYNC includes).
func openedToSync(pid, fd int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(text), 8, 64)
			return err == nil && flags&unix.O_DSYNC != 0
		}
	}
	return false
}
