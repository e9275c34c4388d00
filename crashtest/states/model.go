package states

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stele-go/stele/crashtest/states/internal/tree"
)

// A Model says what a crash may do to operations that were not synced.
type Model int

const (
	// POSIX allows whatever the standard leaves open: a program that is right
	// under it is right on every file system that keeps to the standard.
	//
	//   - fsync and fdatasync of a file cover its content and its size; fsync
	//     also its mode, owner and extended attributes. Neither covers a name.
	//   - fsync of a directory covers the names in it: created, linked, removed,
	//     renamed. It covers neither the content of the files nor its own name.
	//   - Each operation that is not covered is kept or lost by itself, in any
	//     order. Only changes of the same name, moves of directories, and the
	//     operations after a file was cut shorter keep their order.
	//   - A write may be torn at sectors of 512 bytes: its first part, its last
	//     part, both without the middle, or the middle alone is kept. The size may
	//     be kept without the data, which then reads as zeros.
	//   - A rename within a directory is atomic. A rename of a file between two
	//     directories may be kept in one of them and lost in the other, so that
	//     the file has both names or none, until the directories are synced.
	//     Moves of directories, and exchanges, are atomic: a sync of either
	//     directory covers both names.
	POSIX Model = iota
	// Journaled is what ext4 (data=ordered, without auto_da_alloc) and XFS do:
	//
	//   - Metadata (names, modes, sizes that were set by truncate) keeps its
	//     order: a crash leaves a prefix of it.
	//   - fsync of a file that is new, longer, or has another name or mode makes
	//     all metadata until now durable, names included. So does fdatasync of a
	//     file that is new or longer, and fsync of a directory in which names were
	//     changed. fsync of a file whose bytes were only overwritten does not.
	//   - Data is as in POSIX, zeros included: ext4 writes the new size of a file
	//     before it turns the blocks reserved for the data into written ones
	//     (dioread_nolock, its default), and old blocks in no order at all.
	//   - A rename may become durable before the data of the file that it moves,
	//     which is then empty.
	Journaled
)

// String returns "POSIX" or "journaled".
func (m Model) String() string {
	switch m {
	case POSIX:
		return "POSIX"
	case Journaled:
		return "journaled"
	}
	return fmt.Sprintf("states.Model(%d)", int(m))
}

// A snapshot is the state of a file system. Contents and attributes are never
// changed in place, so that snapshots share them.
type snapshot struct {
	meta map[uint64]meta
	dirs map[uint64]map[string]uint64
	data map[uint64][]byte
}

type meta struct {
	mode, uid, gid uint32
	target         string
	xattrs         map[string][]byte
}

func snapshotOf(t *tree.Tree) *snapshot {
	s := &snapshot{meta: map[uint64]meta{}, dirs: map[uint64]map[string]uint64{}, data: map[uint64][]byte{}}
	for id, n := range t.Nodes {
		s.meta[id] = meta{mode: n.Mode, uid: n.UID, gid: n.GID, target: n.Target, xattrs: n.Xattrs}
		if n.Is(tree.TypeDir) {
			s.dirs[id] = maps.Clone(n.Names)
		} else {
			s.data[id] = slices.Clone(n.Data)
		}
	}
	return s
}

func (s *snapshot) clone() *snapshot {
	c := &snapshot{meta: maps.Clone(s.meta), dirs: map[uint64]map[string]uint64{}, data: maps.Clone(s.data)}
	for id, names := range s.dirs {
		c.dirs[id] = maps.Clone(names)
	}
	return c
}

// A change is the effect of an operation, or a part of it that a crash may keep
// without the rest.
type change struct {
	op   int    // number in the history
	half string // "new name", "old name": of a rename between directories
	kind changeKind
	node uint64
	sets []nameSet

	deps   []*change // changes without which it cannot be kept
	stuck  bool      // a sync of it failed: no later sync makes it durable
	forced bool      // no crash loses it
	done   bool      // it is in model.durable
}

type changeKind uint8

const (
	changeName changeKind = iota
	changeData
	changeSize // by truncate
	changeMeta
)

// A nameSet gives a name to node, or removes it if node is 0.
type nameSet struct {
	dir  uint64
	name string
	node uint64
}

// A model follows a history. At each point it knows the durable state and the
// pending changes, which a crash keeps or loses.
type model struct {
	kind    Model
	ops     []tree.Op
	durable *snapshot
	pending []*change // in the order of the operations
}

