package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A writer appends one batch after the other. Its entries have numbers, one
// after the other too, so that those below acked are all acknowledged.
//
//	a03q000001234 t1789041600000000000 soak 0f3a... 9ae1b2c3
//	who, number   time                      anything CRC-32 of all before
type writer struct {
	name string // the label app of all of its streams
	rows int    // of a batch

	buf     []byte
	entries [spread][]logstore.Entry
	batches int64
	streams int64

	mu     sync.Mutex
	issued int64
	acked  int64
	ledger []ledgerBatch // as long as it may have to be there, the oldest first
}

// spread is how many streams a batch has at most.
const spread = 10

// A ledgerBatch has entries with the numbers first, first+1 and so on, and the
// times time, time+1 and so on.
type ledgerBatch struct {
	first, time int64
	rows        int32
	unsure      bool // not all were acknowledged
}

// within returns how many of the entries have times in [from, to), and the first.
func (b ledgerBatch) within(from, to int64) (first, n int64) {
	from, to = max(from, b.time), min(to, b.time+int64(b.rows))
	return b.first + from - b.time, max(to-from, 0)
}

const hexDigits = "0123456789abcdef"

// batch makes the next one, in the memory of the last.
func (w *writer) batch(rng *rand.Rand, now int64) (logstore.Batch, ledgerBatch, int64) {
	b := ledgerBatch{first: w.issued, time: now, rows: int32(w.rows)}
	w.buf = w.buf[:0]
	for i := range w.entries {
		w.entries[i] = w.entries[i][:0]
	}
	for j := range w.rows {
		begin, long := len(w.buf), 40+rng.IntN(100)
		if rng.IntN(5000) == 0 {
			long = 30 << 10
		}
		w.buf = fmt.Appendf(w.buf, "%sq%09d t%019d soak ", w.name, b.first+int64(j), b.time+int64(j))
		for range long / 16 {
			for x, i := rng.Uint64(), 0; i < 16; x, i = x>>4, i+1 {
				w.buf = append(w.buf, hexDigits[x&15])
			}
		}
		w.buf = fmt.Appendf(w.buf, " %08x", crc32.ChecksumIEEE(w.buf[begin:]))
		w.entries[j%spread] = append(w.entries[j%spread], logstore.Entry{Time: b.time + int64(j), Line: w.buf[begin:len(w.buf):len(w.buf)]})
	}
	// New streams come every 4 batches; the old ones get nothing any more.
	generation := w.batches / 4
	var batch logstore.Batch
	size := int64(len(w.buf))
	for i, entries := range w.entries {
		if len(entries) > 0 {
			l := logstore.MustLabels("app", w.name, "pod", strconv.FormatInt(generation*spread+int64(i), 10))
			batch = append(batch, logstore.Stream{Labels: l, Entries: entries})
			size += 256 // what a stream may take in a segment, and in an index
		}
	}
	if w.batches%4 == 0 {
		w.streams += int64(len(batch))
	}
	w.batches++
	return batch, b, size + 16*int64(w.rows)
}

// write appends one batch, again and again until it is known what became of it.
func (k *soak) write(w *writer, rng *rand.Rand) {
	now := k.now().UnixNano()
	// By turns all goes as fast as it can, so that memory and RetainBytes set the
	// pace, and slowly, so that Retention and SealAge do.
	if now/int64(time.Second)%2 == 0 {
		k.pause(time.Duration(w.rows) * time.Millisecond / 2)
		now = k.now().UnixNano()
	}
	if rng.IntN(8) == 0 {
		now -= rng.Int64N(int64(k.o.Retention) / 2)
	}
	batch, b, size := w.batch(rng, now)
	w.mu.Lock()
	w.ledger = append(w.ledger, b)
	w.issued += int64(w.rows)
	if w.batches%1024 == 0 {
		old := k.forgotten()
		w.ledger = slices.DeleteFunc(w.ledger, func(b ledgerBatch) bool { return b.time < old })
	}
	w.mu.Unlock()
	k.written.add(k.now().UnixNano(), size)

	unsure := false
	for impatient := rng.IntN(10) == 0; ; impatient = false {
		ctx, cancel := context.Background(), func() {}
		if impatient {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(int(5*time.Millisecond))))
		}
		s := k.store.Load()
		err := s.Append(ctx, batch)
		cancel()
		var rejected *logstore.RejectedError
		switch {
		case err == nil:
		case errors.As(err, &rejected):
			// A machine so busy that entries have expired before they got here.
			for _, r := range rejected.Rejected {
				if !errors.Is(r.Err, logstore.ErrExpired) || r.Time >= k.now().UnixNano()-int64(k.o.Retention) {
					k.fail("refused: %v", r.Err)
				}
			}
			k.refused.Add(int64(len(rejected.Rejected)))
			unsure = true
		case errors.Is(err, logstore.ErrUnsure) && k.after(s, err):
			unsure = true
		case impatient && errors.Is(err, context.DeadlineExceeded), k.after(s, err):
			// Nothing of it was kept, so it can be appended again: if that were not
			// true its entries would be found twice.
			k.retries.Add(1)
			continue
		default:
			k.fail("append: %v", err)
			unsure = true
		}
		break
	}
	w.mu.Lock()
	w.acked = w.issued
	w.ledger[len(w.ledger)-1].unsure = unsure
	w.mu.Unlock()
}

