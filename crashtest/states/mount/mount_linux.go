package mount

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/crashtest/states/internal/tree"
)

// Serve serves the mount of states.RecordMount and states.FaultsMount if this
// process is one that they started, and then exits; otherwise it does nothing.
// They start the running program again, so TestMain, or main, must call Serve
// first.
func Serve() {
	if os.Getenv(tree.MountEnv) == "" {
		return
	}
	s := &server{log: os.NewFile(tree.FDOps, "operations")}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c tree.Command
		if err := in.Decode(&c); err != nil {
			break // the test closed it, or ended
		}
		var r tree.Reply
		if err := s.do(c, &r); err != nil {
			r.Err = err.Error()
		}
		if err := out.Encode(r); err != nil {
			break
		}
	}
	s.unmount(unix.MNT_DETACH)
	os.Exit(0)
}

type server struct {
	log    *os.File
	fs     *fileSystem
	server *fuse.Server
	dir    string
}

func (s *server) do(c tree.Command, r *tree.Reply) error {
	switch c.Do {
	case "mount":
		return s.mount(c.Dir, c.NoExchange)
	case "unmount":
		return s.unmount(0)
	}
	if s.fs == nil {
		return errors.New("nothing is mounted")
	}
	t := s.fs.tree
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if c.Do == "begin" {
		t.Inject = &tree.Injector{Plan: c.Plan}
		return nil
	}
	r.Calls, r.Hits = t.Inject.Calls, t.Inject.Hits
	t.Inject = nil
	return s.fs.failed
}

func (s *server) mount(dir string, noExchange bool) (err error) {
	if err := s.log.Truncate(0); err != nil {
		return err
	}
	s.fs = newFileSystem(s.log)
	s.fs.noExchange = noExchange
	s.dir = dir
	s.server, err = fuse.NewServer(s.fs, dir, &fuse.MountOptions{
		DirectMount:        true, // fusermount, where that is not allowed
		FsName:             "stele-crashtest",
		Name:               "stele",
		Options:            []string{"default_permissions"},
		MaxWrite:           1 << 20,
		DisableReadDirPlus: true,
	})
	if err != nil {
		return fmt.Errorf("mount FUSE on %s: %w", dir, err)
	}
	go s.server.Serve()
	return s.server.WaitMount()
}

// unmount unmounts what is mounted. It may be busy for a moment: see
// sys.UnmountIdle.
func (s *server) unmount(flags int) error {
	if s.server == nil {
		return nil
	}
	err := s.server.Unmount()
	for begin := time.Now(); err != nil && flags == 0 && time.Since(begin) < time.Minute; {
		time.Sleep(5 * time.Millisecond)
		err = s.server.Unmount()
	}
	if err != nil && flags != 0 {
		err = unix.Unmount(s.dir, flags)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w; the work must close its files", s.dir, err)
	}
	s.server = nil
	return nil
}

// A fileSystem passes the requests of the kernel on to a tree. The kernel caches no
// answers (all timeouts are 0) and no writes (there is no writeback cache). It
// follows a write with O_DSYNC, O_SYNC or RWF_DSYNC by a request to sync
// (generic_write_sync). Files are not opened with FOPEN_DIRECT_IO, which leaves
// that request out.
type fileSystem struct {
	fuse.RawFileSystem
	tree   *tree.Tree
	lists  map[uint64][]fuse.DirEntry // of open directories, by handle
	handle uint64
	failed error // to write the log

	noExchange bool
}

func newFileSystem(log *os.File) *fileSystem {
	m := &fileSystem{RawFileSystem: fuse.NewDefaultRawFileSystem(), tree: tree.New(), lists: map[uint64][]fuse.DirEntry{}}
	root := m.tree.Nodes[tree.Root]
	root.UID, root.GID = uint32(os.Geteuid()), uint32(os.Getegid())
	var buf []byte
	m.tree.Record = func(o *tree.Op) {
		var err error
		if buf, err = tree.AppendOp(buf[:0], o); err == nil {
			_, err = log.Write(buf)
		}
		m.failed = errors.Join(m.failed, err)
	}
	return m
}

// do calls f with the lock held.
func (m *fileSystem) do(f func() error) fuse.Status {
	m.tree.Mu.Lock()
	defer m.tree.Mu.Unlock()
	return fuse.ToStatus(f())
}

const pageSize = 4096

