package access

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A person is an identity under which the kernel is asked.
type person struct {
	name   string
	uid    int
	groups []int // the first is the one that new files get
}

// Users and groups of the cast. Files belong to owner and team; writers is the
// group of owner's new files.
const (
	owner    = 1001
	named    = 1003 // has an entry in access ACLs
	barred   = 1006 // has an entry without rights, and is in team
	inherits = 1007 // has an entry in default ACLs

	team       = 2001
	namedTeam  = 2003
	barredTeam = 2004
	heirs      = 2008 // has an entry in default ACLs
	writers    = 5001
)

var people = []person{
	{"owner", owner, []int{writers}},
	{"owner in team", owner, []int{writers, team}},
	{"in team", 1002, []int{9002, team}},
	{"named", named, []int{9003}},
	{"named in team", named, []int{9003, team}},
	{"in named team", 1004, []int{9004, namedTeam}},
	{"in both teams", 1005, []int{9005, team, namedTeam}},
	{"barred", barred, []int{9006}},
	{"barred in team", barred, []int{9006, team}},
	{"in barred team", 1012, []int{9012, barredTeam}},
	{"in barred and writers", 1013, []int{9013, barredTeam, writers, 0}},
	{"heir", inherits, []int{9007}},
	{"in heirs", 1008, []int{9008, heirs}},
	{"in root's group", 1009, []int{9009, 0}},
	{"in writers", 1010, []int{9010, writers}},
	{"stranger", 1011, []int{9011}},
}

// rights are what a person may do: 4 to read, 2 to write, 1 to execute.
type rights uint8

func (r rights) String() string {
	b := []byte("rwx")
	for i := range b {
		if r&(4>>i) == 0 {
			b[i] = '-'
		}
	}
	return string(b)
}

// A judge asks the kernel, on a thread of its own, once for each state that the kernel
// decides by. Each file system needs its own judge.
type judge struct {
	ask   chan func()
	known map[string][]rights
}

func newJudge(t *testing.T) *judge {
	j := &judge{ask: make(chan func()), known: map[string][]rights{}}
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the goroutine
		for f := range j.ask {
			f()
		}
	}()
	t.Cleanup(func() { close(j.ask) })
	return j
}

// rights returns what each of the people may do to the file name in dir.
func (j *judge) rights(dir int, name string) (all []rights, err error) {
	state, err := stateOf(dir, name)
	if err != nil {
		return nil, err
	}
	if all := j.known[state]; all != nil {
		return slices.Clone(all), nil
	}
	done := make(chan struct{})
	j.ask <- func() {
		defer close(done)
		for _, p := range people {
			var r rights
			if r, err = p.may(dir, name); err != nil {
				return
			}
			all = append(all, r)
		}
	}
	<-done
	if again, err := stateOf(dir, name); err == nil && again == state {
		j.known[state] = slices.Clone(all)
	}
	return all, err
}

// stateOf returns the state of a file that the kernel decides by.
func stateOf(dir int, name string) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", err
	}
	acl := attr(fmt.Sprintf("/proc/self/fd/%d/%s", dir, name), accessACL)
	return fmt.Sprintf("%o %d:%d %x", st.Mode, st.Uid, st.Gid, acl), nil
}

// may returns the rights of p, which it asks for on the calling thread.
func (p person) may(dir int, name string) (r rights, err error) {
	back, err := p.become()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, back()) }()
	for _, right := range []uint32{unix.R_OK, unix.W_OK, unix.X_OK} {
		switch err := unix.Faccessat(dir, name, right, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW); err {
		case nil:
			r |= rights(right)
		case unix.EACCES:
		default:
			return 0, err
		}
	}
	// The open must agree.
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	if (err == nil) != (r&4 != 0) && err != unix.ENOENT {
		return 0, fmt.Errorf("%s: access says %v, open says %v", p.name, r, err)
	}
	return r, nil
}

// become gives the calling thread p's identity for file system checks.
func (p person) become() (back func() error, err error) {
	if err := setThreadGroups(p.groups); err != nil {
		return nil, err
	}
	unix.SetfsgidRetGid(p.groups[0])
	unix.SetfsuidRetUid(p.uid)
	return func() error {
		unix.SetfsuidRetUid(0)
		unix.SetfsgidRetGid(0)
		return setThreadGroups(nil)
	}, nil
}

// withoutCapabilities takes the capabilities from the calling thread that setfsuid(2)
// leaves it, such as CAP_SYS_ADMIN.
func withoutCapabilities() (back func() error, err error) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&head, &had[0]); err != nil {
		return nil, err
	}
	none := had
	none[0].Effective, none[1].Effective = 0, 0
	return func() error { return unix.Capset(&head, &had[0]) }, unix.Capset(&head, &none[0])
}

// setThreadGroups is setgroups(2) for one thread; syscall.Setgroups is for all.
func setThreadGroups(groups []int) error {
	list := []uint32{0}[:0]
	for _, g := range groups {
		list = append(list, uint32(g))
	}
	_, _, e := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(list)), uintptr(unsafe.Pointer(unsafe.SliceData(list))), 0)
	if e != 0 {
		return os.NewSyscallError("setgroups", e)
	}
	return nil
}

const (
	accessACL  = "system.posix_acl_access"
	defaultACL = "system.posix_acl_default"
)

// encodeACL encodes a text such as "u:6 u1003:4 g:0 m:4 o:0" for the kernel
// (posix_acl_xattr.h).
func encodeACL(text string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, field := range strings.Fields(text) {
		var id, perm uint32 = 0xffffffff, 0
		entry, rest, _ := strings.Cut(field, ":")
		tag := map[byte]uint16{'u': 1, 'g': 4, 'm': 0x10, 'o': 0x20}[entry[0]]
		if len(entry) > 1 {
			tag *= 2 // ACL_USER and ACL_GROUP
			fmt.Sscan(entry[1:], &id)
		}
		fmt.Sscan(rest, &perm)
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, uint16(perm))
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return b
}

func attr(path, name string) []byte {
	b := make([]byte, 1<<16)
	n, err := unix.Lgetxattr(path, name, b)
	if err != nil {
		return nil
	}
	return b[:n:n]
}
