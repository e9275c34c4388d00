package claims

import (
	"container/heap"
	"container/list"

	"github.com/maypok86/otter/v2"

	"github.com/stele-go/stele/suites/internal/metacache"
)

// An l9Cache keeps so many pieces of l9Piece bytes. get returns a piece, which
// load has read where it was not there.
type l9Cache interface {
	get(piece int, load func(piece int) ([]byte, error)) ([]byte, error)
	close()
}

// An l9LRU drops what was asked for the longest ago.
type l9LRU struct {
	most  int
	at    map[int]*list.Element
	order list.List // of l9Entry, the latest in front
}

type l9Entry struct {
	piece int
	data  []byte
}

func newL9LRU(most int) l9Cache { return &l9LRU{most: most, at: map[int]*list.Element{}} }

func (c *l9LRU) get(piece int, load func(int) ([]byte, error)) ([]byte, error) {
	if e := c.at[piece]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(l9Entry).data, nil
	}
	data, err := load(piece)
	if err != nil {
		return nil, err
	}
	c.at[piece] = c.order.PushFront(l9Entry{piece, data})
	if len(c.at) > c.most {
		delete(c.at, c.order.Remove(c.order.Back()).(l9Entry).piece)
	}
	return data, nil
}

func (c *l9LRU) close() {}

// An l9LFU drops what was asked for the least often while it was there, of
// several the one that waited longest. It forgets no count: the plain one.
type l9LFU struct {
	most int
	now  int64
	at   map[int]*l9Counted
	heap l9Heap
}

type l9Counted struct {
	l9Entry
	count, last int64
	place       int // in the heap
}

func newL9LFU(most int) l9Cache { return &l9LFU{most: most, at: map[int]*l9Counted{}} }

func (c *l9LFU) get(piece int, load func(int) ([]byte, error)) ([]byte, error) {
	c.now++
	if e := c.at[piece]; e != nil {
		e.count, e.last = e.count+1, c.now
		heap.Fix(&c.heap, e.place)
		return e.data, nil
	}
	data, err := load(piece)
	if err != nil {
		return nil, err
	}
	if len(c.at) >= c.most {
		delete(c.at, heap.Pop(&c.heap).(*l9Counted).piece)
	}
	e := &l9Counted{l9Entry: l9Entry{piece, data}, count: 1, last: c.now}
	c.at[piece] = e
	heap.Push(&c.heap, e)
	return data, nil
}

func (c *l9LFU) close() {}

type l9Heap []*l9Counted

func (h l9Heap) Len() int { return len(h) }

func (h l9Heap) Less(i, j int) bool {
	if h[i].count != h[j].count {
		return h[i].count < h[j].count
	}
	return h[i].last < h[j].last
}

func (h l9Heap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *l9Heap) Push(x any) {
	e := x.(*l9Counted)
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *l9Heap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}

// An l9Otter is guarded by frequency with counts that fade: W-TinyLFU.
type l9Otter struct{ c *otter.Cache[int, []byte] }

func newL9Otter(most int) l9Cache {
	return l9Otter{otter.Must(&otter.Options[int, []byte]{MaximumSize: most, Executor: func(f func()) { f() }})}
}

func (c l9Otter) get(piece int, load func(int) ([]byte, error)) ([]byte, error) {
	if data, ok := c.c.GetIfPresent(piece); ok {
		return data, nil
	}
	data, err := load(piece)
	if err == nil {
		c.c.Set(piece, data)
	}
	return data, err
}

func (c l9Otter) close() { c.c.InvalidateAll(); c.c.StopAllGoroutines() }

// An l9Levels is frequency and recency in two levels: package metacache.
type l9Levels struct {
	c *metacache.Cache[[]byte]
}

func newL9Levels(most int) l9Cache {
	// What the cache counts for itself is not of the pieces' bytes.
	return l9Levels{metacache.New(int64(most)*(l9Piece+metacache.Overhead), func(data []byte) int { return len(data) })}
}

func (c l9Levels) get(piece int, load func(int) ([]byte, error)) ([]byte, error) {
	return c.c.Get(metacache.Key{Segment: uint64(piece)}, 1, func() ([]byte, error) { return load(piece) })
}

func (c l9Levels) close() { c.c.Close() }