// A history knows how many bytes were appended since when.
type history struct {
	mu    sync.Mutex
	total int64
	marks []mark // a millisecond apart at least
}

type mark struct{ time, total int64 }

func (h *history) add(now, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.marks) == 0 || now-h.marks[len(h.marks)-1].time >= int64(time.Millisecond) {
		h.marks = append(h.marks, mark{now, h.total})
	}
	h.total += bytes
}

// before returns a time since which at most so many bytes were appended, and
// forgets what was before it.
func (h *history) before(bytes int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, _ := slices.BinarySearchFunc(h.marks, h.total-bytes, func(m mark, t int64) int {
		if m.total < t {
			return -1
		}
		return 1
	})
	if i == 0 {
		return 0
	}
	h.marks = slices.Delete(h.marks, 0, i-1)
	if len(h.marks) == 1 {
		return math.MaxInt64
	}
	return h.marks[1].time
}

// horizon is the time from which on nothing may have been retired yet. Retention
// takes a segment when all of it is older. RetainBytes takes one when it, and
// those with newer entries, have more bytes. These others were appended after
// its newest entry was made, but for one that may have begun before; and what is
// in a segment takes fewer bytes there than it had.
func (k *soak) horizon() int64 {
	return max(k.now().UnixNano()-int64(k.o.Retention), k.written.before(soakRetain-soakStraddle-soakAhead))
}

// forgotten is the time before which the ledger has nothing. No query that was
// begun within the time in which entries are kept asks for that.
func (k *soak) forgotten() int64 { return k.now().UnixNano() - 3*int64(k.o.Retention) }

// A ticket is what had been acknowledged when a query began, and what it has
// found of it.
type ticket struct {
	acked []int64
	bits  [][]uint64
}

func (k *soak) ticket() *ticket {
	t := &ticket{acked: make([]int64, len(k.writers)), bits: make([][]uint64, len(k.writers))}
	for i, w := range k.writers {
		w.mu.Lock()
		t.acked[i] = w.acked
		w.mu.Unlock()
	}
	return t
}

// entry takes an entry apart and reports whether it is as it was appended.
func (k *soak) entry(f logstore.Result) (who int, number int64, ok bool) {
	const head, sum = len("a03q000001234 t1789041600000000000 "), 8
	n := len(f.Line)
	if n < head+sum {
		return 0, 0, false
	}
	who, known := k.byName[string(f.Line[:3])]
	number, err := strconv.ParseInt(string(f.Line[4:13]), 10, 64)
	at, err2 := strconv.ParseInt(string(f.Line[15:34]), 10, 64)
	check, err3 := strconv.ParseUint(string(f.Line[n-sum:]), 16, 32)
	ok = known && err == nil && err2 == nil && err3 == nil && at == f.Time &&
		f.Labels.Get("app") == k.writers[who].name && uint32(check) == crc32.ChecksumIEEE(f.Line[:n-sum-1])
	return who, number, ok
}

