package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A blockLeaf is a block of a segment, or what is left of it. A span is a run of
// its frame.
type blockLeaf struct {
	extent
	in     *searched
	group  *segment2.Group
	number int
	part   *blockPart // nil: all runs of the streams to be read
	seen   bool       // it was read
	kept   int        // the average bytes of the lines kept last; 0 if none were

	window window
}

// anySpan in a mark is the span that has its row.
const anySpan = 1<<32 - 1

// A blockPart is what a leaf reads of a block where that is not all.
type blockPart struct {
	runs  segment2.Runs // of the block; nil: not known
	only  []int32       // of runs
	clips []clip        // in place of only
}

// pick reads the block, and its lines only if it has entries in the range. It opens it in any
// mode: entries of which nothing but the time can be read must not count for a limit.
func (l *blockLeaf) pick(r *reading, bound int64, mode pickMode) (rest leaf, err error) {
	if err := l.openFrame(r); err != nil {
		return nil, err
	}
	return nil, l.pickRows(r, bound, mode)
}

// pickRows is pick for the block that r has open.
func (l *blockLeaf) pickRows(r *reading, bound int64, mode pickMode) error {
	several, err := l.pickTimes(r, bound)
	if err != nil {
		return err
	}
	if l.window.isCut() {
		l.window.low.span, l.window.high.span = r.spanOf(&l.window.low.mark), r.spanOf(&l.window.high.mark)
		r.picks = slices.DeleteFunc(r.picks, func(p pick) bool {
			return !l.window.has(r.x.backward, func(m *mark) int { return l.compare(r, p, m) })
		})
	}
	l.dropTaken(r)
	if err := l.dropToCursor(r); err != nil {
		return err
	}
	if err := l.dropOutside(r); err != nil {
		return err
	}
	if err := l.dropGone(r); err != nil {
		return err
	}
	r.order = pickOrder{several: several, limited: mode == withLines && r.x.limit > 0}
	if mode != timesOnly && len(r.picks) > 0 {
		if mode == withLines { // what is cut is told to entriesTask alone
			l.cutPicks(r)
		}
		match := l.matchRows
		if mode == withFields {
			match = l.matchFields
		}
		if err := match(r); err != nil {
			return err
		}
	}
	r.orderPicks(l, mode == withLines)
	return nil
}

// matchRows reads what the search needs of the picks, and drops those that its filter does
// not match.
func (l *blockLeaf) matchRows(r *reading) error {
	if r.x.judge != nil {
		if done, err := l.judgeRows(r); done || err != nil {
			return err
		}
	}
	if done, err := l.searchColumns(r); done || err != nil {
		return err
	}
	if err := l.readTexts(r); err != nil {
		return err
	}
	return r.match(l)
}

// readTexts reads lines and metadata, or metadata alone if the search has no use for
// lines.
func (l *blockLeaf) readTexts(r *reading) error {
	if f := r.filter(); r.noLines() && (f == nil || f.lineless) {
		return l.readMetadata(r)
	}
	return l.readPicked(r)
}

// readPicked reads metadata, and lines: those of the picks alone if that is less.
func (l *blockLeaf) readPicked(r *reading) error {
	if r.templates.dictionary != nil && (2*len(r.picks) < r.block.Rows() || r.judged != nil && r.noLines()) {
		return l.rebuildPicks(r)
	}
	return l.readLines(r)
}

// readMetadata reads metadata without lines, which are empty then.
func (l *blockLeaf) readMetadata(r *reading) error {
	r.lineless = true
	return l.wrapDamage(r.block.Metadata())
}

// readLines reads lines and metadata, once.
func (l *blockLeaf) readLines(r *reading) error {
	r.lineless = false
	if !r.linesRead {
		r.linesRead = true
		r.stats.RawBytes += int64(l.entry().Raw)
		if l.entry().Codec == segment2.CodecColumns {
			r.stats.Columns.Rebuilt += int64(r.block.Rows())
		}
	}
	return l.wrapDamage(r.block.Lines())
}

// dropTaken drops the picks that do not come behind the row of the search from which
// it goes on in the segment.
func (l *blockLeaf) dropTaken(r *reading) {
	t := l.in.behind
	if t == nil {
		return
	}
	r.picks = slices.DeleteFunc(r.picks, func(p pick) bool {
		if p.time != t.time {
			return false
		}
		n := r.spanName(l, p.span)
		if n.lost {
			return false
		}
		return t.includesSpan(r.x, n, l.order, uint32(p.row))
	})
}

