package logstore

import (
	"sort"

	"github.com/stele-go/stele/logstore/internal/heap"
)

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

// key returns the key of the first row.
func (m *merger) key(f *results) int64 { return m.keyOf(f.first()) }

// keyOf returns the key of a row; see search.key.
func (m *merger) keyOf(r *resultRow) int64 {
	if m.backward {
		return ^r.time
	}
	return r.time
}

// next returns the key of the next row, or maxKey if there is none.
func (m *merger) next() int64 {
	if len(m.heap.Items) == 0 {
		return maxKey
	}
	return m.heap.Items[0].Key
}

// run returns the results whose first row is next, and how many of their rows, at
// least one and at most most, come before the rows of all others and have keys
// below bound.
func (m *merger) run(bound int64, most int) (f *results, n int) {
	items := m.heap.Items
	for i := 1; i < min(3, len(items)); i++ { // the second item is one of these
		bound = min(bound, items[i].Key)
	}
	f = items[0].Value
	rows := f.rows[f.next:]
	if rows = rows[:min(most, len(rows))]; m.keyOf(&rows[len(rows)-1]) < bound {
		return f, len(rows)
	}
	return f, max(1, sort.Search(len(rows), func(i int) bool { return m.keyOf(&rows[i]) >= bound }))
}

// advance removes the next n rows, which run returned, and returns their results
// if these have no more.
func (m *merger) advance(n int) (empty *results) {
	f := m.heap.Items[0].Value
	if f.next += n; f.next == len(f.rows) {
		return m.heap.Pop()
	}
	m.heap.FixTop(m.key(f))
	return nil
}
