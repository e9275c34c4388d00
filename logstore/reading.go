package logstore

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A reading is what a worker uses to open or read one source. It is the worker's
// until the outcome is published.
type reading struct {
	x      *search
	totals summarizer   // the task, if it is one, or nil
	halted *atomic.Bool // the scan has ended

	stats     QueryStats // of the source
	picks     []pick
	order     pickOrder
	cut       pickCut
	frame     segment2.Frame
	block     block.Decoder      // of frame
	templates searchedDictionary // of block
	// sure has the rows that match, whatever else is known of them, as bits; nil: not known.
	// rebuilt is memory for those whose lines are rebuilt.
	sure, rebuilt []uint64
	// judged, unless nil, has rows that match by their fields: those of them that are in sure meet
	// the rest of the filter too.
	judged []uint64
	// ranges and matching are of the rows of block that are counted; see countRows.
	ranges   []countedRows
	matching []uint64
	mem      *memtable // that rows are of; nil: picks are of block
	rows     []memRow
	ids      []segment2.ID // of the rows of frame, once they were asked for
	idsLost  bool          // they are made up
	// linesRead: the lines of frame are counted.
	linesRead bool
	lineless  bool               // lines of block are not read
	opened    bool               // columns of block are not counted yet
	names     map[int32]spanName // see compareSpans
	labelCopy

	ordered  orderedSegment
	chunk    readChunk    // for chunkOf
	grouped  groupedChunk // for group
	fields   fieldReading
	asked    matched     // for entryTest
	literals literalScan // for candidates
	texts    []string    // of a stream, for a presence
	damage   []error     // of labels that match could not read
	unread   []int32     // the spans of damage

	turn      turn
	unchecked int // bytes of lines since ended was called; see check

	kept int64 // what readPool.readingUsed counts for it
}

// weight returns about how many bytes of memory a reading takes.
func (r *reading) weight() int64 {
	return r.frame.Weight() + r.block.Weight() + int64(cap(r.rows))*memRowSize + int64(cap(r.picks))*pickBytes + 8*int64(cap(r.cut.keys)) + int64(cap(r.ranges))*countedBytes + 8*int64(cap(r.rebuilt)+cap(r.matching)) +
		int64(cap(r.ids))*resultIDBytes + int64(cap(r.spans))*copiedSpanBytes +
		int64(cap(r.met))*4 + r.fields.weight() + int64(cap(r.streams))*resultStreamBytes + int64(cap(r.labelText))
}

// count counts what a reading takes, while it is in use: of a block with many streams
// that is more than is kept.
func (r *reading) count() {
	used := r.weight()
	r.x.store.reads.readingUsed.Add(used - r.kept)
	r.kept = used
}

// acquireReading waits for a reading. Its holder waits for nothing else but a
// caller's filter. It returns nil if ctx is done before.
func (r *readPool) acquireReading(ctx context.Context) *reading {
	select {
	case w := <-r.readings:
		if w == nil {
			w = new(reading)
		}
		return w
	case <-ctx.Done():
		return nil
	}
}

// releaseReading takes back the result of acquireReading.
func (r *readPool) releaseReading(w *reading) {
	if w == nil {
		return
	}
	kept := w.weight()
	r.readingUsed.Add(-w.kept)
	if kept > maxReading {
		w = nil
	} else if used := r.readingUsed.Add(kept); used > r.readingShare {
		r.readingUsed.Add(-kept)
		w = nil
	}
	if w != nil { // else it is collected
		w.kept = kept
		w.x, w.totals, w.halted, w.mem, w.templates = nil, nil, nil, nil, searchedDictionary{}
		w.cut.bytes = 0 // a filter may have ended the goroutine before its task did so
		w.block.Release()
		w.grouped = groupedChunk{}
		w.asked = matched{}
		w.literals.of, w.literals.text = nil, nil
		w.chunk = readChunk{}
		w.fields.release()
		clear(w.texts[:cap(w.texts)])
	}
	r.readings <- w
}

// An orderedSegment is a segment that is asked for the labels and totals of streams in
// their order.
type orderedSegment struct {
	in      *searched
	segment catalog.Segment
}

// inOrder readies the segment to be asked for labels and totals of the streams to be read
// between two ordinals, in their order, until stop is called.
func (r *reading) inOrder(in *searched, low, high uint32) (stop func()) {
	segment, end := in.Ordered(r.x.ctx, in.streams, low, high)
	if end == nil {
		return func() {}
	}
	r.ordered = orderedSegment{in, segment}
	return func() {
		r.ordered = orderedSegment{}
		end()
	}
}

