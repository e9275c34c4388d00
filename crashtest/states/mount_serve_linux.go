package states

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// mountEnv marks the process that serves mounts: see package serve.
const mountEnv = "STELE_CRASHTEST_MOUNT"

// fdOps is the log of operations, open for appending. Standard input takes
// mountCommands, standard output gives a mountReply to each.
const fdOps = 3

type mountCommand struct {
	Do         string // "mount", "begin", "end", "unmount"
	Dir        string // to mount on
	Fault      Fault
	At         int
	Persistent bool
}

type mountReply struct {
	Err   string
	Calls []call // since "begin", for "end"
	Hits  int    // calls that the injector failed
}

// ServeMount serves the mount of [RecordMount] and [FaultsMount] if this process
// is one that they started, and then exits; otherwise it does nothing. They
// start the running program again, so TestMain, or main, must call it first.
func ServeMount() {
	if os.Getenv(mountEnv) == "" {
		return
	}
	s := &mountServer{log: os.NewFile(fdOps, "operations")}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c mountCommand
		if err := in.Decode(&c); err != nil {
			break // the test closed it, or ended
		}
		var r mountReply
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

type mountServer struct {
	log    *os.File
	fs     *mountFS
	server *fuse.Server
	dir    string
}

func (s *mountServer) do(c mountCommand, r *mountReply) error {
	switch c.Do {
	case "mount":
		return s.mount(c.Dir)
	case "unmount":
		return s.unmount(0)
	}
	if s.fs == nil {
		return errors.New("nothing is mounted")
	}
	t := s.fs.tree
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Do == "begin" {
		t.inject = &injector{fault: c.Fault, at: c.At, persistent: c.Persistent}
		return nil
	}
	r.Calls, r.Hits = t.inject.calls, t.inject.hits
	t.inject = nil
	return s.fs.failed
}

func (s *mountServer) mount(dir string) (err error) {
	if err := s.log.Truncate(0); err != nil {
		return err
	}
	s.fs = newMountFS(s.log)
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
func (s *mountServer) unmount(flags int) error {
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

// A mountFS passes the requests of the kernel on to a tree. The kernel caches no
// answers (all timeouts are 0) and no writes (there is no writeback cache). It
// follows a write with O_DSYNC, O_SYNC or RWF_DSYNC by a request to sync
// (generic_write_sync). Files are not opened with FOPEN_DIRECT_IO, which leaves
// that request out.
type mountFS struct {
	fuse.RawFileSystem
	tree   *tree
	lists  map[uint64][]fuse.DirEntry // of open directories, by handle
	handle uint64
	failed error // to write the log
}

func newMountFS(log *os.File) *mountFS {
	m := &mountFS{RawFileSystem: fuse.NewDefaultRawFileSystem(), tree: newTree(), lists: map[uint64][]fuse.DirEntry{}}
	root := m.tree.nodes[rootNode]
	root.uid, root.gid = uint32(os.Geteuid()), uint32(os.Getegid())
	var buf []byte
	m.tree.record = func(o *op) {
		var err error
		if buf, err = appendOp(buf[:0], o); err == nil {
			_, err = log.Write(buf)
		}
		m.failed = errors.Join(m.failed, err)
	}
	return m
}

// do calls f with the lock held.
func (m *mountFS) do(f func() error) fuse.Status {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	return fuse.ToStatus(f())
}

func fill(n *node, out *fuse.Attr) {
	out.Ino = n.id
	out.Mode = n.mode
	out.Nlink = n.nlink
	out.Uid, out.Gid = n.uid, n.gid
	out.Size = uint64(n.size())
	out.Blocks = (out.Size + 511) / 512
	out.Blksize = pageSize
	sec, nsec := uint64(n.mtime.Unix()), uint32(n.mtime.Nanosecond())
	out.Mtime, out.Mtimensec = sec, nsec
	out.Atime, out.Atimensec = sec, nsec
	out.Ctime, out.Ctimensec = sec, nsec
}

func entry(n *node, err error, out *fuse.EntryOut) error {
	if err != nil {
		return err
	}
	out.NodeId = n.id // never used for another file, so it needs no generation
	fill(n, &out.Attr)
	return nil
}

func (m *mountFS) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if len(name) > 255 {
		return fuse.Status(syscall.ENAMETOOLONG)
	}
	return m.do(func() error {
		n, err := m.tree.lookup(in.NodeId, name)
		return entry(n, err, out)
	})
}

func (m *mountFS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.do(func() error {
		n := m.tree.nodes[in.NodeId]
		if n == nil {
			return syscall.ENOENT
		}
		fill(n, &out.Attr)
		return nil
	})
}

func (m *mountFS) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return m.do(func() error {
		if in.Valid&fuse.FATTR_SIZE != 0 {
			if err := m.tree.truncate(in.NodeId, int64(in.Size)); err != nil {
				return err
			}
		}
		var c attrChange
		if mode, ok := in.GetMode(); ok {
			c.mode = &mode
		}
		if uid, ok := in.GetUID(); ok {
			c.uid = &uid
		}
		if gid, ok := in.GetGID(); ok {
			c.gid = &gid
		}
		if mtime, ok := in.GetMTime(); ok {
			c.mtime = &mtime
		}
		if err := m.tree.setAttr(in.NodeId, c); err != nil {
			return err
		}
		fill(m.tree.nodes[in.NodeId], &out.Attr)
		return nil
	})
}

func (m *mountFS) create(in *fuse.InHeader, name string, mode uint32, target string, out *fuse.EntryOut) fuse.Status {
	return m.do(func() error {
		n, err := m.tree.create(in.NodeId, name, mode, in.Uid, in.Gid, target)
		return entry(n, err, out)
	})
}

func (m *mountFS) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.create(&in.InHeader, name, in.Mode, "", out)
}

