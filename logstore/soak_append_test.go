package logstore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stele-go/stele/logstore"
)

// A writer appends batches, one at a time. Its entries are numbered in order, so
// all numbers below acked are acknowledged.
//
//	a03q000001234 t1789041600000000000 soak 0f3a... 9ae1b2c3
//	app, number   time                      anything CRC-32 of all before
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

// batch returns the next batch, in the memory of the previous one.
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
	// Every 4 batches new streams begin, and the old ones end.
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

// write appends one batch, and retries until it is appended or ErrUnsure.
func (k *soak) write(w *writer, rng *rand.Rand) {
	now := k.now().UnixNano()
	// Fast and slow seconds alternate: memory and RetainBytes limit the fast
	// ones, Retention and SealAge the slow ones.
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
		old := k.ledgerStart()
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
			// On a busy machine entries may expire before Append sees them.
			for _, r := range rejected.Rejected {
				if !errors.Is(r.Err(), logstore.ErrExpired) || r.Time >= k.now().UnixNano()-int64(k.o.Retention) {
					k.fail("refused: %v", r.Err())
				}
			}
			k.refused.Add(int64(len(rejected.Rejected)))
			unsure = true
		case errors.Is(err, logstore.ErrUnsure) && k.reopened(s, err):
			unsure = true
		case impatient && errors.Is(err, context.DeadlineExceeded), k.reopened(s, err):
			// Nothing was kept, so the batch is appended again. Were that not true,
			// its entries would be found twice.
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

// A history records how many bytes were appended by which time.
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

// before returns a time since which at most bytes bytes were appended, and drops
// the marks before it.
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

// horizon returns the time from which no entry may have been retired yet.
// Retention deletes a segment once all of it is older. RetainBytes deletes one
// once it and the segments with newer entries have more bytes. These were
// appended after its newest entry was made, but for one segment that may have
// begun before; and entries take fewer bytes in a segment than they had.
func (k *soak) horizon() int64 {
	return max(k.now().UnixNano()-int64(k.o.Retention), k.written.before(soakRetain-soakStraddle-soakAhead))
}

// ledgerStart returns the time before which the ledger has no entry. No query
// that began within the retention asks for earlier ones.
func (k *soak) ledgerStart() int64 { return k.now().UnixNano() - 3*int64(k.o.Retention) }
