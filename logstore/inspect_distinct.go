package logstore

import "hash/maphash"

// A distinctCount counts the different tenants, streams, names and values of labels of
// many segments in bounded memory. It remembers hashes of 64 bits, of one part of all
// hashes at a time: when there are too many it goes on with half of the part, and leaves
// the other half to another pass over the segments.
type distinctCount struct {
	most  int // hashes at once
	seed  maphash.Seed
	part  hashPart
	later []hashPart
	seen  [numDistinct]hashSet
	total [numDistinct]int // of the parts before
}

// What a distinctCount counts.
const (
	distinctTenants = iota
	distinctStreams
	distinctNames
	distinctValues
	numDistinct
)

// A hashPart is the hashes whose first bits are these.
type hashPart struct {
	first uint64
	bits  uint
}

func (p hashPart) has(h uint64) bool { return h>>(64-p.bits) == p.first }

func (p hashPart) halves() (a, b hashPart) {
	return hashPart{p.first << 1, p.bits + 1}, hashPart{p.first<<1 | 1, p.bits + 1}
}

// maxDistinct is how many hashes are remembered at once, in 16 MiB.
const maxDistinct = 1 << 20

func newDistinctCount(most int) *distinctCount {
	return &distinctCount{most: most, seed: maphash.MakeSeed()}
}

// next begins a pass over all segments, and reports whether there is one to do. The first
// one is begun already.
func (d *distinctCount) next() bool {
	for kind := range d.seen {
		d.total[kind] += d.seen[kind].n
		d.seen[kind] = hashSet{}
	}
	n := len(d.later)
	if n == 0 {
		return false
	}
	d.part, d.later = d.later[n-1], d.later[:n-1]
	return true
}

// stream counts a stream of a segment.
func (d *distinctCount) stream(tenant string, l Labels) {
	d.add(distinctTenants, tenant, "")
	d.add(distinctStreams, tenant, l.enc)
	for name, value := range l.All() {
		d.add(distinctNames, name, "")
		d.add(distinctValues, name, value)
	}
}

func (d *distinctCount) add(kind int, a, b string) {
	h := maphash.Comparable(d.seed, [2]string{a, b})
	if h == 0 {
		h = 1 // hashSet has no 0
	}
	set := &d.seen[kind]
	if !d.part.has(h) || set.has(h) {
		return
	}
	set.add(h)
	for d.held() > d.most { // all may be in one half
		d.halve()
	}
}

// held returns how many hashes are remembered.
func (d *distinctCount) held() (n int) {
	for kind := range d.seen {
		n += d.seen[kind].n
	}
	return n
}

// halve leaves half of the part to a later pass.
func (d *distinctCount) halve() {
	part, other := d.part.halves()
	d.part, d.later = part, append(d.later, other)
	for kind := range d.seen {
		var kept hashSet
		for _, h := range d.seen[kind].slots {
			if h != 0 && d.part.has(h) {
				kept.add(h)
			}
		}
		d.seen[kind] = kept
	}
}

// further makes the passes after the first over the segments of a store. What cannot be
// read, the first one has told.
func (d *distinctCount) further(dir string) error {
	for d.next() {
		files, err := segmentFiles(dir) // a process may have merged some since
		if err != nil {
			return err
		}
		for _, file := range files {
			if s, err := InspectSegment(file); err == nil {
				_ = s.countDistinct(d)
				s.Close()
			}
		}
	}
	return nil
}

// countDistinct counts the streams, up to damage, which is the error.
func (s *SegmentInspection) countDistinct(d *distinctCount) error {
	for st, err := range s.content.labels() {
		if err != nil {
			return exportError(err)
		}
		d.stream(st.tenant, st.labels)
	}
	return nil
}