// step follows the operation i.
func (m *model) step(i int) {
	o := &m.ops[i]
	if o.Mutates() {
		m.change(i, o)
		return
	}
	if o.Skipped {
		return
	}
	for _, c := range m.pending {
		switch {
		case o.Kind == tree.OpSyncFailed:
			if c.kind == changeData && !c.forced && (c.node == o.Node || o.Node == 0) {
				c.stuck = true
			}
		case !c.stuck && m.covers(o, c):
			m.force(c)
		}
	}
	if m.kind == Journaled && m.commits(o) {
		for _, c := range m.pending {
			if c.kind != changeData {
				m.force(c)
			}
		}
	}
	m.settle()
}

// covers reports whether a successful sync makes c durable by itself.
func (m *model) covers(o *tree.Op, c *change) bool {
	switch o.Kind {
	case tree.OpSyncFS:
		return true
	case tree.OpSync:
		return c.node == o.Node && c.kind != changeName
	case tree.OpDatasync:
		return c.node == o.Node && (c.kind == changeData || c.kind == changeSize)
	case tree.OpSyncDir:
		if c.kind == changeName { // a change of names in two directories is atomic
			return c.within(o.Node)
		}
		return c.node == o.Node
	}
	return false
}

// within reports whether c changes names in the directory dir.
func (c *change) within(dir uint64) bool {
	return slices.ContainsFunc(c.sets, func(s nameSet) bool { return s.dir == dir })
}

// commits reports whether a sync has the journal written: if its inode is in the
// part that is not written yet. (ext4 keeps a transaction for fsync and one for
// fdatasync in each inode, XFS a position in its log.)
func (m *model) commits(o *tree.Op) bool {
	return slices.ContainsFunc(m.pending, func(c *change) bool {
		of := &m.ops[c.op]
		switch o.Kind {
		case tree.OpSync:
			// A write changes the time in the inode too, but not if that is of the
			// same tick of the clock (inode_needs_update_time).
			return c.node == o.Node && (c.kind != changeData || of.Extends())
		case tree.OpDatasync:
			return c.node == o.Node && (of.Kind == tree.OpCreate || c.kind == changeSize || c.kind == changeData && of.Extends())
		case tree.OpSyncDir:
			return c.node == o.Node || c.within(o.Node)
		}
		return false
	})
}

func (m *model) force(c *change) {
	if c.forced || c.stuck {
		return
	}
	c.forced = true
	for _, d := range c.deps {
		m.force(d)
	}
}

// settle moves forced changes from pending to durable. A write stays pending
// behind one of the same file that may be lost: applied later, that one would
// overwrite it.
func (m *model) settle() {
	blocked := map[uint64]bool{}
	m.pending = slices.DeleteFunc(m.pending, func(c *change) bool {
		data := c.kind == changeData || c.kind == changeSize
		if !c.forced || data && blocked[c.node] {
			blocked[c.node] = blocked[c.node] || data
			return false
		}
		c.done = true
		m.apply(m.durable, c)
		return true
	})
}

// apply applies c to s.
func (m *model) apply(s *snapshot, c *change) {
	o := &m.ops[c.op]
	switch c.kind {
	case changeName:
		for _, set := range c.sets {
			if set.node == 0 {
				delete(s.dirs[set.dir], set.name)
			} else {
				s.dirs[set.dir][set.name] = set.node
			}
		}
	case changeData, changeSize:
		s.data[c.node] = written(s.data[c.node], o, kept(o))
	case changeMeta:
		s.meta[c.node] = s.meta[c.node].changed(o)
	}
}

func (a meta) changed(o *tree.Op) meta {
	if o.Kind == tree.OpAttr {
		a.mode, a.uid, a.gid = o.Mode, o.UID, o.GID
		return a
	}
	x := maps.Clone(a.xattrs)
	if x == nil {
		x = map[string][]byte{}
	}
	if o.Removed {
		delete(x, o.Target)
	} else {
		x[o.Target] = o.Data
	}
	a.xattrs = x
	return a
}

// A piece is the part of a write that is kept: the bytes of [from, to) or, of a
// hole, all others; the file is then at least size bytes long.
type piece struct {
	from, to, size int64
	hole           bool
}

