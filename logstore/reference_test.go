package logstore_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore"
)

// The reference store: a slice of entries, searched from end to end. It gives
// the answers that package logstore must give, slowly and plainly.

// A refEntry is an entry that was acknowledged.
type refEntry struct {
	tenant   string
	labels   logstore.Labels
	time     int64
	line     string
	metadata logstore.Labels
	// unsure: it may be missing: the test has damaged its bytes, or its append
	// is under way.
	unsure bool
	// gone: it was deleted by age. Only a crash brings it back, as its segment may
	// not have left the directory for good: it is deleted once more then.
	gone bool
}

func (e refEntry) String() string {
	return fmt.Sprintf("%v %d %.60q %v", e.labels, e.time, e.line, e.metadata)
}

// A refStream is a stream of a tenant.
type refStream struct {
	tenant string
	labels logstore.Labels
}

func (e refEntry) stream() refStream { return refStream{e.tenant, e.labels} }

// same reports whether both have equal labels, time, line and metadata.
func (e refEntry) same(o refEntry) bool {
	return e.time == o.time && e.labels == o.labels && e.line == o.line && e.metadata == o.metadata
}

// A reference is the reference store.
type reference struct {
	o       logstore.Options // the windows, Retention and MaxLine, as a store resolves them
	entries []refEntry       // in the order in which they were acknowledged
	// newest holds the time of the newest entry that each stream ever had.
	newest map[refStream]int64
	// beside holds the streams that other goroutines may have appended to before the
	// batch that is added.
	beside map[refStream]bool
	// divided: entries were deleted, so where no line is read a store may divide the
	// bytes of runs that have some.
	divided bool
	// doubt returns by how much the store believes the clock to be ahead.
	doubt func() time.Duration
	// limits are those of tenants.
	limits *modelLimits
}

func newReference(o logstore.Options) *reference {
	if o.LateWindow == 0 {
		o.LateWindow = time.Hour
	}
	if o.FutureWindow == 0 {
		o.FutureWindow = 10 * time.Minute
	}
	if o.MaxLine == 0 {
		o.MaxLine = 256 << 10
	}
	return &reference{o: o, newest: map[refStream]int64{}, doubt: func() time.Duration { return 0 }, limits: newModelLimits()}
}

// mayBeMissing reports whether the store may lack the entry.
func (r *reference) mayBeMissing(e refEntry, now int64) bool {
	keep, _ := r.keep(e.tenant)
	return e.unsure || keep > 0 && e.time < now-int64(keep)
}

