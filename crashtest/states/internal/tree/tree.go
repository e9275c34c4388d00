// Package tree is a file system in memory that knows its files by their inodes,
// as the kernel does. Operations take effect here, are recorded as an [Op] each,
// and are made to fail by an [Injector]. Two front ends call it: states.FS, and
// the FUSE server of package mount.
package tree

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Tree is a file system in memory. Mu must be held while its methods run.
type Tree struct {
	Mu     sync.Mutex
	Nodes  map[uint64]*Node // never deleted: an open file may have no name
	Last   uint64           // highest inode number
	Record func(*Op)        // called with Mu held, before the caller gets its answer
	Inject *Injector
}

// Root is the inode number of the root directory.
const Root = 1

// A Node is an inode.
type Node struct {
	ID       uint64
	Mode     uint32 // type and permissions
	UID, GID uint32
	Nlink    uint32
	Data     []byte // of a file
	Shared   bool   // Data is shared with another state, and copied before a change
	Target   string // of a symlink
	Names    map[string]uint64
	Xattrs   map[string][]byte
	Mtime    time.Time
	Dir      uint64 // with Name, the last name it got, for reports
	Name     string
}

// New returns a tree that has only its root.
func New() *Tree {
	t := &Tree{Nodes: map[uint64]*Node{}, Last: Root, Record: func(*Op) {}}
	t.Nodes[Root] = &Node{ID: Root, Mode: TypeDir | 0o755, Nlink: 2, Names: map[string]uint64{}, Mtime: time.Now()}
	return t
}

// Is reports whether the node has the type, one of TypeFile, TypeDir and TypeLink.
func (n *Node) Is(typ uint32) bool { return n.Mode&TypeMask == typ }

// path returns the last name of the node, relative to the root.
func (t *Tree) path(id uint64) string {
	p := ""
	for id != Root {
		n := t.Nodes[id]
		if n == nil || n.Name == "" {
			return path.Join("(no name)", p)
		}
		id, p = n.Dir, path.Join(n.Name, p)
	}
	return path.Join(".", p)
}

func (t *Tree) pathIn(dir uint64, name string) string { return path.Join(t.path(dir), name) }

// Directory returns the directory with the number dir.
func (t *Tree) Directory(dir uint64) (*Node, error) {
	d := t.Nodes[dir]
	switch {
	case d == nil:
		return nil, syscall.ENOENT
	case !d.Is(TypeDir):
		return nil, syscall.ENOTDIR
	case d.Nlink == 0:
		return nil, syscall.ENOENT // removed while it was open
	}
	return d, nil
}