// mark reports whether the entry is found for the first time.
func (t *ticket) mark(who int, number int64) bool {
	for int64(len(t.bits[who])) <= number/64 {
		t.bits[who] = append(t.bits[who], make([]uint64, max(1024, len(t.bits[who])/4))...)
	}
	word, bit := &t.bits[who][number/64], uint64(1)<<(number%64)
	first := *word&bit == 0
	*word |= bit
	return first
}

func (t *ticket) has(who int, number int64) bool {
	return number/64 < int64(len(t.bits[who])) && t.bits[who][number/64]>>(number%64)&1 == 1
}

// find makes a query that all entries of a writer pass, of all if it is nil, and
// looks whether those are found that must be. It breaks off after stop entries,
// if that is not 0, and waits after each of the first 50 for nap.
func (k *soak) find(q logstore.Query, of *writer, stop int, nap time.Duration) (n int, horizon int64, ok bool) {
	k.queries.Add(1)
	t, s := k.ticket(), k.store.Load()
	ready := isReady(s)
	horizon = -1
	from, to := q.From, q.To
	if to == 0 {
		to = math.MaxInt64
	}
	var last logstore.Result
	lastNumber := int64(-1)
	for f, err := range s.Query(k.ctx, q) {
		if horizon < 0 {
			horizon = k.horizon() // it has its view
		}
		if err != nil {
			if !errors.Is(err, logstore.ErrReplaying) && !k.after(s, err) && k.ctx.Err() == nil {
				k.fail("query %v: %v", q, err)
			}
			return n, horizon, false
		}
		who, number, right := k.entry(f)
		switch {
		case !right:
			k.fail("found %s %d %q, which nobody has appended", f.Labels, f.Time, f.Line)
			return n, horizon, false
		case of != nil && k.writers[who] != of, f.Time < from, f.Time >= to:
			k.fail("query %v has found %s %d %.40q", q, f.Labels, f.Time, f.Line)
			return n, horizon, false
		case !t.mark(who, number):
			k.fail("query %v has found twice: %s %d %.40q", q, f.Labels, f.Time, f.Line)
			return n, horizon, false
		}
		if before := f.Time - last.Time; n > 0 {
			after := number - lastNumber
			if q.Order == logstore.Backward {
				before, after = -before, -after
			}
			if before < 0 || before == 0 && f.Labels == last.Labels && after < 0 {
				k.fail("query %v has found %s %d %.40q after time %d, number %d", q, f.Labels, f.Time, f.Line, last.Time, lastNumber)
				return n, horizon, false
			}
		}
		last.Labels, last.Time, lastNumber = f.Labels, f.Time, number
		n++
		if nap > 0 && n <= 50 {
			k.pause(nap)
		}
		if n == stop {
			break
		}
	}
	if horizon < 0 {
		horizon = k.horizon()
	}
	if stop > 0 && n == stop || q.Limit > 0 && n == q.Limit {
		k.cut.Add(1)
		if q.Order == logstore.Forward {
			to = min(to, last.Time)
		} else {
			from = max(from, last.Time+1)
		}
	}
	k.found.Add(int64(n))
	if !ready && stop > 0 && n == stop {
		return n, horizon, false // it ended before it could hear that the log was being replayed
	}
	if q.Filter == nil || q.Filter == soakWord || q.Filter == soakFold {
		k.compare(t, q, of, max(from, horizon), to)
	}
	return n, horizon, true
}

func isReady(s *logstore.Store) bool {
	select {
	case <-s.Ready():
		return true
	default:
		return false
	}
}

// Filters that all entries pass.
var (
	soakWord = logstore.Word("soak")
	soakFold = logstore.ContainsFold("SOAK")
)

// compare looks for acknowledged entries with times in [from, to) that the
// query has not found.
func (k *soak) compare(t *ticket, q logstore.Query, of *writer, from, to int64) {
	for i, w := range k.writers {
		if of != nil && of != w {
			continue
		}
		w.mu.Lock()
		ledger := slices.Clone(w.ledger)
		w.mu.Unlock()
		for _, b := range ledger {
			if b.unsure || b.first >= t.acked[i] {
				continue
			}
			first, n := b.within(from, to)
			for number := first; number < first+n; number++ {
				if !t.has(i, number) {
					k.fail("query %v has not found entry %d of %s with the time %d, and all from %d to %d are to be there; of %s had been acknowledged %d",
						q, number, w.name, b.time+number-b.first, from, to, w.name, t.acked[i])
					return
				}
			}
			k.must.Add(n)
		}
	}
}