// dropToCursor drops the picks up to the cursor of the search. The rows of a
// sealed memtable have been cut at it; see cutAtCursor.
func (l *blockLeaf) dropToCursor(r *reading) (err error) {
	c := r.x.resume
	if c == nil || l.in.clips != nil {
		return nil
	}
	r.picks = slices.DeleteFunc(r.picks, func(p pick) bool {
		return p.time == c.Time && !r.beyondCursor(l, p, func() (id segment2.ID) {
			ids, failed := l.readIDs(r)
			if failed != nil {
				err = failed
				return id
			}
			return ids[p.row]
		})
	})
	return err
}

// dropOutside drops the picks at positions that are not of the search.
func (l *blockLeaf) dropOutside(r *reading) error {
	within := &r.x.within
	if within.isAll() || len(r.picks) == 0 || l.in.Info().After+1 >= within.since && within.has(l.in.Info().Upto) {
		return nil
	}
	ids, err := l.readIDs(r)
	if err != nil {
		return err
	}
	r.picks = slices.DeleteFunc(r.picks, func(p pick) bool { return !within.has(ids[p.row].Position) })
	return nil
}

// pickTimes picks the rows with keys up to bound, run by run. several reports that more
// than one run has some.
func (l *blockLeaf) pickTimes(r *reading, bound int64) (several bool, err error) {
	from, to := r.x.times(l.first, bound)
	spans := 0
	for span, rows := range l.spans(r.frame.Runs) {
		begin, end, err := l.searchRun(r, rows, from, to)
		if err != nil {
			return false, err
		}
		if begin == end {
			continue
		}
		spans++
		times, err := r.block.TimesBetween(begin, end)
		if err != nil {
			return false, l.wrapDamage(err)
		}
		n := len(r.picks)
		r.picks = slices.Grow(r.picks, end-begin)[:n+end-begin]
		picks := r.picks[n:]
		for i, t := range times[begin:end] {
			picks[i] = pick{t, span, int32(begin + i)}
		}
	}
	r.count()
	return spans > 1, nil
}

// searchRun returns which rows of the block, of some of one run, have times in [from, to).
func (l *blockLeaf) searchRun(r *reading, rows clip, from, to int64) (begin, end int, err error) {
	if all := r.block.Rows(); uint64(rows.first)+uint64(rows.rows) > uint64(all) {
		return 0, 0, l.corrupt(errRuns(all, rows))
	}
	begin, end = int(rows.first), int(rows.first+rows.rows)
	e := l.entry()
	if from > e.MinTime {
		begin, err = r.block.SearchTimes(begin, end, from)
	}
	if to <= e.MaxTime && err == nil {
		end, err = r.block.SearchTimes(begin, end, to)
	}
	return begin, end, l.wrapDamage(err)
}

// readFrame reads the block, and opens its times.
func (l *blockLeaf) readFrame(r *reading) (err error) {
	r.reset(nil)
	failLost(l.in.ReadFrame(r.x.ctx, &r.frame, l.group, l.number), func(lost error) { err = lost })
	if err != nil {
		return err
	}
	l.count(r, l.entry().Bytes)
	if err = r.block.OpenTimes(r.frame.Block); errors.Is(err, block.ErrShort) {
		return l.corrupt(err)
	}
	return l.wrapDamage(err)
}

// openFrame reads the block, opens it, and reads none of its rows.
func (l *blockLeaf) openFrame(r *reading) (err error) {
	if err := l.readFrame(r); err != nil {
		return err
	}
	failLost(l.openBlock(r), func(lost error) { err = lost })
	return err
}

// openBlock opens all of the block that was read, with the dictionary that it needs.
func (l *blockLeaf) openBlock(r *reading) (err error) {
	r.templates, err = l.in.dictionary(r.x, r.frame.Dictionary)
	if err != nil && r.templates.dictionary == nil {
		return err
	}
	r.block.SetSpan(l.entry().MinTime, l.entry().MaxTime)
	err = l.wrapDamage(r.block.OpenLines(r.templates.dictionary))
	r.opened = err == nil
	return err
}

func errRuns(rows int, c clip) error {
	return fmt.Errorf("it has %d rows, and its list of runs %d from row %d", rows, c.rows, c.first)
}

func (l *blockLeaf) counts() (rows, streams int64) {
	e := l.entry()
	rows, streams = int64(e.Rows), int64(e.Runs)
	if raw := int64(e.Raw); l.size < raw { // a part of it
		rows = max(1, int64(float64(rows)*float64(l.size)/float64(raw)))
	}
	return rows, min(rows, streams)
}

// entry returns what the index says of the block.
func (l *blockLeaf) entry() *segment2.Block { return &l.group.Blocks[l.number-l.group.First] }