func (m *mountFS) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.create(&in.InHeader, name, typeDir|in.Mode&^typeMask, "", out)
}

func (m *mountFS) Symlink(_ <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return m.create(in, name, typeLink|0o777, target, out)
}

func (m *mountFS) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	return m.create(&in.InHeader, name, typeFile|in.Mode&^typeMask, "", &out.EntryOut)
}

func (m *mountFS) Tmpfile(_ <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) fuse.Status {
	return m.create(&in.InHeader, "", typeFile|in.Mode&^typeMask, "", &out.EntryOut)
}

func (m *mountFS) Readlink(_ <-chan struct{}, in *fuse.InHeader) (target []byte, s fuse.Status) {
	s = m.do(func() error {
		n := m.tree.nodes[in.NodeId]
		if n == nil || !n.is(typeLink) {
			return syscall.EINVAL
		}
		target = []byte(n.target)
		return nil
	})
	return target, s
}

func (m *mountFS) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return m.do(func() error {
		n, err := m.tree.link(in.Oldnodeid, in.NodeId, name)
		return entry(n, err, out)
	})
}

func (m *mountFS) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.do(func() error { return m.tree.remove(in.NodeId, name, false) })
}

func (m *mountFS) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.do(func() error { return m.tree.remove(in.NodeId, name, true) })
}

func (m *mountFS) Rename(_ <-chan struct{}, in *fuse.RenameIn, name, name2 string) fuse.Status {
	if in.Flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return fuse.EINVAL // RENAME_WHITEOUT
	}
	return m.do(func() error {
		return m.tree.rename(in.NodeId, name, in.Newdir, name2, in.Flags&unix.RENAME_NOREPLACE != 0, in.Flags&unix.RENAME_EXCHANGE != 0)
	})
}

// Only user.* attributes are kept: the others have effects in the kernel that
// this file system does not have.
func isUserXattr(name string) bool { return len(name) > 5 && name[:5] == "user." }

func (m *mountFS) GetXAttr(_ <-chan struct{}, in *fuse.InHeader, name string, dest []byte) (size uint32, s fuse.Status) {
	s = m.do(func() error {
		n := m.tree.nodes[in.NodeId]
		if n == nil || n.xattrs[name] == nil {
			return syscall.ENODATA
		}
		size = uint32(len(n.xattrs[name]))
		if len(dest) < int(size) {
			return syscall.ERANGE
		}
		copy(dest, n.xattrs[name])
		return nil
	})
	return size, s
}