func app(op logstore.MatchOp, value string) logstore.Selector {
	m, err := logstore.Match("app", op, value)
	if err != nil {
		panic(err)
	}
	return logstore.Selector{m}
}

func (k *soak) all(rng *rand.Rand) {
	q := logstore.Query{Order: logstore.Order(rng.IntN(2))}
	k.find(q, nil, 0, 0)
}

// some are queries that end early, one way or the other.
func (k *soak) some(rng *rand.Rand) {
	q := logstore.Query{
		Order:  logstore.Order(rng.IntN(2)),
		Filter: []logstore.Filter{nil, nil, soakWord, soakFold}[rng.IntN(4)],
	}
	var of *writer
	if rng.IntN(2) == 0 {
		of = k.writers[rng.IntN(len(k.writers))]
		q.Selector = app(logstore.Equal, of.name)
	} else if rng.IntN(2) == 0 {
		q.Selector = app(logstore.Matches, "a[0-9]+")
	}
	if rng.IntN(2) == 0 {
		q.From = k.now().UnixNano() - rng.Int64N(int64(k.o.Retention))
		q.To = q.From + rng.Int64N(int64(time.Second))
	}
	stop := 0
	switch rng.IntN(3) {
	case 0:
		q.Limit = 1 + rng.IntN(2000)
	case 1:
		stop = 1 + rng.IntN(2000)
	}
	k.find(q, of, stop, 0)
}

// slow is a query whose consumer takes a second and more for a few entries.
func (k *soak) slow(rng *rand.Rand) {
	k.find(logstore.Query{Order: logstore.Order(rng.IntN(2))}, nil, 0, time.Duration(10+rng.IntN(40))*time.Millisecond)
}

// needle looks for one entry of which it is known that it was acknowledged.
func (k *soak) needle(rng *rand.Rand) {
	w := k.writers[rng.IntN(len(k.writers))]
	w.mu.Lock()
	var b ledgerBatch
	if n := len(w.ledger); n > 0 {
		b = w.ledger[n-1-rng.IntN(min(n, 1000))]
	}
	acked := w.acked
	w.mu.Unlock()
	if b.rows == 0 || b.unsure || b.first >= acked {
		k.pause(time.Millisecond)
		return
	}
	i := rng.Int64N(int64(b.rows))
	word := fmt.Sprintf("%sq%09d", w.name, b.first+i)
	filters := []logstore.Filter{
		logstore.Word(word),
		logstore.Contains(word[1:] + " "),
		logstore.ContainsFold(strings.ToUpper(word)),
		logstore.Regexp(regexp.MustCompile("^" + word + " t[0-9]+ soak")),
		logstore.All(soakWord, logstore.Word(fmt.Sprintf("t%019d", b.time+i)), logstore.Contains(word)),
	}
	q := logstore.Query{Filter: filters[rng.IntN(len(filters))], Order: logstore.Order(rng.IntN(2)), Limit: rng.IntN(3)}
	if rng.IntN(2) == 0 {
		q.Selector = app(logstore.Equal, w.name)
	}
	if n, horizon, ok := k.find(q, w, 0, 0); ok && (n > 1 || n == 0 && b.time+i >= horizon) {
		k.fail("%d entries found with %s, acknowledged with the time %d; all from %d on are to be there", n, word, b.time+i, horizon)
	} else if n == 1 {
		k.needles.Add(1)
	}
}

