package logstore_test

import (
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A checklist holds the entries that were acknowledged when a query began, and
// those that the query has found.
type checklist struct {
	acked []int64
	bits  [][]uint64
}

func (k *soak) checklist() *checklist {
	t := &checklist{acked: make([]int64, len(k.writers)), bits: make([][]uint64, len(k.writers))}
	for i, w := range k.writers {
		w.mu.Lock()
		t.acked[i] = w.acked
		w.mu.Unlock()
	}
	return t
}

// entry parses an entry, and reports whether it is as it was appended.
func (k *soak) entry(f logstore.Result) (writer int, number int64, ok bool) {
	const head, sum = len("a03q000001234 t1789041600000000000 "), 8
	n := len(f.Line)
	if n < head+sum {
		return 0, 0, false
	}
	i, known := k.byName[string(f.Line[:3])]
	number, err := strconv.ParseInt(string(f.Line[4:13]), 10, 64)
	at, err2 := strconv.ParseInt(string(f.Line[15:34]), 10, 64)
	check, err3 := strconv.ParseUint(string(f.Line[n-sum:]), 16, 32)
	ok = known && err == nil && err2 == nil && err3 == nil && at == f.Time &&
		f.Labels.Get("app") == k.writers[i].name && uint32(check) == crc32.ChecksumIEEE(f.Line[:n-sum-1])
	return i, number, ok
}

// mark marks the entry as found, and reports whether it was not before.
func (t *checklist) mark(writer int, number int64) bool {
	for int64(len(t.bits[writer])) <= number/64 {
		t.bits[writer] = append(t.bits[writer], make([]uint64, max(1024, len(t.bits[writer])/4))...)
	}
	word, bit := &t.bits[writer][number/64], uint64(1)<<(number%64)
	first := *word&bit == 0
	*word |= bit
	return first
}

func (t *checklist) has(writer int, number int64) bool {
	return number/64 < int64(len(t.bits[writer])) && t.bits[writer][number/64]>>(number%64)&1 == 1
}

// find runs a query that selects all entries of one writer, or of all writers if
// of is nil, and checks that it finds every entry that must be there. It stops
// after stop entries unless stop is 0, and pauses for nap after each of the first
// 50.
func (k *soak) find(q logstore.Query, of *writer, stop int, nap time.Duration) (n int, horizon int64, ok bool) {
	k.queries.Add(1)
	t, s := k.checklist(), k.store.Load()
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
			horizon = k.horizon() // the query has its snapshot
		}
		if err != nil {
			if !errors.Is(err, logstore.ErrReplaying) && !k.reopened(s, err) && k.ctx.Err() == nil {
				k.fail("query %v: %v", q, err)
			}
			return n, horizon, false
		}
		i, number, intact := k.entry(f)
		switch {
		case !intact:
			k.fail("found %s %d %q, which was never appended", f.Labels, f.Time, f.Line)
			return n, horizon, false
		case of != nil && k.writers[i] != of, f.Time < from, f.Time >= to:
			k.fail("query %v found %s %d %.40q", q, f.Labels, f.Time, f.Line)
			return n, horizon, false
		case !t.mark(i, number):
			k.fail("query %v found twice: %s %d %.40q", q, f.Labels, f.Time, f.Line)
			return n, horizon, false
		}
		if before := f.Time - last.Time; n > 0 {
			after := number - lastNumber
			if q.Order == logstore.Backward {
				before, after = -before, -after
			}
			if before < 0 || before == 0 && f.Labels == last.Labels && after < 0 {
				k.fail("query %v found %s %d %.40q after time %d, number %d", q, f.Labels, f.Time, f.Line, last.Time, lastNumber)
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
		return n, horizon, false // it ended before it could return ErrReplaying
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

// Filters that match every entry.
var (
	soakWord = logstore.Word("soak")
	soakFold = logstore.ContainsFold("SOAK")
)

// compare fails the soak if the query has not found every acknowledged entry
// with a time in [from, to).
func (k *soak) compare(t *checklist, q logstore.Query, of *writer, from, to int64) {
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
					k.fail("query %v did not find entry %d of %s with time %d; all from %d to %d must be there, and of %s %d had been acknowledged",
						q, number, w.name, b.time+number-b.first, from, to, w.name, t.acked[i])
					return
				}
			}
			k.must.Add(n)
		}
	}
}
