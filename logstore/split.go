package logstore

import (
	"cmp"
	"iter"
	"slices"
	"unsafe"
)

// A sealPlan divides the entries of a memtable, to which nothing is added any
// more, into blocks. It takes 8 bytes a stream.
type sealPlan struct {
	mem     *memtable
	raw     int64        // the target size of a block in bytes of lines
	streams []*memStream // with entries, by tenant and labels: the index is the ordinal in the segment
	blocks  []plannedBlock
}

// A plannedBlock is all rows of the small streams from first to last, or some of
// a large one.
type plannedBlock struct {
	first, last int      // ordinals
	rows        []memRow // of the large stream; nil: small streams
	part        int      // how many blocks of the stream come before
}

// A rowRun is consecutive rows of one stream.
type rowRun struct {
	ordinal uint32
	seq     uint64
	rows    []memRow
}

// weight is what rows with so many bytes of lines and metadata count for in a
// block. Empty rows count too, so that no block has more rows than the codec
// takes.
func weight(rows int, raw int64) int64 { return max(raw, 4*int64(rows)) }

// runWeight is what a run counts for in a block of many.
const runWeight = 16

// planSeal divides the entries of m into blocks: a large stream has blocks of its
// own, of equal weight; small ones of a tenant share blocks, by labels. Blocks
// weigh between half of raw and a little more than all of it, but for the
// last of a stream and the last shared one of a tenant.
func planSeal(m *memtable, raw int64) *sealPlan {
	p := &sealPlan{mem: m, raw: raw, streams: make([]*memStream, 0, m.streams.Len())}
	for _, h := range m.streams.All() {
		if h.totals().rows > 0 {
			p.streams = append(p.streams, h)
		}
	}
	slices.SortFunc(p.streams, compareStreams)
	for i, h := range p.streams {
		h.ordinal = uint32(i)
	}
	for first, end := range p.tenants() {
		p.planTenant(first, end)
	}
	return p
}

// compareStreams is the order of streams in a segment.
func compareStreams(a, b *memStream) int {
	if t, o := a.of.tenant, b.of.tenant; t != o {
		if t.before(o) {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.of.labels.enc, b.of.labels.enc)
}

// tenants ranges over the streams of each tenant, from first to before end.
func (p *sealPlan) tenants() iter.Seq2[int, int] {
	return func(yield func(first, end int) bool) {
		first := 0
		for i := range p.streams {
			if end := i + 1; end == len(p.streams) || p.streams[end].of.tenant != p.streams[first].of.tenant {
				if !yield(first, end) {
					return
				}
				first = end
			}
		}
	}
}

// planTenant divides the entries of a tenant, which has the streams from begin to
// before end.
func (p *sealPlan) planTenant(begin, end int) {
	first, shared := 0, int64(0) // of the block that small streams share
	for i := begin; i < end; i++ {
		h := p.streams[i]
		own := h.weight()
		if own >= p.raw/2 {
			for n, part := range p.mem.divide(p.mem.all(h), own, p.raw) {
				p.blocks = append(p.blocks, plannedBlock{first: i, last: i, rows: part, part: n})
			}
			continue
		}
		if shared == 0 {
			first = i
		}
		if shared += own + runWeight; shared >= p.raw/2 {
			p.blocks = append(p.blocks, plannedBlock{first: first, last: i})
			shared = 0
		}
	}
	if shared > 0 {
		p.blocks = append(p.blocks, plannedBlock{first: first, last: end - 1})
	}
}

// weight is that of all rows.
func (h *memStream) weight() int64 {
	t := h.totals()
	return weight(int(t.rows), t.raw)
}

// memory returns about how many bytes of memory the plan takes.
func (p *sealPlan) memory() int64 {
	return int64(cap(p.streams))*int64(unsafe.Sizeof(p)) + int64(cap(p.blocks))*int64(unsafe.Sizeof(plannedBlock{}))
}

// labels ranges over the labels of the streams from first to before end.
func (p *sealPlan) labels(first, end int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, h := range p.streams[first:end] {
			if !yield(h.of.labels.enc) {
				return
			}
		}
	}
}

// runs ranges over the runs of a block, by ordinal.
func (p *sealPlan) runs(b plannedBlock) iter.Seq[rowRun] {
	return func(yield func(rowRun) bool) {
		if b.rows != nil {
			yield(rowRun{uint32(b.first), uint64(b.part), b.rows})
			return
		}
		for i, h := range p.streams[b.first : b.last+1] {
			if h.weight() < p.raw/2 && !yield(rowRun{uint32(b.first + i), 0, p.mem.all(h)}) {
				return
			}
		}
	}
}

// divide splits rows, which weigh all, into parts of about equal weight, of
// target and an entry at most.
func (m *memtable) divide(rows []memRow, all, target int64) [][]memRow {
	n := (all + target - 1) / target
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
