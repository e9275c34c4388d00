package states

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/crashtest/states/internal/tree"
	"github.com/stele-go/stele/internal/measure/fileop"
)

// Outcomes of a change. A vector has one for each pending change: it is lost,
// kept, or torn in one of several ways, numbered from 2.
const (
	outLost = 0
	outKept = 1
	outTorn = 2
)

// A frame has every change that a crash at one point of the history may lose.
type frame struct {
	model *model
	cutPoint
	change []*change
	deps   [][]int   // for each, the indexes of changes that it depends on
	tears  [][]piece // for each, the ways to tear it
	basic  []int     // for each, how many of its tears are always tried

	contents map[string]content // by node and outcomes of its changes
}

type content struct {
	data []byte
	sum  [sha256.Size]byte
}

func (m *model) frame(at cutPoint) *frame {
	f := &frame{model: m, cutPoint: at, change: slices.Clone(m.pending), contents: map[string]content{}}
	index := map[*change]int{}
	for i, c := range f.change {
		index[c] = i
		var deps []int
		for _, d := range c.deps {
			if !d.done {
				deps = append(deps, index[d])
			}
		}
		var tears []piece
		basic := 0
		if c.kind == changeData && !c.forced {
			tears, basic = tearsOf(&m.ops[c.op])
		}
		f.deps, f.tears, f.basic = append(f.deps, deps), append(f.tears, tears), append(f.basic, basic)
	}
	return f
}

// sector is how many bytes a disk writes whole or not at all.
const sector = 512

// tearsOf returns the ways to tear a write. The first `basic` of them are at its
// first and last boundary between sectors; of a write to three sectors or fewer
// these are all mixtures.
func tearsOf(o *tree.Op) (tears []piece, basic int) {
	end, longer := o.Off+o.Len, o.Extends()
	var cuts []int64
	for at := (o.Off/sector + 1) * sector; at < end; at += sector {
		cuts = append(cuts, at)
	}
	if longer { // the size may be there before the data
		tears = append(tears, piece{from: o.Off, to: o.Off, size: end})
	}
	tear := func(at int64) {
		tears = append(tears, piece{from: o.Off, to: at, size: at})
		if longer {
			tears = append(tears, piece{from: o.Off, to: at, size: end})
		}
		tears = append(tears, piece{from: at, to: end, size: end})
	}
	hole := func(from, to int64) { tears = append(tears, piece{from: from, to: to, size: end, hole: true}) }
	if len(cuts) > 0 {
		tear(cuts[0])
	}
	if len(cuts) > 1 {
		first, last := cuts[0], cuts[len(cuts)-1]
		tear(last)
		hole(first, last)
		tears = append(tears, piece{from: first, to: last, size: end})
	}
	basic = len(tears)
	for i := 1; i < len(cuts)-1; i++ {
		tear(cuts[i])
		hole(cuts[i-1], cuts[i])
	}
	return tears, basic
}

// valid reports whether each change that is not lost depends on no lost one.
func (f *frame) valid(v []int) bool {
	for i := range v {
		if f.change[i].forced && v[i] != outKept {
			return false
		}
		if v[i] != outLost && !f.allows(v, i) {
			return false
		}
	}
	return true
}

// allows reports whether change i may be kept, given the outcomes before it.
func (f *frame) allows(v []int, i int) bool {
	return !slices.ContainsFunc(f.deps[i], func(d int) bool { return v[d] == outLost })
}

// snapshot returns the file system that the vector makes.
func (f *frame) snapshot(v []int) (s *snapshot, sums map[uint64][sha256.Size]byte) {
	m := f.model
	s = &snapshot{meta: maps.Clone(m.durable.meta), dirs: maps.Clone(m.durable.dirs), data: maps.Clone(m.durable.data)}
	own := map[uint64]bool{}
	files := map[uint64][]int{}
	for i, c := range f.change {
		if c.kind == changeData || c.kind == changeSize {
			files[c.node] = append(files[c.node], i)
			continue
		}
		if v[i] == outLost {
			continue
		}
		for _, set := range c.sets {
			if !own[set.dir] {
				s.dirs[set.dir], own[set.dir] = maps.Clone(s.dirs[set.dir]), true
			}
		}
		m.apply(s, c)
	}
	sums = map[uint64][sha256.Size]byte{}
	for node, changes := range files {
		c := f.file(node, changes, v)
		s.data[node], sums[node] = c.data, c.sum
	}
	return s, sums
}

// file returns the content of the file node, made once for the same outcomes.
func (f *frame) file(node uint64, changes []int, v []int) content {
	key := binary.AppendUvarint(nil, node)
	for _, i := range changes {
		key = binary.AppendUvarint(key, uint64(v[i]))
	}
	if c, ok := f.contents[string(key)]; ok {
		return c
	}
	data := f.model.durable.data[node]
	for _, i := range changes {
		o := &f.model.ops[f.change[i].op]
		switch out := v[i]; out {
		case outLost:
		case outKept:
			data = written(data, o, kept(o))
		default:
			data = written(data, o, f.tears[i][out-outTorn])
		}
	}
	c := content{data: data, sum: sha256.Sum256(data)}
	f.contents[string(key)] = c
	return c
}