func fill(n *tree.Node, out *fuse.Attr) {
	out.Ino = n.ID
	out.Mode = n.Mode
	out.Nlink = n.Nlink
	out.Uid, out.Gid = n.UID, n.GID
	out.Size = uint64(n.Size())
	out.Blocks = (out.Size + 511) / 512
	out.Blksize = pageSize
	sec, nsec := uint64(n.Mtime.Unix()), uint32(n.Mtime.Nanosecond())
	out.Mtime, out.Mtimensec = sec, nsec
	out.Atime, out.Atimensec = sec, nsec
	out.Ctime, out.Ctimensec = sec, nsec
}

func entry(n *tree.Node, err error, out *fuse.EntryOut) error {
	if err != nil {
		return err
	}
	out.NodeId = n.ID // never used for another file, so it needs no generation
	fill(n, &out.Attr)
	return nil
}

func (m *fileSystem) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if len(name) > 255 {
		return fuse.Status(syscall.ENAMETOOLONG)
	}
	return m.do(func() error {
		n, err := m.tree.Lookup(in.NodeId, name)
		return entry(n, err, out)
	})
}

func (m *fileSystem) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.do(func() error {
		n := m.tree.Nodes[in.NodeId]
		if n == nil {
			return syscall.ENOENT
		}
		fill(n, &out.Attr)
		return nil
	})
}

func (m *fileSystem) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.do(func() error {
		if in.Valid&fuse.FATTR_SIZE != 0 {
			if err := m.tree.Truncate(in.NodeId, int64(in.Size)); err != nil {
				return err
			}
		}
		var c tree.Attrs
		if mode, ok := in.GetMode(); ok {
			c.Mode = &mode
		}
		if uid, ok := in.GetUID(); ok {
			c.UID = &uid
		}
		if gid, ok := in.GetGID(); ok {
			c.GID = &gid
		}
		if mtime, ok := in.GetMTime(); ok {
			c.Mtime = &mtime
		}
		if err := m.tree.SetAttr(in.NodeId, c); err != nil {
			return err
		}
		fill(m.tree.Nodes[in.NodeId], &out.Attr)
		return nil
	})
}

func (m *fileSystem) create(in *fuse.InHeader, name string, mode uint32, target string, out *fuse.EntryOut) fuse.Status {
	return m.do(func() error {
		n, err := m.tree.Create(in.NodeId, name, mode, in.Uid, in.Gid, target)
		return entry(n, err, out)
	})
}

func (m *fileSystem) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.create(&in.InHeader, name, in.Mode, "", out)
}

func (m *fileSystem) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.create(&in.InHeader, name, tree.TypeDir|in.Mode&^tree.TypeMask, "", out)
}

func (m *fileSystem) Symlink(_ <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return m.create(in, name, tree.TypeLink|0o777, target, out)
}

func (m *fileSystem) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	return m.create(&in.InHeader, name, tree.TypeFile|in.Mode&^tree.TypeMask, "", &out.EntryOut)
}

func (m *fileSystem) Tmpfile(_ <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	return m.create(&in.InHeader, "", tree.TypeFile|in.Mode&^tree.TypeMask, "", &out.EntryOut)
}

func (m *fileSystem) Readlink(_ <-chan struct{}, in *fuse.InHeader) (target []byte, s fuse.Status) {
	s = m.do(func() error {
		n := m.tree.Nodes[in.NodeId]
		if n == nil || !n.Is(tree.TypeLink) {
			return syscall.EINVAL
		}
		target = []byte(n.Target)
		return nil
	})
	return target, s
}

func (m *fileSystem) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.do(func() error {
		n, err := m.tree.Link(in.Oldnodeid, in.NodeId, name)
		return entry(n, err, out)
	})
}

func (m *fileSystem) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.do(func() error { return m.tree.Remove(in.NodeId, name, false) })
}

func (m *fileSystem) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.do(func() error { return m.tree.Remove(in.NodeId, name, true) })
}

func (m *fileSystem) Rename(_ <-chan struct{}, in *fuse.RenameIn, name, name2 string) fuse.Status {
	if in.Flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return fuse.EINVAL // RENAME_WHITEOUT
	}
	if m.noExchange && in.Flags&unix.RENAME_EXCHANGE != 0 {
		return fuse.EINVAL
	}
	return m.do(func() error {
		return m.tree.Rename(in.NodeId, name, in.Newdir, name2, in.Flags&unix.RENAME_NOREPLACE != 0, in.Flags&unix.RENAME_EXCHANGE != 0)
	})
}

// Only user.* attributes are kept: the others have effects in the kernel that
// this file system does not have.
func isUserXattr(name string) bool { return len(name) > 5 && name[:5] == "user." }

