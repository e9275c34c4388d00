package logstore

import "slices"

// A pickCut leaves out those picks of a block whose lines would not be kept, before they are
// made: a block that is read in several shares makes each line about once.
type pickCut struct {
	bytes int64 // about how many of lines and rows are kept; 0: all
	// left is how many picks were left out, and first the lowest of their keys.
	left  int
	first int64
	keys  []int64
}

// begin readies the cut for a leaf of which so many bytes are kept.
func (c *pickCut) begin(bytes int64) { c.bytes, c.left = max(1, bytes), 0 }

// cutPicks leaves in r.picks those of the lowest keys, as many as the cut says, and all with
// the highest key of them. Picks that a filter may drop are all left in, and so are those of
// blocks that make all their lines in any case.
func (l *blockLeaf) cutPicks(r *reading) {
	c := &r.cut
	if c.bytes == 0 || r.filter() != nil || r.x.judge != nil || r.templates.dictionary == nil {
		return
	}
	most := c.bytes / (l.lineBytes() + resultRowBytes)
	if most += most/8 + 1; 2*most >= int64(len(r.picks)) {
		return
	}
	c.keys = c.keys[:0]
	for _, p := range r.picks {
		c.keys = append(c.keys, r.x.key(p.time))
	}
	last := lowestOf(c.keys, int(most))
	kept := r.picks[:0]
	c.first = maxKey
	for _, p := range r.picks {
		if k := r.x.key(p.time); k <= last {
			kept = append(kept, p)
		} else {
			c.first = min(c.first, k)
		}
	}
	c.left = len(r.picks) - len(kept)
	r.picks = kept
}

// lineBytes returns about how many bytes the first lines to be read have, with their metadata:
// those of the lines that were kept last, or all of the block.
func (l *blockLeaf) lineBytes() int64 {
	if l.kept > 0 {
		return int64(l.kept)
	}
	e := l.entry()
	return int64(e.Raw) / max(1, int64(e.Rows))
}

// lowestOf returns the n-th lowest of the keys, from 1 on, and reorders them.
func lowestOf(keys []int64, n int) int64 {
	for range maxSplits {
		// The median of three ends well for keys in order.
		a, b, c := keys[0], keys[len(keys)/2], keys[len(keys)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		lower, equal := 0, 0
		for i, k := range keys {
			if k > pivot {
				continue
			}
			if k == pivot {
				keys[i], keys[lower+equal] = keys[lower+equal], k
				equal++
				continue
			}
			keys[i], keys[lower+equal] = keys[lower+equal], keys[lower]
			keys[lower] = k
			lower++
		}
		switch {
		case n <= lower:
			keys = keys[:lower]
		case n <= lower+equal:
			return pivot
		default:
			keys, n = keys[lower+equal:], n-lower-equal
		}
	}
	slices.Sort(keys)
	return keys[n-1]
}

// maxSplits is more than keys need, but for some that are made to need many.
const maxSplits = 64
