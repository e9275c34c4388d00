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
	data    []byte // the labels of streams; then lines, each followed by its metadata
	streams []resultStream
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

// A resultStream is a stream of results. Its labels are in their data, and only those
// of rows that are taken are in memory for themselves.
type resultStream struct {
	taken     Labels // once a row was taken, and while rows are left
	off, size uint32 // of the labels
	left      uint32 // rows that were not taken
}

const (
	resultRowBytes    = int64(unsafe.Sizeof(resultRow{}))
	resultStreamBytes = int64(unsafe.Sizeof(resultStream{}))
	resultIDBytes     = int64(unsafe.Sizeof(segment2.ID{}))
	copiedSpanBytes   = int64(unsafe.Sizeof(copiedSpan{}))
	pickBytes         = int64(unsafe.Sizeof(pick{}))
)

func (f *results) first() *resultRow { return &f.rows[f.next] }
func (f *results) last() *resultRow  { return &f.rows[len(f.rows)-1] }

// labels returns the encoded labels of a row, which are valid as long as f.
func (f *results) labels(r *resultRow) string {
	s := &f.streams[r.stream]
	return unsafe.String(unsafe.SliceData(f.data[s.off:]), s.size)
}

// take returns the labels of the next row of its stream.
func (f *results) take(names *labelTable, r *resultRow) Labels {
	s := &f.streams[r.stream]
	l := s.taken
	if l.enc == "" {
		l = names.of(f.labels(r))
	}
	if s.left--; s.left == 0 {
		s.taken = Labels{}
	} else {
		s.taken = l
	}
	return l
}

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
	if d := (Labels{f.labels(a)}).Compare(Labels{g.labels(b)}); d != 0 {
		return d < 0
	}
	switch {
	case f.rank != g.rank:
		return f.rank < g.rank
	case a.pos != b.pos:
		return a.pos < b.pos
	}
	return a.row < b.row
}

// maxCopied is how many bytes of lines, metadata and labels a visit copies whatever its
// share: a stream in memory may have far more of one time.
const maxCopied = 4 << 20

// fit returns how many of the picks, but at least one, are allotted, and the bytes
// of their lines and metadata. It leaves their spans in r.met: their labels have about
// r.labelBytes each.
func fit(r *reading, picks []pick, of allotment) (n int, size int64) {
	span := int32(-1)
	for held := int64(0); n < len(picks); n++ {
		p := picks[n]
		bytes := int64(len(r.line(p)) + len(r.meta(p)))
		held += bytes + resultRowBytes
		met := len(r.met)
		if p.span != span {
			if span = p.span; r.meet(span) {
				held += resultStreamBytes + r.labelBytes
			}
		}
		if n > 0 && held > of.bytes && (p.time != picks[0].time || r.x.key(p.time) > of.wanted || held > maxCopied) {
			r.forget(met)
			break
		}
		size += bytes
	}
	return n, size
}

// copyPicks copies as many of the picks of a leaf as are allotted, at least one, and
// returns how many those are. Those of spans whose labels cannot
// be read are left out, and fail is called for each such span. The result is nil if
// nothing is left.
func copyPicks(r *reading, l leaf, picks []pick, of allotment, fail func(error)) (f *results, n int) {
	pools := &r.x.store.reads.results
	var id func(pick) segment2.ID
	if r.x.cursors {
		var err error
		if id, err = l.ids(r); err != nil {
			fail(err)
			return nil, len(picks)
		}
	}
	n, size := r.fitLabels(l, picks, of)
	defer r.forget(0)
	for _, err := range r.lost {
		fail(err)
	}
	f = pools.get(n, len(r.streams), size+int64(len(r.labelText)))
	f.rank, f.leaf = l.rank(), l
	f.data, f.streams = append(f.data, r.labelText...), append(f.streams, r.streams...)
	for _, p := range picks[:n] {
		sp := r.spans[p.span]
		if sp.stream == lostSpan {
			continue
		}
		f.streams[sp.stream-1].left++
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
	if len(f.rows) == 0 {
		pools.put(f)
		return nil, n
	}
	return f, n
}

// lineBytes returns how many bytes the lines have on average, with their metadata: at least 1.
func (f *results) lineBytes() int {
	n := 0
	for i := range f.rows {
		n += int(f.rows[i].line + f.rows[i].meta)
	}
	return max(1, n/len(f.rows))
}

// resultPools keep the memory of results, by size from 1 KiB to 1 MiB, so that
// small results do not keep large memory.
type resultPools [11]sync.Pool

func poolOf(size int64) int { return max(0, bits.Len64(uint64(size-1))-10) }

// get returns results with capacity for rows of some streams, with size bytes of
// labels, lines and metadata.
func (ps *resultPools) get(rows, streams int, size int64) *results {
	pool := poolOf(size)
	if pool >= len(ps) {
		return &results{rows: make([]resultRow, 0, rows), streams: make([]resultStream, 0, streams), data: make([]byte, 0, size)}
	}
	f, _ := ps[pool].Get().(*results)
	if f == nil {
		f = &results{data: make([]byte, 0, 1024<<pool)}
	}
	if cap(f.rows) < rows || cap(f.rows) > 4*rows+64 {
		f.rows = make([]resultRow, 0, rows)
	}
	if cap(f.streams) < streams || cap(f.streams) > 4*streams+64 {
		f.streams = make([]resultStream, 0, streams)
	}
	return f
}

// discard is put of results that may be nil.
func (ps *resultPools) discard(f *results) {
	if f != nil {
		ps.put(f)
	}
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
