package logstore

import (
	"context"
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
type grant struct {
	pool    *readPool
	granted int64 // bytes of pool.memory
	held    int64 // bytes of results, and of the shares of leaves being read
	waiting bool  // the consumer needs all entries with keys up to wanted
	wanted  int64
	parked  bool // nothing is read; see parking.go
}

const (
	minShare = 4 << 10
	// resultSlack times its bytes of lines is the most that the results of a
	// leaf take: there is a row for each line, and memory comes in powers of two.
	resultSlack = 4
)

// newGrant waits for the least memory that a scan has. With noWait the error is
// ErrBusy where it would wait.
func newGrant(ctx context.Context, r *readPool, noWait bool) (g *grant, waited time.Duration, err error) {
	if noWait {
		if n := r.memory.TryAcquire(r.minBytes, 0); n < r.minBytes {
			r.memory.Release(n)
			return nil, 0, ErrBusy
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

// take charges a share for reading a source, which the caller gives back. Others
// are in the queue.
func (g *grant) take(src source, queue []heap.Item[source]) int64 {
	l, ok := src.(leaf)
	if !ok {
		return 0 // the sources below it are charged when they are read
	}
	share := g.share(l, queue)
	g.held += share
	return share
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
		g.granted += g.pool.memory.TryAcquire(wish-g.granted, g.pool.reserve)
	}
	share := (g.granted - g.held) / (others + 1)
	if g.held < 2*g.granted {
		share = max(share, minShare)
	}
	return max(0, min(share, full))
}