// count counts a reading of so many bytes of the block.
func (l *blockLeaf) count(r *reading, bytes int64) {
	if l.seen {
		r.stats.Rereads++
	} else {
		l.seen = true
		r.stats.Blocks.Read++
		r.stats.Bytes.Read += int64(l.entry().Raw)
	}
	r.stats.StoredBytes += bytes
}

// spans ranges over the rows to be read, by the runs of the frame.
func (l *blockLeaf) spans(runs []segment2.FrameRun) iter.Seq2[int32, clip] {
	return func(yield func(int32, clip) bool) {
		switch {
		case l.part == nil:
			for i := range runs {
				if l.in.has(runs[i].Ordinal) && !yield(int32(i), clip{first: runs[i].First, rows: runs[i].Rows}) {
					return
				}
			}
		case l.part.clips != nil:
			for _, c := range l.part.clips {
				if int(c.run) < len(runs) && !yield(c.run, c) {
					return
				}
			}
		default:
			for _, i := range l.part.only {
				if int(i) < len(runs) && !yield(i, clip{first: runs[i].First, rows: runs[i].Rows}) {
					return
				}
			}
		}
	}
}

// compare compares a pick with a mark, in the order of a search forward.
func (l *blockLeaf) compare(r *reading, p pick, m *mark) int {
	d := cmp.Compare(p.time, m.time)
	if d == 0 {
		d = r.compareSpans(l, p.span, int32(m.span))
	}
	if d == 0 {
		d = cmp.Compare(uint32(p.row), m.row)
	}
	return d
}

// spanOf returns the span of a mark in the frame.
func (r *reading) spanOf(m *mark) uint32 {
	if m.span != anySpan {
		return m.span
	}
	i := sort.Search(len(r.frame.Runs), func(i int) bool { return r.frame.Runs[i].First > m.row })
	return uint32(max(0, i-1))
}

func (l *blockLeaf) stream(r *reading, span int32) (string, uint32, error) {
	run := &r.frame.Runs[span]
	labels, err := l.in.labels(r.x, run.Ordinal)
	return labels, uint32(run.Seq), err
}

func (l *blockLeaf) segment() (in *searched, rank uint64) { return l.in, l.order }

func (l *blockLeaf) ids(r *reading) (func(pick) segment2.ID, error) {
	ids, err := l.readIDs(r)
	return func(p pick) segment2.ID { return ids[p.row] }, err
}

func (l *blockLeaf) ref(r *reading, span int32) streamRef {
	return streamRef{in: l.in, ordinal: r.frame.Runs[span].Ordinal}
}

// bytes divides the bytes of a run evenly among its rows, unless there is a filter, for which
// the lines of all picks were read, or the runs are not known.
func (l *blockLeaf) bytes(r *reading, picks []pick) (n int64, err error) {
	if r.x.filter == nil && l.part != nil && l.part.runs != nil {
		run := &l.part.runs[picks[0].span]
		for _, p := range picks {
			i := int64(p.row) - int64(run.First)
			n += runBytes(run, i, i+1)
		}
		return n, nil
	}
	if r.x.filter == nil {
		if err := l.readLines(r); err != nil {
			return 0, err
		}
	}
	for _, p := range picks {
		n += int64(len(r.line(p)) + len(r.meta(p)))
	}
	return n, nil
}

func (l *blockLeaf) behind(last mark, first, raw int64) leaf {
	rest := *l
	rest.window = l.window.behind(last)
	rest.first, rest.size = first, raw
	return &rest
}

func (l *blockLeaf) unread(x *search, f *results) leaf {
	again := *l
	again.extent = f.extent(x)
	edgeAt := func(r *resultRow) edge { return edge{mark: mark{time: r.time, span: anySpan, row: r.row}, set: true} }
	again.window = window{edgeAt(f.first()), edgeAt(f.last())}
	return &again
}

func (l *blockLeaf) between(first, last int64) leaf {
	part := *l
	part.first, part.last = first, last
	return &part
}

// wrapDamage returns the error of a block whose checksum matches but whose
// contents are wrong.
func (l *blockLeaf) wrapDamage(err error) error {
	if newer, ok := errors.AsType[*block.VersionError](err); ok {
		return fmt.Errorf("%s: block %d: %w", l.in.Path(), l.number, newer)
	}
	if err == nil || !errors.Is(err, block.ErrDamaged) {
		return err
	}
	return l.corrupt(err)
}

func (l *blockLeaf) corrupt(err error) error {
	return corruptBlock(l.in.Segment, l.number, err)
}

func corruptBlock(seg catalog.Segment, number int, err error) error {
	return &CorruptError{seg.Path(), 0, fmt.Sprintf("block %d: %v", number, err)}
}