func (m *mountFS) ListXAttr(_ <-chan struct{}, in *fuse.InHeader, dest []byte) (size uint32, s fuse.Status) {
	s = m.do(func() error {
		n := m.tree.nodes[in.NodeId]
		if n == nil {
			return syscall.ENOENT
		}
		var list []byte
		for name := range n.xattrs {
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

func (m *mountFS) SetXAttr(_ <-chan struct{}, in *fuse.SetXAttrIn, name string, value []byte) fuse.Status {
	if !isUserXattr(name) {
		return fuse.ENOTSUP
	}
	return m.do(func() error {
		n := m.tree.nodes[in.NodeId]
		if n == nil {
			return syscall.ENOENT
		}
		_, there := n.xattrs[name]
		switch {
		case there && in.Flags&unix.XATTR_CREATE != 0:
			return syscall.EEXIST
		case !there && in.Flags&unix.XATTR_REPLACE != 0:
			return syscall.ENODATA
		}
		return m.tree.setXattr(in.NodeId, name, append([]byte{}, value...))
	})
}

func (m *mountFS) RemoveXAttr(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return m.do(func() error {
		if n := m.tree.nodes[in.NodeId]; n == nil || n.xattrs[name] == nil {
			return syscall.ENODATA
		}
		return m.tree.setXattr(in.NodeId, name, nil)
	})
}

func (m *mountFS) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return m.do(func() error { return m.tree.open(in.NodeId) })
}

func (m *mountFS) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (r fuse.ReadResult, s fuse.Status) {
	s = m.do(func() error {
		n, err := m.tree.read(in.NodeId, buf, int64(in.Offset))
		r = fuse.ReadResultData(buf[:n])
		return err
	})
	return r, s
}

func (m *mountFS) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (n uint32, s fuse.Status) {
	s = m.do(func() error {
		written, err := m.tree.write(in.NodeId, data, int64(in.Offset))
		n = uint32(written)
		return err
	})
	return n, s
}

func (m *mountFS) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	zero := in.Mode&(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0
	if in.Mode&^(unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_ZERO_RANGE) != 0 {
		return fuse.ENOTSUP
	}
	return m.do(func() error {
		return m.tree.allocate(in.NodeId, int64(in.Offset), int64(in.Length), zero, in.Mode&unix.FALLOC_FL_KEEP_SIZE != 0)
	})
}

func (m *mountFS) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	const datasync = 1 // FUSE_FSYNC_FDATASYNC
	return m.do(func() error { return m.tree.sync(in.NodeId, in.FsyncFlags&datasync != 0) })
}

func (m *mountFS) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return m.do(func() error { return m.tree.sync(in.NodeId, false) })
}

// Flush answers close(2).
func (m *mountFS) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	return m.do(func() error { return m.tree.close(in.NodeId) })
}

func (m *mountFS) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return m.do(func() error {
		names, err := m.tree.list(in.NodeId)
		if err != nil {
			return err
		}
		list := []fuse.DirEntry{{Mode: typeDir, Name: ".", Ino: in.NodeId}, {Mode: typeDir, Name: ".."}}
		for _, name := range names {
			n := m.tree.nodes[m.tree.nodes[in.NodeId].names[name]]
			list = append(list, fuse.DirEntry{Mode: n.mode, Name: name, Ino: n.id})
		}
		m.handle++
		m.lists[m.handle] = list
		out.Fh = m.handle
		return nil
	})
}

func (m *mountFS) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
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

func (m *mountFS) ReleaseDir(in *fuse.ReleaseIn) {
	m.do(func() error {
		delete(m.lists, in.Fh)
		return nil
	})
}

// StatFs returns more free space than any test takes.
func (m *mountFS) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.Frsize = pageSize, pageSize
	out.Blocks = 1 << 24 // 64 GiB
	out.Bfree, out.Bavail = out.Blocks, out.Blocks
	out.Files, out.Ffree = 1<<32, 1<<32
	out.NameLen = 255
	return fuse.OK
}
