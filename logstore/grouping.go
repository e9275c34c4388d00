package logstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A grouping maps streams to the groups of an Aggregation. Many goroutines may
// use it at once.
type grouping struct {
	names   []string // sorted
	without bool
	memory  *allowance
	chunks  contentTable[[]atomic.Pointer[group]]

	mu     sync.Mutex
	key    []byte
	groups map[string]*group // by the labels of the group, encoded
	list   []*group          // as they came
	free   []group           // for the next groups
	texts  strings.Builder   // of labels of the latest groups
}

func newGrouping(a Aggregation, memory *allowance) *grouping {
	names := slices.Clone(a.By)
	slices.Sort(names)
	return &grouping{
		names: slices.Compact(names), without: a.Without, memory: memory, groups: map[string]*group{},
		chunks: contentTable[[]atomic.Pointer[group]]{memory: memory},
	}
}

// single reports whether all streams are one group.
func (g *grouping) single() bool { return len(g.names) == 0 && !g.without }

// each reports whether each stream is a group.
func (g *grouping) each() bool { return len(g.names) == 0 && g.without }

// groupMemory is about the memory of a group, beside its labels and its buckets:
// itself, and its places in a map and in two lists.
const groupMemory = int64(unsafe.Sizeof(group{})) + 48 + 8 + int64(unsafe.Sizeof(keyedGroup{}))

// groupsAtOnce is how many groups are allocated together, textsAtOnce how many bytes
// of labels, and maxExpected for how many groups a map is made beforehand at most.
const (
	groupsAtOnce = 32
	textsAtOnce  = 4 << 10
	maxExpected  = 4 << 10
)

// expect makes room for n groups, if there is none yet.
func (g *grouping) expect(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.list) == 0 && n > cap(g.list) {
		n = min(n, maxExpected)
		g.groups, g.list = make(map[string]*group, n), make([]*group, 0, n)
	}
}

// of returns the group of the stream with these labels. The error is that of
// the group's memory.
func (g *grouping) of(labels string) (*group, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.each() {
		g.key = appendGroup(g.key[:0], labels, g.names, g.without)
		if known := g.groups[string(g.key)]; known != nil {
			return known, nil
		}
		labels = string(g.key)
	} else if known := g.groups[labels]; known != nil {
		return known, nil
	}
	if err := g.memory.charge(groupMemory + int64(len(labels))); err != nil {
		return nil, err
	}
	if g.each() {
		labels = g.text(labels)
	}
	if len(g.free) == 0 {
		g.free = make([]group, groupsAtOnce)
	}
	added := &g.free[0]
	g.free = g.free[1:]
	added.labels = Labels{labels}
	g.groups[labels] = added
	g.list = append(g.list, added)
	return added, nil
}

// text returns a copy, which shares its memory with others. mu is held.
func (g *grouping) text(labels string) string {
	if g.texts.Len()+len(labels) > g.texts.Cap() {
		g.texts = strings.Builder{}
		g.texts.Grow(max(len(labels), textsAtOnce))
	}
	from := g.texts.Len()
	g.texts.WriteString(labels)
	return g.texts.String()[from:]
}

// appendGroup appends the encoded labels that have one of the names, or that
// have none of them. names are sorted.
func appendGroup(dst []byte, labels string, names []string, without bool) []byte {
	for rest := labels; rest != ""; {
		pair := rest
		var name string
		name, rest = cutString(rest)
		_, rest = cutString(rest)
		for len(names) > 0 && names[0] < name {
			names = names[1:]
		}
		if named := len(names) > 0 && names[0] == name; named != without {
			dst = append(dst, pair[:len(pair)-len(rest)]...)
		}
	}
	return dst
}

// result returns the groups by their labels, or the n with the most bytes. The
// error is the cause of ctx.
func (g *grouping) result(ctx context.Context, n int) ([]Group, error) {
	size := 0
	for _, one := range g.list {
		size += len(one.labels.enc) + 2*8
	}
	keys := make([]byte, 0, size)
	keyed := make([]keyedGroup, 0, len(g.list))
	for i, one := range g.list {
		if i%checkCompares == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if len(one.buckets) > 0 {
			one.merge()
			from := len(keys)
			keys = one.labels.appendSortKey(keys)
			keyed = append(keyed, keyedGroup{from, len(keys), i})
		}
	}
	err := sortFunc(ctx, keyed, func(a, b keyedGroup) int { return bytes.Compare(keys[a.from:a.to], keys[b.from:b.to]) })
	if err != nil {
		return nil, err
	}
	list := make([]Group, len(keyed))
	for i, k := range keyed {
		list[i] = Group{g.list[k.at].labels, g.list[k.at].buckets}
	}
	if n > 0 {
		return top(ctx, list, n)
	}
	return list, nil
}