// Lookup returns the node that has the name in dir.
func (t *Tree) Lookup(dir uint64, name string) (*Node, error) {
	d, err := t.Directory(dir)
	if err != nil {
		return nil, err
	}
	id, ok := d.Names[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	return t.Nodes[id], nil
}

// Create makes an inode. It has no name if name is "".
func (t *Tree) Create(dir uint64, name string, mode, uid, gid uint32, target string) (*Node, error) {
	d, err := t.Directory(dir)
	if err != nil {
		return nil, err
	}
	if _, there := d.Names[name]; there {
		return nil, syscall.EEXIST
	}
	kind, call := OpCreate, callCreate
	if mode&TypeMask == TypeDir {
		call = callMkdir
	}
	if _, err := t.Inject.before(call, t.pathIn(dir, name)); err != nil {
		return nil, err
	}
	t.Last++
	n := &Node{ID: t.Last, Mode: mode, UID: uid, GID: gid, Nlink: 1, Target: target, Mtime: time.Now()}
	if n.Is(TypeDir) {
		n.Names = map[string]uint64{}
		n.Nlink = 2
		d.Nlink++
	}
	t.Nodes[n.ID] = n
	o := &Op{Kind: kind, Node: n.ID, Dir: dir, Name: name, Mode: mode, UID: uid, GID: gid, Target: target, Path: t.pathIn(dir, name)}
	if name == "" {
		o.Kind, o.Dir, n.Nlink = OpTmpfile, 0, 0
	} else {
		t.setName(d, name, n)
	}
	t.Record(o)
	return n, nil
}

// setName gives n the name, which may be taken.
func (t *Tree) setName(d *Node, name string, n *Node) {
	d.Names[name] = n.ID
	n.Dir, n.Name = d.ID, name
	d.Mtime = time.Now()
}

// Link gives the node id a further name.
func (t *Tree) Link(id, dir uint64, name string) (*Node, error) {
	d, err := t.Directory(dir)
	if err != nil {
		return nil, err
	}
	n := t.Nodes[id]
	switch _, there := d.Names[name]; {
	case there:
		return nil, syscall.EEXIST
	case n == nil:
		return nil, syscall.ENOENT
	case n.Is(TypeDir):
		return nil, syscall.EPERM
	}
	o := &Op{Kind: OpLink, Node: id, Dir: dir, Name: name, Path: t.path(id), Path2: t.pathIn(dir, name)}
	if _, err := t.Inject.before(callLink, o.Path2); err != nil {
		return nil, err
	}
	n.Nlink++
	t.setName(d, name, n)
	t.Record(o)
	return n, nil
}

// Remove removes the name of a directory, or of any other file.
func (t *Tree) Remove(dir uint64, name string, isDir bool) error {
	n, err := t.Lookup(dir, name)
	if err != nil {
		return err
	}
	switch {
	case isDir && !n.Is(TypeDir):
		return syscall.ENOTDIR
	case !isDir && n.Is(TypeDir):
		return syscall.EISDIR
	case len(n.Names) > 0:
		return syscall.ENOTEMPTY
	}
	if _, err := t.Inject.before(callRemove, t.pathIn(dir, name)); err != nil {
		return err
	}
	d := t.Nodes[dir]
	delete(d.Names, name)
	d.Mtime = time.Now()
	t.Record(&Op{Kind: OpUnlink, Node: n.ID, Dir: dir, Name: name, Mode: n.Mode, Path: t.pathIn(dir, name)})
	t.unnamed(d, name, n)
	return nil
}

// unnamed accounts for n having lost its name in d.
func (t *Tree) unnamed(d *Node, name string, n *Node) {
	if n.Is(TypeDir) {
		n.Nlink = 0
		d.Nlink--
		return
	}
	n.Nlink--
	if n.Dir != d.ID || n.Name != name {
		return
	}
	n.Name = ""
	if n.Nlink == 0 {
		return
	}
	for _, other := range t.Nodes { // for reports: any of its other names
		for name, id := range other.Names {
			if id == n.ID {
				n.Dir, n.Name = other.ID, name
			}
		}
	}
}

// Rename moves a name over another one. noReplace is RENAME_NOREPLACE,
// exchange RENAME_EXCHANGE.
func (t *Tree) Rename(dir uint64, name string, dir2 uint64, name2 string, noReplace, exchange bool) error {
	n, err := t.Lookup(dir, name)
	if err != nil {
		return err
	}
	old, err := t.Lookup(dir2, name2)
	switch {
	case err != nil && (err != syscall.ENOENT || exchange || t.Nodes[dir2] == nil || t.Nodes[dir2].Nlink == 0):
		return err
	case err == nil && noReplace:
		return syscall.EEXIST
	case t.within(dir2, n) || exchange && t.within(dir, old):
		return syscall.EINVAL
	case old == n:
		return nil
	}
	if old != nil && !exchange {
		switch {
		case n.Is(TypeDir) && !old.Is(TypeDir):
			return syscall.ENOTDIR
		case !n.Is(TypeDir) && old.Is(TypeDir):
			return syscall.EISDIR
		case len(old.Names) > 0:
			return syscall.ENOTEMPTY
		}
	}
	o := &Op{Kind: OpRename, Node: n.ID, Dir: dir, Name: name, Dir2: dir2, Name2: name2, Mode: n.Mode,
		Path: t.pathIn(dir, name), Path2: t.pathIn(dir2, name2)}
	if _, err := t.Inject.before(callRename, o.Path2); err != nil {
		return err
	}
	from, to := t.Nodes[dir], t.Nodes[dir2]
	delete(from.Names, name)
	if old != nil {
		if exchange {
			o.Kind, o.Other = OpExchange, old.ID
			t.setName(from, name, old)
		} else {
			t.unnamed(to, name2, old)
		}
	}
	t.setName(to, name2, n)
	if n.Is(TypeDir) {
		from.Nlink--
		to.Nlink++
	}
	if exchange && old.Is(TypeDir) {
		from.Nlink++
		to.Nlink--
	}
	from.Mtime = time.Now()
	t.Record(o)
	return nil
}

// within reports whether the directory id is n or lies below it.
func (t *Tree) within(id uint64, n *Node) bool {
	for ; id != n.ID; id = t.Nodes[id].Dir {
		if id == Root {
			return false
		}
	}
	return true
}

// Attrs are attributes to set; nil ones stay.
type Attrs struct {
	Mode, UID, GID *uint32 // Mode without the type
	Mtime          *time.Time
}

// SetAttr sets the attributes of the node id.
func (t *Tree) SetAttr(id uint64, c Attrs) error {
	n := t.Nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	if c.Mtime != nil {
		n.Mtime = *c.Mtime // crash states have no times
	}
	if c.Mode == nil && c.UID == nil && c.GID == nil {
		return nil
	}
	if _, err := t.Inject.before(callAttr, t.path(id)); err != nil {
		return err
	}
	if c.Mode != nil {
		n.Mode = n.Mode&TypeMask | *c.Mode
	}
	if c.UID != nil {
		n.UID = *c.UID
	}
	if c.GID != nil {
		n.GID = *c.GID
	}
	t.Record(&Op{Kind: OpAttr, Node: id, Mode: n.Mode, UID: n.UID, GID: n.GID, Path: t.path(id)})
	return nil
}

// SetXattr sets an extended attribute, or removes it if value is nil.
func (t *Tree) SetXattr(id uint64, name string, value []byte) error {
	n := t.Nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	if _, err := t.Inject.before(callAttr, t.path(id)); err != nil {
		return err
	}
	x := maps.Clone(n.Xattrs) // never changed in place: crash states share it
	if x == nil {
		x = map[string][]byte{}
	}
	if value == nil {
		delete(x, name)
	} else {
		x[name] = slices.Clone(value)
	}
	n.Xattrs = x
	t.Record(&Op{Kind: OpXattr, Node: id, Target: name, Removed: value == nil, Path: t.path(id), Data: slices.Clone(value)})
	return nil
}

// Sync makes a file durable, or a directory with the names in it. dataOnly is
// fdatasync: content and size, but not mode, owner and extended attributes.
func (t *Tree) Sync(id uint64, dataOnly bool) error {
	n := t.Nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	o := &Op{Kind: OpSync, Node: id, Path: t.path(id)}
	switch {
	case n.Is(TypeDir):
		o.Kind = OpSyncDir
	case dataOnly:
		o.Kind = OpDatasync
	}
	return t.synced(o)
}

// SyncFS makes everything durable.
func (t *Tree) SyncFS() error { return t.synced(&Op{Kind: OpSyncFS}) }

func (t *Tree) synced(o *Op) error {
	_, err := t.Inject.before(callSync, o.Path)
	if err != nil {
		if err == syscall.EINTR {
			return err // nothing happened
		}
		o.Kind = OpSyncFailed
	}
	t.Record(o)
	return err
}

// Open opens the node id, which changes nothing but can be made to fail.
func (t *Tree) Open(id uint64) error {
	_, err := t.Inject.before(callOpen, t.path(id))
	return err
}

// Close closes the node id, which changes nothing but can be made to fail.
func (t *Tree) Close(id uint64) error {
	_, err := t.Inject.before(callClose, t.path(id))
	return err
}

// List returns the names in a directory, sorted.
func (t *Tree) List(dir uint64) ([]string, error) {
	d, err := t.Directory(dir)
	if err != nil {
		return nil, err
	}
	if _, err := t.Inject.before(callList, t.path(dir)); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(d.Names)), nil
}

// At returns the inode of a path that exists.
func (t *Tree) At(path string) uint64 {
	id := uint64(Root)
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		id = t.Nodes[id].Names[name]
	}
	return id
}