// kept is the piece that is the whole write.
func kept(o *tree.Op) piece { return piece{from: o.Off, to: o.Off + o.Len, size: o.Off + o.Len} }

// written returns a copy of data with a piece of the operation applied.
func written(data []byte, o *tree.Op, p piece) []byte {
	if o.Kind == tree.OpTruncate {
		b := make([]byte, o.Len)
		copy(b, data)
		return b
	}
	b := make([]byte, max(int64(len(data)), p.size))
	copy(b, data)
	put := func(from, to int64) {
		if from < to && o.Kind == tree.OpZero {
			clear(b[from:to])
		} else if from < to {
			copy(b[from:to], o.Data[from-o.Off:])
		}
	}
	if p.hole {
		put(o.Off, p.from)
		put(p.to, o.Off+o.Len)
	} else {
		put(p.from, p.to)
	}
	return b
}

// change adds the changes of the operation i to pending.
func (m *model) change(i int, o *tree.Op) {
	add := func(c change) {
		c.op = i
		m.depend(&c)
		m.pending = append(m.pending, &c)
	}
	names := func(half string, sets ...nameSet) {
		add(change{node: o.Node, kind: changeName, half: half, sets: sets})
	}
	switch o.Kind {
	case tree.OpCreate, tree.OpTmpfile:
		// An inode without a name is not visible, and so may be durable.
		m.durable.meta[o.Node] = meta{mode: o.Mode, uid: o.UID, gid: o.GID, target: o.Target}
		if o.Mode&tree.TypeMask == tree.TypeDir {
			m.durable.dirs[o.Node] = map[string]uint64{}
		}
		if o.Kind == tree.OpCreate {
			names("", nameSet{o.Dir, o.Name, o.Node})
		}
	case tree.OpLink:
		names("", nameSet{o.Dir, o.Name, o.Node})
	case tree.OpUnlink:
		names("", nameSet{o.Dir, o.Name, 0})
	case tree.OpRename:
		to, from := nameSet{o.Dir2, o.Name2, o.Node}, nameSet{o.Dir, o.Name, 0}
		if m.kind == POSIX && o.Dir != o.Dir2 && o.Mode&tree.TypeMask != tree.TypeDir {
			names("new name", to)
			names("old name", from)
		} else {
			names("", to, from)
		}
	case tree.OpExchange:
		names("", nameSet{o.Dir, o.Name, o.Other}, nameSet{o.Dir2, o.Name2, o.Node})
	case tree.OpWrite, tree.OpZero:
		add(change{node: o.Node, kind: changeData})
	case tree.OpTruncate:
		add(change{node: o.Node, kind: changeSize})
	case tree.OpAttr, tree.OpXattr:
		add(change{node: o.Node, kind: changeMeta})
	}
}

// movesDir reports whether a directory gets another name. Such moves keep their
// order: one without the other could put two directories into each other.
func (m *model) movesDir(o *tree.Op) bool {
	return (o.Kind == tree.OpRename || o.Kind == tree.OpExchange) && o.Mode&tree.TypeMask == tree.TypeDir ||
		o.Kind == tree.OpExchange && m.durable.meta[o.Other].mode&tree.TypeMask == tree.TypeDir
}

// depend finds the changes without which c cannot be kept.
func (m *model) depend(c *change) {
	o := &m.ops[c.op]
	for _, p := range m.pending {
		before := &m.ops[p.op]
		var dep bool
		switch c.kind {
		case changeName:
			dep = m.movesDir(o) && m.movesDir(before) || p.kind == changeName && slices.ContainsFunc(c.sets, func(s nameSet) bool {
				return slices.ContainsFunc(p.sets, func(q nameSet) bool { return s.dir == q.dir && s.name == q.name })
			})
		case changeMeta:
			dep = p.kind == changeMeta && p.node == c.node
		default:
			dep = p.kind == changeSize && p.node == c.node && before.Len < before.Size
		}
		journal := m.kind == Journaled && c.kind != changeData && p.kind != changeData
		if dep || journal {
			c.deps = append(c.deps, p)
		}
	}
}

// snapshotAfter returns the file system after the operations.
func snapshotAfter(ops []tree.Op) *snapshot {
	m := &model{ops: ops, durable: snapshotOf(tree.New())}
	for i := range ops {
		m.step(i)
		for _, c := range m.pending {
			c.stuck = false
			m.force(c)
		}
		m.settle()
	}
	return m.durable
}