// segment returns the segment to be asked.
func (r *reading) segment(in *searched) catalog.Segment {
	if r.ordered.in == in {
		return r.ordered.segment
	}
	return in.Segment
}

// A readChunk is the chunk of labels that a reading used last: neighbours are
// mostly asked for together.
type readChunk struct {
	in    *searched
	chunk *segment2.Chunk
}

// chunkOf returns the chunk with the labels of a stream of a segment.
func (r *reading) chunkOf(st streamRef) (*segment2.Chunk, error) {
	c := &r.chunk
	if c.in != st.in || st.ordinal-c.chunk.First >= uint32(len(c.chunk.Labels)) {
		chunk, err := st.in.chunk(r, st.ordinal)
		if err != nil {
			return nil, err
		}
		*c = readChunk{st.in, chunk}
	}
	return c.chunk, nil
}

// labels returns the encoded labels of a stream. A caller that keeps them clones
// them.
func (r *reading) labels(st streamRef) (string, error) {
	if st.in == nil {
		return st.labels, nil
	}
	c, err := r.chunkOf(st)
	if err != nil {
		return "", err
	}
	return c.Of(st.ordinal), nil
}

// uncount forgets what was counted of the parts of a source that was opened before.
func (r *reading) uncount() {
	r.stats.Segments, r.stats.Groups, r.stats.Blocks, r.stats.Bytes = PartStats{}, PartStats{}, PartStats{}, PartStats{}
}

// whole offers totals of a stream to the task. It reports whether no more of
// them is to be read: also if that failed.
func (r *reading) whole(st streamRef, t rowTotals, fail func(error)) bool {
	if r.totals == nil {
		return false
	}
	whole, err := r.totals.whole(r, st, t)
	if err != nil {
		fail(err)
	}
	return whole || err != nil
}

// countColumns counts what was read of the columns of the block, once.
func (r *reading) countColumns() {
	if r.opened {
		opened, all := r.block.Columns()
		r.stats.Columns.Opened += int64(opened)
		r.stats.Columns.Skipped += int64(all - opened)
		r.opened = false
	}
}

func (r *reading) line(p pick) []byte {
	if r.mem != nil {
		return r.mem.line(r.rows[p.row])
	}
	if r.lineless {
		return nil
	}
	return r.block.Line(int(p.row))
}

func (r *reading) meta(p pick) []byte {
	if r.mem != nil {
		return r.mem.meta(r.rows[p.row])
	}
	return r.block.Meta(int(p.row))
}

// mark returns where a pick lies.
func (r *reading) mark(p pick) mark {
	if r.mem == nil {
		return mark{time: p.time, span: uint32(p.span), row: uint32(p.row)}
	}
	row := &r.rows[p.row]
	return mark{p.time, uint32(p.span), row.pos, row.off}
}

// checkRows and checkBytes are how many rows, and bytes of lines, are matched or folded
// between two looks at whether the scan has ended.
const (
	checkRows  = 16
	checkBytes = 64 << 10
)

// check is ended, now and then, before the i-th line of a source.
func (r *reading) check(i int, line []byte) error {
	r.unchecked += len(line)
	if i%checkRows != 0 && r.unchecked < checkBytes {
		return nil
	}
	return r.pass()
}

// pass gives up the processor if it is time, and is ended.
func (r *reading) pass() error {
	r.unchecked = 0
	r.turn.pass()
	return r.ended()
}

// errEnded is the error of a source that was not read to its end, as the scan had
// ended. Nobody gets it.
var errEnded = errors.New("the scan has ended")

// ended returns an error if the source need not be read on: the scan has ended, or
// its context is done, so that it is about to.
func (r *reading) ended() error {
	if r.x.ctx.Err() != nil {
		return context.Cause(r.x.ctx)
	}
	if r.halted.Load() {
		return errEnded
	}
	return nil
}

// catchPanic, deferred, makes a panic of a filter an error. It is deferred once
// for many lines, as that costs more than to match one.
func catchPanic(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{v, debug.Stack(), ""}
	}
}

// catchPanicOf is catchPanic of what is no filter.
func catchPanicOf(name string, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{v, debug.Stack(), name}
	}
}