func (m *fileSystem) GetXAttr(_ <-chan struct{}, in *fuse.InHeader, name string, dest []byte) (size uint32, s fuse.Status) {
	s = m.do(func() error {
		n := m.tree.Nodes[in.NodeId]
		if n == nil || n.Xattrs[name] == nil {
			return syscall.ENODATA
		}
		size = uint32(len(n.Xattrs[name]))
		if len(dest) < int(size) {
			return syscall.ERANGE
		}
		copy(dest, n.Xattrs[name])
		return nil
	})
	return size, s
}

func (m *fileSystem) ListXAttr(_ <-chan struct{}, in *fuse.InHeader, dest []byte) (size uint32, s fuse.Status) {
	s = m.do(func() error {
		n := m.tree.Nodes[in.NodeId]
		if n == nil {
			return syscall.ENOENT
		}
		var list []byte
		for name := range n.Xattrs {
			list = append(append(list, name...), 0)
		}
		size = uint32(len(list))
		if len(dest) < len(list) {
			return syscall.ERANGE
		}
		copy(dest, list)
		return nil
	})
	return size, s
}

func (m *fileSystem) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, name string, value []byte) fuse.Status {
	if !isUserXattr(name) {
		return fuse.ENOTSUP
	}
	return m.do(func() error {
		n := m.tree.Nodes[in.NodeId]
		if n == nil {
			return syscall.ENOENT
		}
		_, there := n.Xattrs[name]
		switch {
		case there && in.Flags&unix.XATTR_CREATE != 0:
			return syscall.EEXIST
		case !there && in.Flags&unix.XATTR_REPLACE != 0:
			return syscall.ENODATA
		}
		return m.tree.SetXattr(in.NodeId, name, append([]byte{}, value...))
	})
}

func (m *fileSystem) RemoveXAttr(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.do(func() error {
		if n := m.tree.Nodes[in.NodeId]; n == nil || n.Xattrs[name] == nil {
			return syscall.ENODATA
		}
		return m.tree.SetXattr(in.NodeId, name, nil)
	})
}

func (m *fileSystem) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return m.do(func() error { return m.tree.Open(in.NodeId) })
}

func (m *fileSystem) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (r fuse.ReadResult, s fuse.Status) {
	s = m.do(func() error {
		n, err := m.tree.Read(in.NodeId, buf, int64(in.Offset))
		r = fuse.ReadResultData(buf[:n])
		return err
	})
	return r, s
}

func (m *fileSystem) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (n uint32, s fuse.Status) {
	s = m.do(func() error {
		written, err := m.tree.Write(in.NodeId, data, int64(in.Offset))
		n = uint32(written)
		return err
	})
	return n, s
}

func (m *fileSystem) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	zero := in.Mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0
	if in.Mode&^(unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 {
		return fuse.ENOTSUP
	}
	return m.do(func() error {
		return m.tree.Allocate(in.NodeId, int64(in.Offset), int64(in.Length), zero, in.Mode&unix.FALLOC_FL_KEEP_SIZE != 0)
	})
}

func (m *fileSystem) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	const datasync = 1 // FUSE_FSYNC_FDATASYNC
	return m.do(func() error { return m.tree.Sync(in.NodeId, in.FsyncFlags&datasync != 0) })
}

func (m *fileSystem) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return m.do(func() error { return m.tree.Sync(in.NodeId, false) })
}

// Flush answers close(2).
func (m *fileSystem) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	return m.do(func() error { return m.tree.Close(in.NodeId) })
}

func (m *fileSystem) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return m.do(func() error {
		names, err := m.tree.List(in.NodeId)
		if err != nil {
			return err
		}
		list := []fuse.DirEntry{{Mode: tree.TypeDir, Name: ".", Ino: in.NodeId}, {Mode: tree.TypeDir, Name: ".."}}
		for _, name := range names {
			n := m.tree.Nodes[m.tree.Nodes[in.NodeId].Names[name]]
			list = append(list, fuse.DirEntry{Mode: n.Mode, Name: name, Ino: n.ID})
		}
		m.handle++
		m.lists[m.handle] = list
		out.Fh = m.handle
		return nil
	})
}

func (m *fileSystem) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return m.do(func() error {
		list := m.lists[in.Fh]
		for i := int(in.Offset); i < len(list); i++ {
			if !out.AddDirEntry(list[i]) {
				break
			}
		}
		return nil
	})
}

func (m *fileSystem) ReleaseDir(in *fuse.ReleaseIn) {
	m.do(func() error {
		delete(m.lists, in.Fh)
		return nil
	})
}

// StatFs returns more free space than any test takes.
func (m *fileSystem) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.Frsize = pageSize, pageSize
	out.Blocks = 1 << 24 // 64 GiB
	out.Bfree, out.Bavail = out.Blocks, out.Blocks
	out.Files, out.Ffree = 1<<32, 1<<32
	out.NameLen = 255
	return fuse.OK
}
