package states

import (
	"maps"
	"path"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A tree is a file system in memory whose files are known by their inodes. Both
// front ends, FS and the mount, serve one: here operations take effect, are
// recorded, and are made to fail.
type tree struct {
	mu     sync.Mutex
	nodes  map[uint64]*node // never deleted: an open file may have no name
	last   uint64           // highest inode number
	record func(*op)        // called with mu held, before the caller gets its answer
	inject *injector
}

const rootNode = 1

type node struct {
	id       uint64
	mode     uint32 // type and permissions
	uid, gid uint32
	nlink    uint32
	data     []byte // of a file
	shared   bool   // data is shared with another state, and copied before a change
	target   string // of a symlink
	names    map[string]uint64
	xattrs   map[string][]byte
	mtime    time.Time
	dir      uint64 // with name, the last name it got, for reports
	name     string
}

func newTree() *tree {
	t := &tree{nodes: map[uint64]*node{}, last: rootNode, record: func(*op) {}}
	t.nodes[rootNode] = &node{id: rootNode, mode: typeDir | 0o755, nlink: 2, names: map[string]uint64{}, mtime: time.Now()}
	return t
}

func (n *node) is(typ uint32) bool { return n.mode&typeMask == typ }

// path returns the last name of the node, relative to the root.
func (t *tree) path(id uint64) string {
	p := ""
	for id != rootNode {
		n := t.nodes[id]
		if n == nil || n.name == "" {
			return path.Join("(no name)", p)
		}
		id, p = n.dir, path.Join(n.name, p)
	}
	return path.Join(".", p)
}

func (t *tree) pathIn(dir uint64, name string) string { return path.Join(t.path(dir), name) }

// directory returns the directory with the number dir.
func (t *tree) directory(dir uint64) (*node, error) {
	d := t.nodes[dir]
	switch {
	case d == nil:
		return nil, syscall.ENOENT
	case !d.is(typeDir):
		return nil, syscall.ENOTDIR
	case d.nlink == 0:
		return nil, syscall.ENOENT // removed while it was open
	}
	return d, nil
}

func (t *tree) lookup(dir uint64, name string) (*node, error) {
	d, err := t.directory(dir)
	if err != nil {
		return nil, err
	}
	id, ok := d.names[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	return t.nodes[id], nil
}

// create makes an inode. It has no name if name is "".
func (t *tree) create(dir uint64, name string, mode, uid, gid uint32, target string) (*node, error) {
	d, err := t.directory(dir)
	if err != nil {
		return nil, err
	}
	if _, there := d.names[name]; there {
		return nil, syscall.EEXIST
	}
	kind, call := opCreate, callCreate
	if mode&typeMask == typeDir {
		call = callMkdir
	}
	if _, err := t.inject.before(call, t.pathIn(dir, name)); err != nil {
		return nil, err
	}
	t.last++
	n := &node{id: t.last, mode: mode, uid: uid, gid: gid, nlink: 1, target: target, mtime: time.Now()}
	if n.is(typeDir) {
		n.names = map[string]uint64{}
		n.nlink = 2
		d.nlink++
	}
	t.nodes[n.id] = n
	o := &op{Kind: kind, Node: n.id, Dir: dir, Name: name, Mode: mode, UID: uid, GID: gid, Target: target, Path: t.pathIn(dir, name)}
	if name == "" {
		o.Kind, o.Dir, n.nlink = opTmpfile, 0, 0
	} else {
		t.setName(d, name, n)
	}
	t.record(o)
	return n, nil
}

// setName gives n the name, which may be taken.
func (t *tree) setName(d *node, name string, n *node) {
	d.names[name] = n.id
	n.dir, n.name = d.id, name
	d.mtime = time.Now()
}

func (t *tree) link(id, dir uint64, name string) (*node, error) {
	d, err := t.directory(dir)
	if err != nil {
		return nil, err
	}
	n := t.nodes[id]
	switch _, there := d.names[name]; {
	case there:
		return nil, syscall.EEXIST
	case n == nil:
		return nil, syscall.ENOENT
	case n.is(typeDir):
		return nil, syscall.EPERM
	}
	o := &op{Kind: opLink, Node: id, Dir: dir, Name: name, Path: t.path(id), Path2: t.pathIn(dir, name)}
	if _, err := t.inject.before(callLink, o.Path2); err != nil {
		return nil, err
	}
	n.nlink++
	t.setName(d, name, n)
	t.record(o)
	return n, nil
}

// remove removes the name of a directory, or of any other file.
func (t *tree) remove(dir uint64, name string, isDir bool) error {
	n, err := t.lookup(dir, name)
	if err != nil {
		return err
	}
	switch {
	case isDir && !n.is(typeDir):
		return syscall.ENOTDIR
	case !isDir && n.is(typeDir):
		return syscall.EISDIR
	case len(n.names) > 0:
		return syscall.ENOTEMPTY
	}
	if _, err := t.inject.before(callRemove, t.pathIn(dir, name)); err != nil {
		return err
	}
	d := t.nodes[dir]
	delete(d.names, name)
	d.mtime = time.Now()
	t.record(&op{Kind: opUnlink, Node: n.id, Dir: dir, Name: name, Mode: n.mode, Path: t.pathIn(dir, name)})
	t.unnamed(d, name, n)
	return nil
}

// unnamed accounts for n having lost its name in d.
func (t *tree) unnamed(d *node, name string, n *node) {
	if n.is(typeDir) {
		n.nlink = 0
		d.nlink--
		return
	}
	n.nlink--
	if n.dir != d.id || n.name != name {
		return
	}
	n.name = ""
	if n.nlink == 0 {
		return
	}
	for _, other := range t.nodes { // for reports: any of its other names
		for name, id := range other.names {
			if id == n.id {
				n.dir, n.name = other.id, name
			}
		}
	}
}

// rename moves a name over another one. noReplace is RENAME_NOREPLACE,
// exchange RENAME_EXCHANGE.
func (t *tree) rename(dir uint64, name string, dir2 uint64, name2 string, noReplace, exchange bool) error {
	n, err := t.lookup(dir, name)
	if err != nil {
		return err
	}
	old, err := t.lookup(dir2, name2)
	switch {
	case err != nil && (err != syscall.ENOENT || exchange || t.nodes[dir2] == nil || t.nodes[dir2].nlink == 0):
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
		case n.is(typeDir) && !old.is(typeDir):
			return syscall.ENOTDIR
		case !n.is(typeDir) && old.is(typeDir):
			return syscall.EISDIR
		case len(old.names) > 0:
			return syscall.ENOTEMPTY
		}
	}
	o := &op{Kind: opRename, Node: n.id, Dir: dir, Name: name, Dir2: dir2, Name2: name2, Mode: n.mode,
		Path: t.pathIn(dir, name), Path2: t.pathIn(dir2, name2)}
	if _, err := t.inject.before(callRename, o.Path2); err != nil {
		return err
	}
	from, to := t.nodes[dir], t.nodes[dir2]
	delete(from.names, name)
	if old != nil {
		if exchange {
			o.Kind, o.Other = opExchange, old.id
			t.setName(from, name, old)
		} else {
			t.unnamed(to, name2, old)
		}
	}
	t.setName(to, name2, n)
	if n.is(typeDir) {
		from.nlink--
		to.nlink++
	}
	if exchange && old.is(typeDir) {
		from.nlink++
		to.nlink--
	}
	from.mtime = time.Now()
	t.record(o)
	return nil
}

// within reports whether the directory id is n or lies below it.
func (t *tree) within(id uint64, n *node) bool {
	for ; id != n.id; id = t.nodes[id].dir {
		if id == rootNode {
			return false
		}
	}
	return true
}

// An attrChange has the attributes to set; nil ones stay.
type attrChange struct {
	mode, uid, gid *uint32 // mode without the type
	mtime          *time.Time
}

func (t *tree) setAttr(id uint64, c attrChange) error {
	n := t.nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	if c.mtime != nil {
		n.mtime = *c.mtime // crash states have no times
	}
	if c.mode == nil && c.uid == nil && c.gid == nil {
		return nil
	}
	if _, err := t.inject.before(callAttr, t.path(id)); err != nil {
		return err
	}
	if c.mode != nil {
		n.mode = n.mode&typeMask | *c.mode
	}
	if c.uid != nil {
		n.uid = *c.uid
	}
	if c.gid != nil {
		n.gid = *c.gid
	}
	t.record(&op{Kind: opAttr, Node: id, Mode: n.mode, UID: n.uid, GID: n.gid, Path: t.path(id)})
	return nil
}

// setXattr sets an extended attribute, or removes it if value is nil.
func (t *tree) setXattr(id uint64, name string, value []byte) error {
	n := t.nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	if _, err := t.inject.before(callAttr, t.path(id)); err != nil {
		return err
	}
	x := maps.Clone(n.xattrs) // never changed in place: crash states share it
	if x == nil {
		x = map[string][]byte{}
	}
	if value == nil {
		delete(x, name)
	} else {
		x[name] = slices.Clone(value)
	}
	n.xattrs = x
	t.record(&op{Kind: opXattr, Node: id, Target: name, Removed: value == nil, Path: t.path(id), Data: slices.Clone(value)})
	return nil
}

// sync makes a file durable, or a directory with the names in it. dataOnly is
// fdatasync: content and size, but not mode, owner and extended attributes.
func (t *tree) sync(id uint64, dataOnly bool) error {
	n := t.nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	o := &op{Kind: opSync, Node: id, Path: t.path(id)}
	switch {
	case n.is(typeDir):
		o.Kind = opSyncDir
	case dataOnly:
		o.Kind = opDatasync
	}
	return t.synced(o, callSync)
}

func (t *tree) syncFS() error { return t.synced(&op{Kind: opSyncFS}, callSync) }

func (t *tree) synced(o *op, call string) error {
	_, err := t.inject.before(call, o.Path)
	if err != nil {
		if err == syscall.EINTR {
			return err // nothing happened
		}
		o.Kind = opSyncFailed
	}
	t.record(o)
	return err
}

// open and close change nothing, but can be made to fail.
func (t *tree) open(id uint64) error {
	_, err := t.inject.before(callOpen, t.path(id))
	return err
}

func (t *tree) close(id uint64) error {
	_, err := t.inject.before(callClose, t.path(id))
	return err
}

// list returns the names in a directory, sorted.
func (t *tree) list(dir uint64) ([]string, error) {
	d, err := t.directory(dir)
	if err != nil {
		return nil, err
	}
	if _, err := t.inject.before(callList, t.path(dir)); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(d.names)), nil
}
