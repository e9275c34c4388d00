package power

import (
	"math/rand/v2"
	"slices"
	"sort"
)

// A deviceLog is a recording without the entries of the ledger: the first state
// of the device, the requests since then, and the moments of the
// acknowledgements.
type deviceLog struct {
	fs      fileSystem
	seed    uint64
	base    *image
	records []record
	begin   int     // records before the first cut
	acks    []int64 // length of the log at each acknowledgement, ascending

	// The durable image after the first `flushed` records, kept because cuts
	// are built in the order of the log.
	durable *image
	flushed int
}

// A fate is a rule by which unflushed writes are kept or lost.
type fate int

const (
	dropAll fate = iota
	keepAll
	mixed   // drawn for each
	allBut1 // one is dropped or torn
	only1   // one is kept or torn
	fates
)

// cuts draws n cuts: a third of them right before and right after flushes, a
// third right after acknowledgements, and the rest anywhere. If there are fewer
// such points than a third of n, each is taken.
func (t *deviceLog) cuts(n int) []Cut {
	rng := rand.New(rand.NewPCG(t.seed, 0))
	var flushes, acks []int
	for i := t.begin; i < len(t.records); i++ {
		if t.records[i].kind == kindFlush {
			flushes = append(flushes, i, i+1)
		}
	}
	for _, length := range t.acks {
		acks = append(acks, t.recordsBefore(length))
	}
	var cuts []Cut
	take := func(where string, points []int) {
		points = slices.Compact(points)
		rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		for _, at := range points[:min(len(points), (n+2)/3, n-len(cuts))] {
			cuts = append(cuts, Cut{At: at, Where: where})
		}
	}
	take("ack", acks)
	take("flush", flushes)
	for len(cuts) < n {
		cuts = append(cuts, Cut{At: t.begin + rng.IntN(len(t.records)-t.begin+1), Where: "random"})
	}
	slices.SortStableFunc(cuts, func(a, b Cut) int { return a.At - b.At })
	for i := range cuts {
		c := &cuts[i]
		c.N = i
		c.Acked = t.ackedBefore(c.At)
		c.fate = fate(rng.IntN(int(fates)))
		// The loss by a missing sync shows most surely if the disk keeps
		// nothing that it may lose.
		if c.Where == "ack" && rng.IntN(2) == 0 {
			c.fate = dropAll
		}
		c.fateSeed = rng.Uint64()
	}
	return cuts
}

// recordsBefore returns the number of records in the first length bytes.
func (t *deviceLog) recordsBefore(length int64) int {
	return sort.Search(len(t.records), func(i int) bool { return t.records[i].end > length })
}

// ackedBefore returns the number of entries that were acknowledged before record
// `at` was written, if it ever was.
func (t *deviceLog) ackedBefore(at int) int {
	return sort.Search(len(t.acks), func(i int) bool { return t.recordsBefore(t.acks[i]) > at })
}

// image returns the device after the cut, and sets the counts of c.
func (t *deviceLog) image(c *Cut) *image {
	flushed := c.At
	for flushed > 0 && t.records[flushed-1].kind != kindFlush {
		flushed--
	}
	m := t.durableAt(flushed).clone()
	rng := rand.New(rand.NewPCG(t.seed, c.fateSeed))
	pending := t.records[flushed:c.At]
	var odd int // the write whose fate differs
	if len(pending) > 0 {
		odd = rng.IntN(len(pending))
	}
	c.Kept, c.Torn, c.Dropped = 0, 0, 0
	for i, r := range pending {
		switch c.fate.draw(rng, i == odd, r) {
		case drop:
			c.Dropped++
		case keep:
			m.write(r.off, r.len, r.data)
			c.Kept++
		case tear:
			t.writeTorn(m, rng, r)
			c.Torn++
		}
	}
	return m
}

// durableAt returns the device after the first n records, the last of which is a
// flush.
func (t *deviceLog) durableAt(n int) *image {
	if t.durable == nil || t.flushed > n {
		t.durable, t.flushed = t.base.clone(), 0
	}
	for _, r := range t.records[t.flushed:n] {
		if r.kind != kindFlush {
			t.durable.write(r.off, r.len, r.data)
		}
	}
	t.flushed = n
	return t.durable
}

// Outcomes of an unflushed write.
const (
	drop = iota
	keep
	tear
)

// draw returns the outcome of the write r. odd is whether it is the one whose
// fate differs.
func (f fate) draw(rng *rand.Rand, odd bool, r record) int {
	do := drop
	switch {
	case f == mixed:
		do = rng.IntN(3)
	case f == allBut1 && odd:
		do = []int{drop, tear}[rng.IntN(2)]
	case f == only1 && odd:
		do = []int{keep, tear}[rng.IntN(2)]
	case f == keepAll, f == allBut1:
		do = keep
	}
	if do == tear && r.len < 2*sector {
		do = []int{drop, keep}[rng.IntN(2)]
	}
	return do
}

// writeTorn writes some sectors of r to m.
func (t *deviceLog) writeTorn(m *image, rng *rand.Rand, r record) {
	for i, kept := range t.tear(rng, r) {
		if !kept {
			continue
		}
		at := int64(i) * sector
		var data []byte
		if r.kind == kindWrite {
			data = r.data[at : at+sector]
		}
		m.write(r.off+at, sector, data)
	}
}

// tear draws which sectors of a write to at least two are kept: the first ones,
// the last ones or any, but neither none nor all.
func (t *deviceLog) tear(rng *rand.Rand, r record) []bool {
	kept := make([]bool, r.len/sector)
	edge := 1 + rng.IntN(len(kept)-1)
	switch rng.IntN(3) {
	case 0:
		for i := range edge {
			kept[i] = true
		}
	case 1:
		for i := edge; i < len(kept); i++ {
			kept[i] = true
		}
	case 2:
		for i := range kept {
			kept[i] = rng.IntN(2) == 0
		}
		in := rng.IntN(len(kept))
		kept[in], kept[(in+edge)%len(kept)] = true, false
	}
	for i := range kept {
		if at := r.off + int64(i)*sector; i > 0 && t.fs.super[0] < at && at < t.fs.super[1] {
			kept[i] = kept[i-1]
		}
	}
	return kept
}