// A keyedGroup is the index of a group, and where its sort key is. It has no
// pointer, so that it is moved at no price.
type keyedGroup struct{ from, to, at int }

// A group is what an aggregation has counted of a group.
type group struct {
	labels Labels

	mu sync.Mutex
	// buckets are by time up to sorted. The others are few, in no order.
	buckets []Bucket
	sorted  int
	last    int       // index of the bucket that was added to last
	one     [1]Bucket // where buckets are as long as there is one
}

// maxUnsorted is how many buckets of a group are in no order.
const maxUnsorted = 32

// add adds to the bucket with this start. The error is that of its memory.
func (g *group) add(memory *allowance, start, entries, bytes int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last >= len(g.buckets) || g.buckets[g.last].Start != start {
		if g.last = g.find(start); g.last < 0 {
			if err := g.insert(memory, start); err != nil {
				return err
			}
		}
	}
	b := &g.buckets[g.last]
	b.Entries += entries
	b.Bytes += bytes
	return nil
}

// find returns the index of a bucket, or -1.
func (g *group) find(start int64) int {
	if i, ok := slices.BinarySearchFunc(g.buckets[:g.sorted], start, func(b Bucket, start int64) int { return cmp.Compare(b.Start, start) }); ok {
		return i
	}
	for i := g.sorted; i < len(g.buckets); i++ {
		if g.buckets[i].Start == start {
			return i
		}
	}
	return -1
}

// insert adds an empty bucket, which is last then.
func (g *group) insert(memory *allowance, start int64) error {
	n := len(g.buckets)
	if n-g.sorted == maxUnsorted {
		g.merge()
	}
	if n == 0 {
		g.buckets = g.one[:0]
	} else if n == cap(g.buckets) {
		grown := slices.Grow(g.buckets, 1)
		if err := memory.charge(int64(cap(grown)-cap(g.buckets)) * int64(unsafe.Sizeof(Bucket{}))); err != nil {
			g.last = 0
			return err
		}
		g.buckets = grown
	}
	if g.sorted == n && (n == 0 || g.buckets[n-1].Start < start) {
		g.sorted++
	}
	g.buckets = append(g.buckets, Bucket{Start: start})
	g.last = n
	return nil
}

// merge puts all buckets in order.
func (g *group) merge() {
	if g.sorted == len(g.buckets) {
		return
	}
	var few [maxUnsorted]Bucket
	late := few[:copy(few[:], g.buckets[g.sorted:])]
	slices.SortFunc(late, func(a, b Bucket) int { return cmp.Compare(a.Start, b.Start) })
	// From the end, so that no bucket is overwritten before it is moved.
	a, b := g.sorted-1, len(late)-1
	for w := len(g.buckets) - 1; b >= 0; w-- {
		if a >= 0 && g.buckets[a].Start > late[b].Start {
			g.buckets[w] = g.buckets[a]
			a--
		} else {
			g.buckets[w] = late[b]
			b--
		}
	}
	g.sorted, g.last = len(g.buckets), 0
}

// A groupedChunk is the groups of the streams of one chunk, as a reading used them
// last: neighbours are asked for together. Chunks with the same labels share the
// groups.
type groupedChunk struct {
	of     *grouping
	in     *searched
	first  uint32                  // ordinal
	groups []atomic.Pointer[group] // by stream of the chunk; nil: not asked for yet
}

// group returns the group of a stream.
func (r *reading) group(g *grouping, st streamRef) (*group, error) {
	if g.single() {
		return g.of("")
	}
	if st.in == nil {
		return g.of(st.labels)
	}
	c := &r.grouped
	if c.of != g || c.in != st.in || st.ordinal-c.first >= uint32(len(c.groups)) {
		content, err := r.segment(st.in).Content(r.x.ctx, st.ordinal)
		if err != nil {
			content = segment2.Content{First: st.ordinal, Streams: 1}
		}
		*c = groupedChunk{g, st.in, content.First, g.groupsOf(content)}
		if g.each() && st.in.streams == nil {
			g.expect(st.in.Info().Streams)
		}
	}
	at := &c.groups[st.ordinal-c.first]
	if known := at.Load(); known != nil {
		return known, nil
	}
	labels, err := r.labels(st)
	if err != nil {
		return nil, err
	}
	one, err := g.of(labels)
	if err == nil {
		at.Store(one)
	}
	return one, err
}

// groupsOf returns the groups of a chunk.
func (g *grouping) groupsOf(c segment2.Content) []atomic.Pointer[group] {
	if groups, ok := g.chunks.get(c.Hash); ok {
		return groups
	}
	groups := make([]atomic.Pointer[group], c.Streams)
	g.chunks.put(c.Hash, groups, int64(c.Streams)*int64(unsafe.Sizeof(groups[0])))
	return groups
}
