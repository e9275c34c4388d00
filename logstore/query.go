package logstore

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/latency"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// Order is the order in which a query yields entries.
type Order uint8

const (
	Forward  Order = iota // oldest first
	Backward              // newest first
)

// A Query selects entries.
type Query struct {
	// Tenant is whose entries are found: those appended with the same
	// AppendOptions.Tenant. "" is the tenant of Append.
	Tenant   string
	Selector Selector // of streams; nil is all
	Filter   Filter   // of entries; nil is all
	// From and To bound the times of entries, in nanoseconds since the Unix
	// epoch: From <= time < To. To 0 means no end.
	From, To int64
	// Order is by time. Entries of one stream with equal times are in the order
	// in which they were appended, those of different streams in that of their
	// labels, by names and values. Backward reverses all of that.
	Order Order
	// Limit bounds the number of entries. 0 means no limit.
	Limit int
	// After, if not the zero Cursor, leaves out the entry that it names and all
	// that come before it in Order, so that a query goes on exactly behind an entry
	// that another one has yielded: there is no gap, and no entry twice, whatever
	// was appended, sealed, compacted or deleted in between. An entry appended since
	// is found if its place in the order is behind the cursor. Series and LabelValues
	// say what it means for them; Aggregate, Count, Fold and Labels refuse it.
	After Cursor
	// Cursors makes Result.Cursor known. It costs the reading of a few bytes for
	// each entry.
	Cursors bool
	// NoWait makes a query that would wait for memory to begin end with ErrBusy
	// at once: other queries have all of it, and none of them an idle consumer.
	NoWait bool
	// Workers bounds the goroutines that read for the query, so that it leaves
	// processors to others. 0 means Options.Workers, and so does a larger number.
	Workers int
	// NoLines makes Fold pass entries without their lines: Result.Line is nil. No line is
	// decompressed but those that a Filter must test. Other calls refuse it.
	NoLines bool
	// Fields, if not nil, makes Fold pass entries to FieldFolders by fields of their lines, a
	// block at a time: those of blocks of CodecColumns that have no metadata, whose fields
	// Fields tells, and whose variables keep its rules. All others come by Folder.Fold, with
	// their lines, if Fields.Needs matches them; so do all entries if the Folder is no FieldFolder. NoLines
	// and the other calls refuse it.
	Fields *Fields
	// MaxBytes ends a query with a *LimitError once it has read more bytes of blocks
	// (QueryStats.StoredBytes), or of lines and metadata in memory and in blocks
	// (RawBytes), by a few blocks at most. 0 means no limit.
	MaxBytes int64
	// Stats, if not nil, is filled when the iteration ends, also early.
	Stats *QueryStats

	positions positionRange // of Follow
	folds     bool          // it is that of Fold
}

// Query ranges over the entries that q selects, as of the start of the
// iteration: every entry acknowledged before is found, once. It streams, stops
// early at the limit, and uses a bounded part of Options.Memory, or what all
// entries of one and the same nanosecond take, if that is more. If that part is used
// up it waits for other queries, unless Query.NoWait is set. Many goroutines may
// query at once; one iterator is for one goroutine. A slow consumer blocks no append and no query: one that keeps an entry for long,
// 10 ms or more, gives up its memory to queries that need it. Its next step waits
// for memory in turn, with NoWait too, and may read some blocks again. The files
// of segments that are compacted or deleted meanwhile stay on disk until it ends.
//
// A *CorruptError reports entries that cannot be read, and the iteration goes
// on. Any other error is the last step: that of ctx, ErrClosed, a *LimitError, or
// that of a file that cannot be read. While a crashed store replays its log (see
// Store.Ready), a query yields the entries replayed so far, and then
// ErrReplaying. While a segment whose index is damaged waits for its salvage, it
// yields all others, and then ErrIncomplete.
func (s *Store) Query(ctx context.Context, q Query) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		more := true
		whole := s.counts.queries.Start()
		first := s.counts.firsts.Start()
		err := s.query(ctx, q, func(f Result, err error) bool {
			first.Stop()
			first = latency.Timer{}
			more = yield(f, err)
			return more
		})
		if err == nil || !more {
			first.Stop()
			whole.Stop()
			return
		}
		yield(Result{}, s.opError("query", err))
	}
}

