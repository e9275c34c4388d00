package logstore

import "github.com/stele-go/stele/logstore/internal/heap"

// A merger merges results: the next row of all is the first one of those on top.
type merger struct {
	backward bool
	heap     heap.Heap[*results]
}

func newMerger(backward bool) merger {
	m := merger{backward: backward}
	m.heap.Less = rowBefore
	if backward {
		m.heap.Less = func(f, g *results) bool { return rowBefore(g, f) }
	}
	return m
}

func (m *merger) push(f *results) { m.heap.Push(f, m.key(f)) }

// key returns the key of the first row; see search.key.
func (m *merger) key(f *results) int64 {
	if m.backward {
		return ^f.first().time
	}
	return f.first().time
}

// next returns the key of the next row, or maxKey if there is none.
func (m *merger) next() int64 {
	if len(m.heap.Items) == 0 {
		return maxKey
	}
	return m.heap.Items[0].Key
}

// top returns the results whose first row is next.
func (m *merger) top() *results { return m.heap.Items[0].Value }

// advance removes the next row, and returns its results if it was their last.
func (m *merger) advance() (empty *results) {
	top := m.top()
	if top.next++; top.next == len(top.rows) {
		return m.heap.Pop()
	}
	m.heap.FixTop(m.key(top))
	return nil
}
