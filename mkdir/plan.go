package mkdir

import (
	"iter"
	"slices"
	"strings"
	"sync/atomic"
)

// A plan is the tree of a batch: every distinct prefix of its paths once, in
// pre-order, so that a directory comes before its children, and backwards after
// them. Node 0 is the root.
type plan []node

type node struct {
	path  string // a prefix of a requested path, in the memory of the batch
	child int32  // the first; 0 for none
	next  int32  // the next one with the same parent; 0 for none
	up    int32  // the parent
	state atomic.Uint32
}

// The state of a node: one of missing, cached and exists, perhaps with created.
const (
	missing = 0
	cached  = 1 << iota // known to the Maker
	exists              // created or found (EEXIST)
	created             // by this batch, for Created
)

// newPlan returns the plan of paths, which it sorts.
func newPlan(paths []string, isKnown func(path string) bool) plan {
	if !slices.IsSortedFunc(paths, comparePaths) {
		slices.SortFunc(paths, comparePaths)
	}
	p := make(plan, 1, 1+len(paths)+len(paths)/2)
	var (
		line = []int32{0} // from the root to the last node added
		last = []int32{0} // the last child so far of each node in line
		prev string
	)
	for _, path := range paths {
		// Keep the part of line that path shares with the previous path.
		same := commonPrefix(prev, path)
		keep := 1
		for keep < len(line) {
			end := len(p[line[keep]].path)
			if end > same || end < len(path) && path[end] != '/' {
				break
			}
			keep++
		}
		line, last = line[:keep], last[:keep]
		for end := len(p[line[keep-1]].path); end < len(path); {
			end = levelEnd(path, end)
			i, up := int32(len(p)), line[len(line)-1]
			p = append(p, node{path: path[:end], up: up})
			if isKnown(path[:end]) {
				p[i].state.Store(cached)
			}
			if before := last[len(last)-1]; before == 0 {
				p[up].child = i
			} else {
				p[before].next = i
			}
			last[len(last)-1] = i
			line, last = append(line, i), append(last, 0)
		}
		prev = path
	}
	return p
}

// comparePaths orders paths so that a directory comes right before those in it:
// like strings.Compare with '/' below every other byte.
func comparePaths(a, b string) int {
	i := commonPrefix(a, b)
	switch {
	case i == len(a) || i == len(b):
		return len(a) - len(b)
	case a[i] == '/':
		return -1
	case b[i] == '/':
		return 1
	}
	return int(a[i]) - int(b[i])
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// collect returns cleaned copies of rels, without the root. With an error it
// returns the path that caused it.
func collect(rels iter.Seq[string], stop func() error) (paths []string, bad string, err error) {
	// One allocation for about a hundred paths. The cache keeps a chunk while it
	// has one of its paths.
	const chunkSize = 4 << 10
	var chunk strings.Builder
	for rel := range rels {
		if err := stop(); err != nil {
			return nil, rel, err
		}
		path, err := clean(rel)
		if err != nil {
			return nil, rel, err
		}
		if path == "." {
			continue
		}
		if chunk.Cap()-chunk.Len() < len(path) {
			chunk = strings.Builder{}
			chunk.Grow(max(chunkSize, len(path)))
		}
		start := chunk.Len()
		chunk.WriteString(path)
		paths = append(paths, chunk.String()[start:])
	}
	return paths, "", nil
}