func (s *Store) query(ctx context.Context, q Query, yield func(Result, error) bool) error {
	x, err := s.search(ctx, q)
	if err != nil {
		return err
	}
	defer x.tell(q.Stats)
	return x.run(yield)
}

// check returns an error for the first wrong field.
func (q *Query) check() error {
	switch {
	case q.To != 0 && q.To < q.From:
		return setting.Wrong("logstore: Query.To", q.To, "0 (no end), or Query.From, %d ns, or more", q.From)
	case q.Order > Backward:
		return setting.Wrong("logstore: Query.Order", uint8(q.Order), "Forward or Backward")
	case q.Limit < 0:
		return setting.Wrong("logstore: Query.Limit", q.Limit, "0 (no limit) or more")
	case q.Workers < 0:
		return setting.Wrong("logstore: Query.Workers", q.Workers, "0 (those of the store) or more")
	case q.NoLines && !q.folds:
		return setting.Wrong("logstore: Query.NoLines", true, "false, but for Fold")
	case q.Fields != nil && (q.NoLines || !q.folds):
		return setting.Wrong("logstore: Query.Fields", "some fields", "nil, but for Fold without NoLines")
	case q.MaxBytes < 0:
		return setting.Wrong("logstore: Query.MaxBytes", setting.Bytes(q.MaxBytes), "0 (no limit) or more")
	}
	if q.Fields != nil {
		if err := q.Fields.check("Query.Fields"); err != nil {
			return err
		}
	}
	return cmp.Or(checkTenant("logstore: Query.Tenant", q.Tenant), setting.AtLeast("logstore: Query.From", q.From, 0), setting.AtLeast("logstore: Query.To", q.To, 0))
}

// A search is a query under way: its view, and its bounds.
type search struct {
	ctx      context.Context
	store    *Store
	view     *view
	tenant   string
	selector Selector
	// conditions are those of the selector, for segments.
	conditions []segment2.Condition
	from, to   int64
	start      int64 // Query.From
	backward   bool
	limit      int
	grant      *grant
	sums       allowance
	searchFilter

	resume   *resume // or nil
	within   positionRange
	cursors  bool
	noLines  bool          // no line is passed on, and the bytes of entries are not asked for
	fields   *fieldPlanner // nil: lines are passed
	judge    *fieldPlanner // of filter, nil if it has no fieldTest, or for a search with fields
	workers  int           // Query.Workers
	maxBytes int64
	stats    QueryStats // the mutex of the scan guards it

	endContext func()
}

// A searchFilter is the filter of a search, and what rules parts of the view out.
type searchFilter struct {
	filter  *condition // or nil
	require requirement
	lines   *template.Query // what the filter asks of lines; nil: nothing can be known
	chunks  chunkFilter
	idle    idleMatchers
}