// append adds the batch of a tenant, given the result of the store. The store must have
// refused exactly the entries that it must refuse, with the right reason.
func (r *reference) append(tenant string, b logstore.Batch, said error, now int64) error {
	refused := map[[2]int]logstore.Rejection{}
	var rejected *logstore.RejectedError
	if errors.As(said, &rejected) {
		for _, rej := range rejected.Rejected {
			refused[[2]int{rej.Stream, rej.Entry}] = rej
		}
	} else if said != nil {
		return fmt.Errorf("append: %w", said)
	}
	accepted := 0
	for i, s := range b {
		for j, e := range s.Entries {
			rej, is := refused[[2]int{i, j}]
			delete(refused, [2]int{i, j})
			reason, sure := r.refusal(refStream{tenant, s.Labels}, e, now)
			switch {
			case is && (rej.Time != e.Time || rej.Err() == nil):
				return fmt.Errorf("the rejection of stream %d, entry %d at %d is %+v", i, j, e.Time, rej)
			case is && r.mayRefuseStream(tenant, rej.Err()):
				continue
			case is && (reason == nil || !errors.Is(rej.Err(), reason)):
				return fmt.Errorf("stream %d, entry %d at %d is refused: %v; want %v", i, j, e.Time, rej.Err(), reason)
			case !is && sure:
				return fmt.Errorf("stream %d, entry %d at %d is accepted; want %v", i, j, e.Time, reason)
			case is:
				continue
			}
			accepted++
			added := refEntry{tenant: tenant, labels: s.Labels, time: e.Time, line: string(e.Line), metadata: e.Metadata}
			r.newest[added.stream()] = max(e.Time, r.newest[added.stream()])
			r.entries = append(r.entries, added)
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("rejections of entries that were not in the batch: %v", refused)
	}
	if rejected != nil && rejected.Accepted != accepted {
		return fmt.Errorf("the store says that it accepted %d of the batch; %d were not refused", rejected.Accepted, accepted)
	}
	return nil
}

// refusal returns why an entry must be refused, or nil. If it is not sure, the
// store may refuse it or not, because it may have forgotten the newest entry of
// the stream.
func (r *reference) refusal(st refStream, e logstore.Entry, now int64) (reason error, sure bool) {
	keep, _ := r.keep(st.tenant)
	switch {
	case st.labels.Len() == 0:
		return logstore.ErrLabels, true
	case len(e.Line) > r.o.MaxLine:
		return logstore.ErrTooLong, true
	case e.Time < 0:
		return logstore.ErrTooOld, true
	case r.o.FutureWindow > 0 && e.Time > now+int64(r.o.FutureWindow):
		return logstore.ErrFuture, true
	case keep > 0 && e.Time < now-int64(r.doubt())-int64(keep):
		return logstore.ErrExpired, true
	case r.o.LateWindow < 0:
		return nil, false
	}
	newest, any := r.newest[st]
	if !any || e.Time >= newest-int64(r.o.LateWindow) {
		return nil, false
	}
	for _, have := range r.entries {
		if !have.gone && have.stream() == st && !r.mayBeMissing(have, now) && e.Time < have.time-int64(r.o.LateWindow) {
			return logstore.ErrTooOld, true
		}
	}
	return logstore.ErrTooOld, false
}

// find returns the results of the query without its limit, in its order.
func (r *reference) find(q refQuery) []refEntry {
	var found []refEntry
	for _, e := range r.entries {
		if !e.gone && e.tenant == q.tenant && e.time >= q.from && e.time < q.end() && q.selects(e.labels) && (q.filter == nil || q.filter.match(e.line, e.metadata)) {
			found = append(found, e)
		}
	}
	// Stable: entries of a stream with equal times stay in the order of append.
	slices.SortStableFunc(found, func(a, b refEntry) int {
		return cmp.Or(cmp.Compare(a.time, b.time), compareLabels(a.labels, b.labels))
	})
	if q.order == logstore.Backward {
		slices.Reverse(found)
	}
	return found
}

// compareLabels orders streams: by the first name that differs, then value.
func compareLabels(a, b logstore.Labels) int {
	return slices.CompareFunc(pairs(a), pairs(b), func(x, y [2]string) int {
		return cmp.Or(strings.Compare(x[0], y[0]), strings.Compare(x[1], y[1]))
	})
}

func pairs(l logstore.Labels) (list [][2]string) {
	for name, value := range l.All() {
		list = append(list, [2]string{name, value})
	}
	return list
}

// explain compares the results of a store with those of the reference. found
// may lack the entries that may be missing, and must end at the limit. missing
// lists the indexes in want of the entries that found lacks.
//
// With equal entries there may be several explanations; they are followed side
// by side, one entry of want at a time. To skip a matching entry can only help
// if an equal one follows that must be there.
func explain(want []refEntry, mayBeMissing func(refEntry) bool, found []refEntry, limit int) (missing []int, err error) {
	type way struct{ used, before int } // used: entries of found; before: the way it comes from, in the step before
	full := func(w way) bool { return limit > 0 && w.used == limit }
	steps := make([][]way, 1, len(want)+1)
	steps[0] = []way{{}}
	furthest := 0
	for at, e := range want {
		var next []way
		add := func(w way) {
			if !slices.ContainsFunc(next, func(o way) bool { return o.used == w.used }) {
				next = append(next, w)
			}
		}
		for i, w := range steps[len(steps)-1] {
			switch {
			case full(w):
				add(way{w.used, i})
				continue
			case w.used < len(found) && e.same(found[w.used]):
				add(way{w.used + 1, i})
				if !needed(e, want[at+1:], mayBeMissing) {
					continue
				}
			}
			if mayBeMissing(e) {
				add(way{w.used, i})
			}
		}
		if len(next) == 0 {
			used := 0
			for _, w := range steps[len(steps)-1] {
				used = max(used, w.used)
			}
			if used < len(found) {
				return nil, fmt.Errorf("entry %d of %d is %v, want %v (the %d-th of %d)", used, len(found), found[used], e, len(steps)-1, len(want))
			}
			return nil, fmt.Errorf("only %d entries, want after them %v (the %d-th of %d)", len(found), e, len(steps)-1, len(want))
		}
		for _, w := range next {
			furthest = max(furthest, w.used)
		}
		steps = append(steps, next)
	}
	at := slices.IndexFunc(steps[len(steps)-1], func(w way) bool { return w.used == len(found) })
	if at < 0 {
		return nil, fmt.Errorf("entry %d of %d is %v, want none such there", furthest, len(found), found[min(furthest, len(found)-1)])
	}
	for i := len(steps) - 1; i > 0; i-- {
		w := steps[i][at]
		before := steps[i-1][w.before]
		if before.used == w.used && !full(before) {
			missing = append(missing, i-1)
		}
		at = w.before
	}
	return missing, nil
}

// needed reports whether an entry equal to e must be among the next ones.
func needed(e refEntry, next []refEntry, mayBeMissing func(refEntry) bool) bool {
	for _, o := range next {
		if o.time != e.time || o.labels != e.labels {
			return false
		}
		if o.same(e) && !mayBeMissing(o) {
			return true
		}
	}
	return false
}

// A span is a lowest and a highest number.
type span struct{ least, most int64 }

func (s span) has(n int64) bool { return n >= s.least && n <= s.most }

func (s *span) add(n int64, mayBeMissing bool) {
	if s.most += n; !mayBeMissing {
		s.least += n
	}
}

func (s *span) join(o span) { s.least, s.most = s.least+o.least, s.most+o.most }

// A refCount counts the entries of a stream by bucket, and their bytes.
type refCount struct {
	buckets map[int64]*span
	bytes   span
}

func (r *reference) count(q refQuery, step, offset time.Duration, now int64) map[logstore.Labels]*refCount {
	counts := map[logstore.Labels]*refCount{}
	for _, e := range r.find(q) {
		start := q.from
		if step > 0 {
			start = e.time - (e.time-int64(offset))%int64(step) // the model's times are no less than an offset
		}
		c := counts[e.labels]
		if c == nil {
			c = &refCount{buckets: map[int64]*span{}}
			counts[e.labels] = c
		}
		if c.buckets[start] == nil {
			c.buckets[start] = new(span)
		}
		missing := r.mayBeMissing(e, now)
		c.buckets[start].add(1, missing)
		c.bytes.add(int64(len(e.line))+encodedBytes(e.metadata), missing)
	}
	return counts
}

// aggregate returns the counts by the labels that are in by, or that are not.
func (r *reference) aggregate(q refQuery, a logstore.Aggregation, now int64) map[logstore.Labels]*refCount {
	groups := map[logstore.Labels]*refCount{}
	for l, c := range r.count(q, a.Step, a.Offset, now) {
		var shared []logstore.Label
		for n, v := range l.All() {
			if slices.Contains(a.By, n) != a.Without {
				shared = append(shared, logstore.Label{Name: n, Value: v})
			}
		}
		l, _ := logstore.NewLabels(shared...)
		g := groups[l]
		if g == nil {
			groups[l] = c
			continue
		}
		g.bytes.join(c.bytes)
		for start, n := range c.buckets {
			if g.buckets[start] == nil {
				g.buckets[start] = new(span)
			}
			g.buckets[start].join(*n)
		}
	}
	return groups
}

// encodedBytes returns the encoded size of labels: before each name and value
// its length, one byte for each seven bits.
func encodedBytes(l logstore.Labels) (n int64) {
	for _, p := range pairs(l) {
		for _, s := range p {
			n += int64(len(s) + max(1, (bits.Len(uint(len(s)))+6)/7))
		}
	}
	return n
}

// checkCount compares the counts of a store. Where a run may be divided, the
// bytes of the store are accepted.
func (r *reference) checkCount(q refQuery, want map[logstore.Labels]*refCount, got []logstore.Group) error {
	exact := q.filter != nil || q.from == 0 && q.to == 0 && !r.divided
	for i, s := range got {
		if i > 0 && compareLabels(got[i-1].Labels, s.Labels) >= 0 {
			return fmt.Errorf("%v comes behind %v", s.Labels, got[i-1].Labels)
		}
		w := want[s.Labels]
		if w == nil || len(s.Buckets) == 0 {
			return fmt.Errorf("%v has the buckets %v, want %v", s.Labels, s.Buckets, w)
		}
		bytes := int64(0)
		for j, b := range s.Buckets {
			if j > 0 && s.Buckets[j-1].Start >= b.Start {
				return fmt.Errorf("%v: the bucket %d comes behind %d", s.Labels, b.Start, s.Buckets[j-1].Start)
			}
			if n := w.buckets[b.Start]; b.Entries == 0 || n == nil || !n.has(b.Entries) {
				return fmt.Errorf("%v: the bucket %d has %d entries, want %v", s.Labels, b.Start, b.Entries, n)
			}
			delete(w.buckets, b.Start)
			bytes += b.Bytes
		}
		if exact && !w.bytes.has(bytes) {
			return fmt.Errorf("%v has %d bytes, want %v", s.Labels, bytes, w.bytes)
		}
	}
	for l, w := range want {
		for start, n := range w.buckets {
			if n.least > 0 {
				return fmt.Errorf("%v: the bucket %d is not there, want %v", l, start, *n)
			}
		}
	}
	return nil
}

// A choice holds the values that must be in an answer, and those that may be.
type choice[T comparable] struct{ must, may map[T]bool }

func newChoice[T comparable]() choice[T] { return choice[T]{map[T]bool{}, map[T]bool{}} }

func (c choice[T]) add(v T, mayBeMissing bool) {
	if c.may[v] = true; !mayBeMissing {
		c.must[v] = true
	}
}

func (c choice[T]) check(got []T, compare func(a, b T) int) error {
	for i, v := range got {
		if i > 0 && compare(got[i-1], v) >= 0 {
			return fmt.Errorf("%v comes behind %v", v, got[i-1])
		}
		if !c.may[v] {
			return fmt.Errorf("%v, want only %v", v, slices.Collect(maps.Keys(c.may)))
		}
	}
	for v := range c.must {
		if !slices.Contains(got, v) {
			return fmt.Errorf("%v, want %v too", got, v)
		}
	}
	return nil
}

// series returns the streams with results, their label names, and the values of
// one label.
func (r *reference) series(q refQuery, name string, now int64) (series choice[logstore.Labels], names, values choice[string]) {
	series, names, values = newChoice[logstore.Labels](), newChoice[string](), newChoice[string]()
	for _, e := range r.find(q) {
		missing := r.mayBeMissing(e, now)
		series.add(e.labels, missing)
		for n, v := range e.labels.All() {
			if names.add(n, missing); n == name {
				values.add(v, missing)
			}
		}
	}
	return series, names, values
}

// delete forgets the entries that a deletion selects.
func (r *reference) delete(q refQuery, lines []logstore.LineMatch) {
	r.divided = true
	r.entries = slices.DeleteFunc(r.entries, func(e refEntry) bool {
		return e.tenant == q.tenant && e.time >= q.from && e.time < q.end() && q.selects(e.labels) && meetsAll(e.line, lines)
	})
}

// meetsAll reports whether a line meets all conditions. Expressions are literal texts.
func meetsAll(line string, lines []logstore.LineMatch) bool {
	return !slices.ContainsFunc(lines, func(m logstore.LineMatch) bool {
		return strings.Contains(line, m.Text) != (m.Op == logstore.Equal || m.Op == logstore.Matches)
	})
}

// entryOf copies a result.
func entryOf(f logstore.Result) refEntry {
	return refEntry{labels: f.Labels, time: f.Time, line: string(bytes.Clone(f.Line)), metadata: f.Metadata}
}

// forget notes that the entries of list that are missing are gone.
func (r *reference) forget(list []refEntry, missing []int) {
	// Equal entries of a stream have the same order in list and here.
	nth := func(of []refEntry, i int) (n int) {
		for _, e := range of[:i] {
			if e.same(of[i]) {
				n++
			}
		}
		return n
	}
	remove := map[int]bool{}
	for _, g := range missing {
		n := nth(list, g)
		for i, e := range r.entries {
			if !e.gone && e.tenant == list[g].tenant && e.same(list[g]) {
				if n == 0 {
					remove[i] = true
					break
				}
				n--
			}
		}
	}
	for i := range remove {
		// What a tenant's own limit hides may be there, and a longer one shows it.
		_, hidden := r.limits.expired(r.entries[i].tenant)
		r.entries[i].unsure, r.entries[i].gone = hidden || r.entries[i].unsure, !hidden
	}
}

// crash notes that entries that are gone may be back.
func (r *reference) crash() {
	for i, e := range r.entries {
		r.entries[i].unsure = e.unsure || e.gone
		r.entries[i].gone = false
	}
}
