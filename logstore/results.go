package logstore

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// results are matching entries of one leaf, copied, in the order of the search.
type results struct {
	rows    []resultRow
	next    int    // the first row that was not yielded
	data    []byte // lines, each followed by its metadata
	streams []*streamLabels
	ids     []segment2.ID // of rows, if the search wants cursors
	rank    uint64
	leaf    leaf
}

type resultRow struct {
	time       int64
	stream     uint32 // index into results.streams
	pos, row   uint32 // of the mark; pos of a block is the seq of its span
	off        uint32
	line, meta uint32 // bytes
}

const (
	resultRowBytes    = int64(unsafe.Sizeof(resultRow{}))
	resultStreamBytes = int64(unsafe.Sizeof((*streamLabels)(nil)))
	resultIDBytes     = int64(unsafe.Sizeof(segment2.ID{}))
	copiedSpanBytes   = int64(unsafe.Sizeof(copiedSpan{}))
	pickBytes         = int64(unsafe.Sizeof(pick{}))
)

func (f *results) first() *resultRow { return &f.rows[f.next] }
func (f *results) last() *resultRow  { return &f.rows[len(f.rows)-1] }

// extent describes the rows that were not yielded.
func (f *results) extent(x *search) extent {
	first, last := f.first(), f.last()
	return extent{x.key(first.time), x.key(last.time), int64(last.off+last.line+last.meta) - int64(first.off), f.rank}
}

// bytes returns the memory that f takes.
func (f *results) bytes() int64 {
	return int64(cap(f.data)) + int64(cap(f.rows))*resultRowBytes + int64(cap(f.streams))*resultStreamBytes + int64(cap(f.ids))*resultIDBytes + int64(unsafe.Sizeof(*f))
}

// rowBefore reports whether the first row of f comes before that of g, which has
// the same time, in a search forward.
func rowBefore(f, g *results) bool {
	a, b := f.first(), g.first()
	if n, m := f.streams[a.stream], g.streams[b.stream]; n != m && n.sortKey != m.sortKey {
		return n.sortKey < m.sortKey
	}
	switch {
	case f.rank != g.rank:
		return f.rank < g.rank
	case a.pos != b.pos:
		return a.pos < b.pos
	}
	return a.row < b.row
}

// maxCopied is how many bytes of lines and metadata a visit copies whatever its
// share: a stream in memory may have far more of one time.
const maxCopied = 4 << 20

// fit returns how many of the picks, but at least one, are allotted, and the bytes
// of their lines and metadata.
func fit(r *reading, picks []pick, of allotment) (n int, size int64) {
	for held := int64(0); n < len(picks); n++ {
		p := picks[n]
		bytes := int64(len(r.line(p)) + len(r.meta(p)))
		held += bytes + resultRowBytes
		if n > 0 && held > of.bytes && (p.time != picks[0].time || r.x.key(p.time) > of.wanted || held > maxCopied) {
			break
		}
		size += bytes
	}
	return n, size
}

// A copiedSpan is what a reading knows of a span while it copies picks.
type copiedSpan struct {
	stream uint32 // 1 + index into results.streams, or lostSpan; 0: not met
	seq    uint32
}

// lostSpan marks a span whose labels cannot be read.
const lostSpan = 1<<32 - 1

// copyPicks copies picks of a leaf, whose lines and metadata have size bytes.
// Those of spans whose labels cannot be read are left out, and fail is called for
// each such span. The result is nil if nothing is left.
func copyPicks(r *reading, l leaf, picks []pick, size int64, fail func(error)) *results {
	pools := &r.x.store.reads.results
	var id func(pick) segment2.ID
	if r.x.cursors {
		var err error
		if id, err = l.ids(r); err != nil {
			fail(err)
			return nil
		}
	}
	f := pools.get(len(picks), size)
	f.rank, f.leaf = l.rank(), l
	span, sp := int32(-1), copiedSpan{}
	for _, p := range picks {
		if p.span != span {
			span, sp = p.span, copySpan(r, l, f, p.span, fail)
		}
		if sp.stream == lostSpan {
			continue
		}
		line, meta := r.line(p), r.meta(p)
		row := resultRow{p.time, sp.stream - 1, sp.seq, uint32(p.row), uint32(len(f.data)), uint32(len(line)), uint32(len(meta))}
		if r.mem != nil {
			row.pos, row.row = r.rows[p.row].pos, r.rows[p.row].off
		}
		f.rows = append(f.rows, row)
		if id != nil {
			f.ids = append(f.ids, id(p))
		}
		f.data = append(append(f.data, line...), meta...)
	}
	for _, p := range picks {
		r.spans[p.span] = copiedSpan{}
	}
	if len(f.rows) == 0 {
		pools.put(f)
		return nil
	}
	return f
}

// copySpan returns what is known of a span, and asks the leaf the first time.
func copySpan(r *reading, l leaf, f *results, span int32, fail func(error)) copiedSpan {
	for int(span) >= len(r.spans) {
		r.spans = append(r.spans, copiedSpan{})
	}
	sp := &r.spans[span]
	if sp.stream == 0 {
		labels, seq, err := l.stream(r, span)
		if err != nil {
			fail(err)
			sp.stream = lostSpan
			return *sp
		}
		f.streams = append(f.streams, labels)
		*sp = copiedSpan{uint32(len(f.streams)), seq}
	}
	return *sp
}

// resultPools keep the memory of results, by size from 1 KiB to 1 MiB, so that
// small results do not keep large memory.
type resultPools [11]sync.Pool

func poolOf(size int64) int { return max(0, bits.Len64(uint64(size-1))-10) }

// get returns results with capacity for rows with size bytes of lines and
// metadata.
func (ps *resultPools) get(rows int, size int64) *results {
	pool := poolOf(size)
	if pool >= len(ps) {
		return &results{rows: make([]resultRow, 0, rows), data: make([]byte, 0, size)}
	}
	f, _ := ps[pool].Get().(*results)
	if f == nil {
		f = &results{data: make([]byte, 0, 1024<<pool)}
	}
	if cap(f.rows) < rows || cap(f.rows) > 4*rows+64 {
		f.rows = make([]resultRow, 0, rows)
	}
	return f
}

func (ps *resultPools) put(f *results) {
	pool := poolOf(int64(cap(f.data)))
	if pool >= len(ps) {
		return
	}
	streams := f.streams
	clear(streams)
	*f = results{rows: f.rows[:0], data: f.data[:0], streams: streams[:0], ids: f.ids[:0]}
	ps[pool].Put(f)
}
