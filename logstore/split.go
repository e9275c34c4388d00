package logstore

import (
	"cmp"
	"slices"
)

// A rowRun is consecutive rows of one stream.
type rowRun struct {
	labels string
	rows   []memRow
}

// weight is what rows with so many bytes of lines and metadata count for in a
// block. Empty rows count too, so that no block has more rows than the codec
// takes.
func weight(rows int, raw int64) int64 { return max(raw, 4*int64(rows)) }

// splitBlocks divides the entries of a memtable into blocks: a large stream has
// blocks of its own, of equal weight; small ones share blocks, by labels.
// Blocks weigh between half of blockRaw and a little more than all of it, but
// for the last of a stream and the last shared one.
func splitBlocks(m *memtable, labels func(n uint32) string) [][]rowRun {
	type item struct {
		labels string
		rows   []memRow
		raw    int64
	}
	var items []item
	for n, h := range m.streams.All() {
		if rows := m.all(h); len(rows) > 0 {
			items = append(items, item{labels(n), rows, h.raw})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.labels, b.labels) })
	var blocks [][]rowRun
	var shared []rowRun
	var sharedWeight int64
	for _, it := range items {
		own := weight(len(it.rows), it.raw)
		if own >= blockRaw/2 {
			for _, part := range m.divide(it.rows, own) {
				blocks = append(blocks, []rowRun{{it.labels, part}})
			}
			continue
		}
		shared = append(shared, rowRun{it.labels, it.rows})
		// A segment stores the labels beside each block.
		if sharedWeight += own + int64(len(it.labels)); sharedWeight >= blockRaw/2 {
			blocks = append(blocks, shared)
			shared, sharedWeight = nil, 0
		}
	}
	if len(shared) > 0 {
		blocks = append(blocks, shared)
	}
	return blocks
}

// divide splits rows, which weigh all, into parts of about equal weight, of
// blockRaw and an entry at most.
func (m *memtable) divide(rows []memRow, all int64) [][]memRow {
	n := (all + blockRaw - 1) / blockRaw
	each := (all + n - 1) / n
	var parts [][]memRow
	var raw int64
	first := 0
	for i, r := range rows {
		raw += int64(r.lineLen())
		if r.hasMeta() {
			raw += int64(len(m.meta(r)))
		}
		if weight(i+1-first, raw) >= each {
			parts = append(parts, rows[first:i+1])
			first, raw = i+1, 0
		}
	}
	if first < len(rows) {
		parts = append(parts, rows[first:])
	}
	return parts
}
