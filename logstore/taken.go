package logstore

import (
	"cmp"
	"strings"
)

// A takenRow is where a row is in the order of a search. What is left of a search is
// all that comes behind the row that the consumer took last: that is how it goes on in
// the segment of a memtable (handover.go), and after it was parked (parking.go).
type takenRow struct {
	known   bool
	labels  Labels
	sortKey string // of labels; see behind
	time    int64
	rank    uint64
	mark    mark // in its leaf
}

// set notes the n-th of the rows that follow of f, with the labels.
func (t *takenRow) set(f *results, n int, labels Labels) {
	r := &f.rows[f.next+n-1]
	*t = takenRow{true, labels, "", r.time, f.rank, mark{time: r.time, pos: r.pos, row: r.row}}
}

// behind returns a copy for sources to begin behind, nil if nothing was taken.
func (t takenRow) behind() *takenRow {
	if !t.known {
		return nil
	}
	t.sortKey = t.labels.sortKey()
	return &t
}

// first returns the first key that a source whose entries begin at one has behind the
// row, which may be nil.
func (t *takenRow) first(x *search, first int64) int64 {
	if t == nil {
		return first
	}
	return max(first, x.key(t.time))
}

// after reports whether all times from min to max come before the row that was taken,
// which may be nil.
func (t *takenRow) after(x *search, min, max int64) bool {
	if t == nil {
		return false
	}
	_, last := x.keys(min, max)
	return last < x.key(t.time)
}

// includesSpan is includes for a span of a block.
func (t *takenRow) includesSpan(x *search, n spanName, rank uint64, row uint32) bool {
	if d := strings.Compare(n.sortKey, t.sortKey); d != 0 {
		return d > 0 == x.backward
	}
	return t.includes(x, t.labels, rank, n.seq, row)
}

// includes reports whether a row of the same time comes before t in the order of the
// search, or is t. It has labels and a mark with pos and row, in a leaf with a rank.
func (t *takenRow) includes(x *search, labels Labels, rank uint64, pos, row uint32) bool {
	d := labels.Compare(t.labels)
	if d == 0 {
		if rank >= firstMemoryRank && rank != t.rank && t.rank == memoryRankOf(rank) {
			// The memtable was sealed, and marks are others: see tiedRows.
			return true
		}
		d = cmp.Or(cmp.Compare(rank, t.rank), cmp.Compare(pos, t.mark.pos), cmp.Compare(row, t.mark.row))
	}
	return d == 0 || d > 0 == x.backward
}
