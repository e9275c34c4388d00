package logstore

import (
	"context"
	"math"
	"time"

	"github.com/stele-go/stele/logstore/internal/heap"
)

// A grant is what a scan has of readPool.memory, and what it holds of that. The
// mutex of the scan guards it.
//
// Results wait in memory for the consumer. Workers prefetch while those are few
// (readPool.minBytes); beyond that they read only what the consumer waits for.
// That may be much too: the blocks of hundreds of streams of the same hours are
// all needed for the first entry. Then each leaf gets a share of the query's
// memory, keeps its first entries, as many as fit, and becomes a source again
// that begins with the first entry that did not. The price is that a block is
// decoded again for each share.
//
// A scan ends in any memory. The consumer waits only for entries up to the key
// wanted, and while it waits every source that begins by then may be read, whatever
// is held. A visit of a leaf keeps at least one entry, whatever its share, so
// that no source is read for ever. Once no source begins by wanted, the frontier
// is beyond it: the consumer yields, and so frees results.
//
// All entries with the key wanted must be held before the first of them is yielded:
// those of one time that lie in different sources are compared. So a visit keeps all
// that it finds of that key, whatever its share. That takes no memory that a smaller
// share would save, and decodes a block once for all of them, not once for each.
type grant struct {
	pool    *readPool
	granted int64 // bytes of pool.memory
	held    int64 // bytes of results, and of the shares of leaves that are read
	waiting bool  // the consumer needs all entries with keys up to wanted
	wanted  int64
	parked  bool // nothing is read; see parking.go

	looked time.Time // for idle scans, when the pool had too little
}

const (
	minShare = 4 << 10
	// resultSlack times its bytes of lines is the most that the results of a
	// leaf take: there is a row for each line, and memory comes in powers of two.
	resultSlack = 4
)

// newGrant waits for the least memory that a scan has. With noWait the error is
// a *BusyError where it would wait: others have all memory, and none of them is idle.
func newGrant(ctx context.Context, r *readPool, noWait bool) (g *grant, waited time.Duration, err error) {
	if noWait {
		n := r.memory.TryAcquire(r.minBytes, 0)
		if n < r.minBytes {
			r.parkIdle(time.Now())
			n += r.memory.TryAcquire(r.minBytes-n, 0)
		}
		if n < r.minBytes {
			r.memory.Release(n)
			return nil, 0, r.busy(r.minBytes)
		}
	} else if waited, err = r.acquire(ctx, r.minBytes); err != nil {
		return nil, waited, err
	}
	return &grant{pool: r, granted: r.minBytes}, waited, nil
}

// release gives all memory back.
func (g *grant) release() { g.pool.memory.Release(g.granted) }

// shrink gives back the memory that is not held.
func (g *grant) shrink() {
	keep := min(max(0, g.held), g.granted)
	g.pool.memory.Release(g.granted - keep)
	g.granted = keep
}

// mayRead reports whether a source whose entries begin at first may be read now.
func (g *grant) mayRead(first int64) bool {
	return !g.parked && (g.held < g.pool.minBytes || g.waiting && first <= g.wanted)
}

// grow takes up to n bytes more of the pool. Idle scans give up theirs for what a
// consumer waits for; they are looked for now and then.
func (g *grant) grow(n int64) {
	r := g.pool
	got := r.memory.TryAcquire(n, r.reserve)
	if got < n && g.waiting {
		if now := time.Now(); now.Sub(g.looked) >= r.idleAfter {
			g.looked = now
			r.tryParkIdle(now)
			got += r.memory.TryAcquire(n-got, r.reserve)
		}
	}
	g.granted += got
}

// An allotment is how much of the entries of a leaf may be kept.
type allotment struct {
	bytes int64 // the share of the leaf
	// wanted is the key that the consumer waits for. If the first entry has it or an
	// earlier one, all entries with the key of the first are kept.
	wanted int64
}

// take charges what may be kept for reading a source, which the caller gives back. Others
// are in the queue.
func (g *grant) take(t task, src source, queue []heap.Item[source]) allotment {
	of := allotment{wanted: math.MinInt64}
	l, ok := src.(leaf)
	if !ok || !t.yields() {
		return of // the sources below a branch are charged when they are read
	}
	if g.waiting {
		of.wanted = g.wanted
	}
	of.bytes = g.share(l, queue)
	g.held += of.bytes
	return of
}

// fullShare returns about the most that all results of a leaf take.
func fullShare(l leaf) int64 {
	rows, streams := l.counts()
	// Of short lines, rows and labels are most.
	bytes := l.raw() + rows*resultRowBytes + streams*(resultStreamBytes+firstLabelBytes)
	return max(resultSlack*l.raw(), 2*bytes) + minShare
}

// share returns how many bytes of a leaf's entries may be kept.
func (g *grant) share(l leaf, queue []heap.Item[source]) int64 {
	// Sources that begin before this one ends are needed beside it. A sample of the
	// queue shows how many they are.
	_, last := l.keys()
	others, step := int64(0), max(1, len(queue)/64)
	for i := 0; i < len(queue); i += step {
		if queue[i].Key <= last {
			others += int64(step)
		}
	}
	full := fullShare(l)
	if wish := min(g.pool.maxBytes, g.held+(others+1)*full); wish > g.granted {
		g.grow(wish - g.granted)
	}
	share := (g.granted - g.held) / (others + 1)
	if g.held < 2*g.granted {
		share = max(share, minShare)
	}
	return max(0, min(share, full))
}
