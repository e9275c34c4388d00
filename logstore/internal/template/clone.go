package template

import "sync/atomic"

// Clone returns a Miner that has the patterns which m has now, and learns by itself from
// then on. It shares the patterns with m, so that it takes little memory of its own at
// first: some 16 bytes a pattern, and 64 KiB. Blocks that its Parsers finish do not keep m from
// forgetting a pattern.
func (m *Miner) Clone() *Miner {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.patterns.Load()
	n := newPatternTable(len(t.byKey))
	n.count = t.count
	copyTable(n.byKey, t.byKey)
	copyTable(n.bySkeleton, t.bySkeleton)
	c := &Miner{bytes: m.bytes, shared: m.bytes, seen: m.seen}
	c.blocks.Store(m.blocks.Load())
	c.chunks.Store(m.chunks.Load())
	c.patterns.Store(n)
	return c
}

func copyTable[T any](to, from []atomic.Pointer[T]) {
	for i := range from {
		to[i].Store(from[i].Load())
	}
}