// count compares Count with the ledger: it has what was acknowledged before, and
// no more than was appended at its end.
func (k *soak) count(rng *rand.Rand) {
	t, s := k.ticket(), k.store.Load()
	q := logstore.Query{To: k.now().UnixNano()}
	q.From = q.To - rng.Int64N(int64(k.o.Retention))
	if rng.IntN(2) == 0 {
		q.Filter = soakWord
	}
	counts, err := s.Count(k.ctx, q, []time.Duration{0, 100 * time.Millisecond}[rng.IntN(2)])
	if err != nil {
		if !errors.Is(err, logstore.ErrReplaying) && !k.after(s, err) && k.ctx.Err() == nil {
			k.fail("count: %v", err)
		}
		return
	}
	has := map[string]int64{}
	for _, c := range counts {
		for _, b := range c.Buckets {
			has[c.Labels.Get("app")] += b.Entries
		}
	}
	horizon, forgotten := k.horizon(), k.forgotten()
	for i, w := range k.writers {
		var least, most int64
		w.mu.Lock()
		for _, b := range w.ledger {
			_, n := b.within(q.From, q.To)
			most += n
			if _, n := b.within(max(q.From, horizon), q.To); !b.unsure && b.first < t.acked[i] {
				least += n
			}
		}
		w.mu.Unlock()
		if n := has[w.name]; n < least || n > most && q.From > forgotten {
			k.fail("count has %d entries of %s from %d to %d; at least %d and at most %d are right", n, w.name, q.From, q.To, least, most)
			return
		}
		k.counts.Add(least)
	}
}

// labels looks for streams that must be there, those of the latest entries.
func (k *soak) labels(rng *rand.Rand) {
	t, s := k.ticket(), k.store.Load()
	from := k.now().UnixNano() - int64(k.o.Retention)
	var values, names []string
	var series []logstore.Labels
	var err error
	which := rng.IntN(3)
	switch which {
	case 0:
		values, err = s.LabelValues(k.ctx, "app", nil, from, 0)
	case 1:
		names, err = s.Labels(k.ctx, app(logstore.Matches, "a[0-9]+"), from, 0)
	case 2:
		series, err = s.Series(k.ctx, nil, from, 0)
		for _, l := range series {
			values = append(values, l.Get("app"))
		}
	}
	if err != nil {
		if !errors.Is(err, logstore.ErrReplaying) && !k.after(s, err) && k.ctx.Err() == nil {
			k.fail("labels: %v", err)
		}
		return
	}
	horizon := max(from, k.horizon())
	for i, w := range k.writers {
		w.mu.Lock()
		there := slices.ContainsFunc(w.ledger, func(b ledgerBatch) bool {
			return !b.unsure && b.first < t.acked[i] && b.time >= horizon
		})
		w.mu.Unlock()
		if there && (which == 1 && !slices.Equal(names, []string{"app", "pod"}) || which != 1 && !slices.Contains(values, w.name)) {
			k.fail("there is no %s in labels %q, %q, and it has entries since %d", w.name, names, values, horizon)
			return
		}
	}
	k.pause(10 * time.Millisecond)
}

// tail sees the batches of each writer in their order, without gaps but for
// those that it is told of.
func (k *soak) tail(slow bool) {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	var sel logstore.Selector
	if !slow {
		sel = app(logstore.Equal, k.writers[3].name)
	}
	type place struct{ batch, entries int64 }
	at := make([]place, len(k.writers))
	t, s, refused := k.ticket(), k.store.Load(), k.refused.Load()
	var gap, lost int64
	for f, err := range s.Tail(ctx, sel, nil) {
		var lag *logstore.LaggedError
		if errors.As(err, &lag) {
			lost += lag.Lost
			k.lost.Add(lag.Lost)
			continue
		}
		if err != nil {
			if !k.after(s, err) && k.ctx.Err() == nil {
				k.fail("tail: %v", err)
			}
			return
		}
		who, number, ok := k.entry(f)
		if !ok || !t.mark(who, number) {
			k.fail("the tail has %s %d %.40q, which is wrong or came before", f.Labels, f.Time, f.Line)
			return
		}
		rows, p := int64(k.writers[who].rows), &at[who]
		if batch := number/rows + 1; batch != p.batch {
			if p.batch > 0 {
				gap += (batch-p.batch)*rows - p.entries
			}
			if batch < p.batch || gap > lost+k.refused.Load()-refused {
				k.fail("the tail has %s %.40q after batch %d, and was told of %d entries that it has missed, of %d", f.Labels, f.Line, p.batch-1, lost, gap)
				return
			}
			*p = place{batch: batch}
		}
		p.entries++
		k.tailed.Add(1)
		if slow {
			k.pause(time.Millisecond)
		}
	}
}