// walk calls visit for each name that can be reached, sorted, a directory before
// its entries.
func (s *snapshot) walk(visit func(path string, node uint64)) {
	var down func(path string, dir uint64)
	down = func(path string, dir uint64) {
		names := s.dirs[dir]
		for _, name := range slices.Sorted(maps.Keys(names)) {
			node, at := names[name], filepath.Join(path, name)
			visit(at, node)
			if s.meta[node].mode&tree.TypeMask == tree.TypeDir {
				down(at, node)
			}
		}
	}
	down("", tree.Root)
}

// key returns a hash: states with the same key look the same to a program.
func (s *snapshot) key(known map[uint64][sha256.Size]byte) [sha256.Size]byte {
	h := sha256.New()
	first := map[uint64]string{} // hard links are the same file
	s.walk(func(path string, node uint64) {
		m := s.meta[node]
		fmt.Fprintf(h, "%q %q %o %d %d %q\n", path, first[node], m.mode, m.uid, m.gid, m.target)
		for _, name := range slices.Sorted(maps.Keys(m.xattrs)) {
			fmt.Fprintf(h, "%q=%q\n", name, m.xattrs[name])
		}
		if first[node] != "" || m.mode&tree.TypeMask != tree.TypeFile {
			return
		}
		first[node] = path
		sum, ok := known[node]
		if !ok {
			sum = sha256.Sum256(s.data[node])
			known[node] = sum
		}
		h.Write(sum[:])
	})
	return [sha256.Size]byte(h.Sum(nil))
}

// tree returns a file system that starts as s and shares its contents.
func (s *snapshot) tree() *tree.Tree {
	t := tree.New()
	t.Nodes[tree.Root].Mode = s.meta[tree.Root].mode
	t.Nodes[tree.Root].Names = maps.Clone(s.dirs[tree.Root])
	s.walk(func(path string, id uint64) {
		dir := uint64(tree.Root)
		if parent := filepath.Dir(path); parent != "." {
			dir = t.At(parent)
		}
		if n := t.Nodes[id]; n != nil {
			n.Nlink++
			return
		}
		m := s.meta[id]
		n := &tree.Node{ID: id, Mode: m.mode, UID: m.uid, GID: m.gid, Nlink: 1, Target: m.target, Xattrs: m.xattrs,
			Mtime: t.Nodes[tree.Root].Mtime, Dir: dir, Name: filepath.Base(path)}
		if n.Is(tree.TypeDir) {
			n.Nlink = 2
			n.Names = maps.Clone(s.dirs[id])
			t.Nodes[dir].Nlink++
		} else {
			n.Data, n.Shared = s.data[id], true
		}
		t.Nodes[id] = n
	})
	for id := range s.meta {
		t.Last = max(t.Last, id)
	}
	return t
}

// writeTo makes s in an empty directory.
func (s *snapshot) writeTo(dir string) (err error) {
	first := map[uint64]string{}
	type mode struct {
		path string
		meta meta
	}
	var modes []mode // set last, leaves first: they may deny what is still to be done
	s.walk(func(rel string, node uint64) {
		if err != nil {
			return
		}
		m, name := s.meta[node], filepath.Join(dir, rel)
		if first[node] != "" {
			err = os.Link(first[node], name)
			return
		}
		first[node] = name
		switch m.mode & tree.TypeMask {
		case tree.TypeDir:
			err = os.Mkdir(name, 0o700)
		case tree.TypeFile:
			err = writeSparse(name, s.data[node])
		case tree.TypeLink:
			err = os.Symlink(m.target, name)
			return
		default:
			return // a FIFO, a socket or a device has nothing to lose
		}
		modes = append(modes, mode{name, m})
	})
	slices.Reverse(modes)
	for _, m := range modes {
		if err == nil {
			err = m.meta.set(m.path)
		}
	}
	return err
}

// writeSparse writes a file without the zeros at its end.
func writeSparse(name string, data []byte) error {
	used := bytes.TrimRight(data, "\x00")
	if err := os.WriteFile(name, used, 0o600); err != nil || len(used) == len(data) {
		return err
	}
	return os.Truncate(name, int64(len(data)))
}

func (a meta) set(name string) error {
	if len(a.xattrs) > 0 {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		for attr, value := range a.xattrs {
			if err := fileop.SetXattr(f, attr, value); err != nil {
				return fmt.Errorf("states: %s: extended attribute %s: %w", name, attr, err)
			}
		}
	}
	if uid, gid := os.Geteuid(), os.Getegid(); uid == 0 && (a.uid != 0 || a.gid != uint32(gid)) {
		if err := os.Lchown(name, int(a.uid), int(a.gid)); err != nil {
			return err
		}
	}
	return os.Chmod(name, fs.FileMode(a.mode&0o777))
}