// search begins a search with the least memory that a query has. A scan ends
// it.
func (s *Store) search(ctx context.Context, q Query) (*search, error) {
	if s.log == nil {
		return nil, errUnopened
	}
	x := &search{store: s, tenant: q.Tenant, selector: q.Selector, from: q.From, start: q.From, to: q.To, backward: q.Order == Backward, limit: q.Limit, noLines: q.NoLines, workers: q.Workers, maxBytes: q.MaxBytes}
	if q.Stats != nil {
		*q.Stats = QueryStats{}
	}
	if x.to == 0 {
		x.to = math.MaxInt64
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	if s.noCursors && (q.Cursors || q.After != Cursor{}) {
		return nil, errNoCursors
	}
	x.cursors, x.within = q.Cursors, q.positions
	if q.Fields != nil {
		x.fields = newFieldPlanner("Query.Fields", q.Fields, compiledOf(q.Filter))
		q.Filter = q.Fields.filter(q.Filter)
	}
	if err := x.goOn(q.After); err != nil {
		return nil, err
	}
	kept, err := s.keptFrom(q.Tenant)
	if err != nil {
		return nil, err
	}
	x.from = max(x.from, kept)
	if q.Filter != nil {
		x.filter = q.Filter.compiled()
		x.require = x.filter.require
		if x.filter.test != nil {
			x.lines = template.NewQuery(x.filter.test)
		}
		x.chunks.test = x.filter.text
		if t := x.filter.fields; t != nil && x.fields == nil {
			x.judge = newFieldPlanner("FieldFilter: Fields", &t.of, t.rest)
		}
	}
	x.ctx, x.endContext = s.reads.begin(ctx)
	if x.ctx.Err() != nil {
		x.endContext()
		return nil, context.Cause(x.ctx)
	}
	// Memory first: a query that waits must not hold a view, and so memtables.
	if x.grant, x.stats.Waited, err = newGrant(x.ctx, s.reads, q.NoWait); err != nil {
		x.endContext()
		return nil, err
	}
	x.sums.begin(s.reads)
	if x.view, err = s.acquire(); err != nil {
		x.grant.release()
		x.endContext()
		return nil, err
	}
	return x, nil
}

// end releases what the search holds.
func (x *search) end() {
	x.view.release()
	x.endContext()
	x.sums.end()
	x.grant.release()
}

// run yields the entries of the search, and ends it.
func (x *search) run(yield func(Result, error) bool) error {
	s := newScan(x, entriesTask{})
	defer s.close()
	c := newConsumer(s, yield)
	defer c.end()
	if x.tracksTop() {
		s.top = &topKeys{limit: x.limit}
	}
	times := s.top != nil && x.filter == nil
	if times {
		// Times alone decide which entries match: lines are read only of
		// leaves that have some.
		s.task = timesTask{}
	}
	if err := s.begin(); err != nil {
		return err
	}
	if times {
		if err := c.drain(); err != nil {
			return err
		}
		s.readKept(entriesTask{})
	}
	if err := c.entries(); err != nil || c.stopped {
		return err
	}
	return x.view.partial
}

// maxWorkers returns how many goroutines may read for the search now.
func (x *search) maxWorkers() int {
	n := x.store.maxReaders()
	if x.workers > 0 {
		n = min(n, x.workers)
	}
	return n
}

// tracksTop reports whether the search knows a bound of its keys once as many
// entries as its limit are known.
func (x *search) tracksTop() bool { return 0 < x.limit && x.limit <= maxTopKeys }

// sources pushes the sources at the root of the search.
func (x *search) sources(push func(source)) error {
	sel, err := x.selector.compile()
	if err != nil || x.from >= x.to {
		return err
	}
	x.selector, x.conditions = sel, sel.conditions()
	x.memorySources(nil, push)
	x.segmentSources(push)
	return nil
}

// sourcesBehind pushes those of sources that have entries behind a row, which may be
// nil. What begins at a key below seen was read before.
func (x *search) sourcesBehind(behind *takenRow, seen int64, push func(source)) {
	if x.from < x.to {
		x.memorySources(behind, push)
		x.segmentSourcesBehind(behind, seen, push)
	}
}

// key maps a time to a key that is lower for an entry that comes first.
func (x *search) key(time int64) int64 {
	if x.backward {
		return ^time
	}
	return time
}

// keys returns the keys of the first and the last of the times min_ to max_
// within the search.
func (x *search) keys(min_, max_ int64) (start, end int64) {
	min_, max_ = max(min_, x.from), min(max_, x.to-1)
	if x.backward {
		return ^max_, ^min_
	}
	return min_, max_
}

// times returns the times, [from, to), of the keys from start to end.
func (x *search) times(start, end int64) (from, to int64) {
	if x.backward {
		start, end = ^end, ^start
	}
	from = max(x.from, start)
	if to = x.to; end < to {
		to = end + 1
	}
	return from, to
}

// asDamage returns err as a *CorruptError of this package, if it is of damage.
func asDamage(err error) (*CorruptError, bool) {
	return errors.AsType[*CorruptError](exportError(err))
}
