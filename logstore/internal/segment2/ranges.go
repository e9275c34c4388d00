package segment2

import (
	"context"
	"math/bits"
	"slices"
	"sort"
)

const (
	// rangeGap is the most bytes between two parts that are read at once.
	rangeGap = 64 << 10
	// minRange is the least that is worth memory of its own: where there is less, parts
	// are read one by one.
	minRange = 64 << 10
)

// A byteRange is a range of a segment that is far away, of parts that lie together: they
// are one read.
type byteRange struct {
	off, end int64
	p        []byte // nil until it has been read
}

// Weight returns about how many bytes of memory the range takes.
func (s *byteRange) Weight() int64 { return int64(cap(s.p)) }

// has returns n bytes at off, if the range has them.
func (s *byteRange) has(off, n int64) bool { return off >= s.off && off+n <= s.end }

// at returns n bytes at off, which the range has.
func (s *byteRange) at(off, n int64) []byte { return s.p[off-s.off:][:n:n] }

// read reads it.
func (s *byteRange) read(src Source) error {
	s.p = make([]byte, s.end-s.off)
	return ReadFull(src, s.p, s.off, -1)
}

// byteRanges are read one by one.
type byteRanges []byteRange

// want adds a part to the last range, unless that has been read or would have more than
// most bytes, or begins another. A larger part is left out. Parts come in the order of
// their offsets.
func (l *byteRanges) want(off, n, most int64) {
	if n == 0 || n > most {
		return
	}
	if i := len(*l) - 1; i >= 0 {
		if s := &(*l)[i]; s.p == nil && off >= s.end && off-s.end <= rangeGap && off+n-s.off <= most {
			s.end = off + n
			return
		}
	}
	*l = append(*l, byteRange{off: off, end: off + n})
}

// find returns the number of the range that has n bytes at off, or -1. The ranges are in
// the order of their offsets.
func (l byteRanges) find(off, n int64) int {
	i := sort.Search(len(l), func(i int) bool { return l[i].end >= off+n })
	if i == len(l) || !l[i].has(off, n) {
		return -1
	}
	return i
}

// A roomyCache bounds what is read at once for it.
type roomyCache interface {
	// Room returns how many bytes the largest part may have that it keeps.
	Room() int64
}

// A region is where parts of a kind lie in a file. For the cache it is cut into windows of
// as many bytes as the cache keeps.
type region struct {
	kind       PartKind // of the windows
	begin, end int64
	most       int64 // bytes of a window
	what       string
}

// windows returns which windows of a region have n bytes at off, and the logarithm of their
// size. ok is false if these are to be read alone.
func (x *index2) windows(r region, off, n int64) (first, last int64, log int, ok bool) {
	most := r.most
	if c, ok := x.cache.(roomyCache); ok {
		most = min(most, c.Room())
	}
	if most < minRange || n > most || n == 0 || off < r.begin || off+n > r.end {
		return 0, 0, 0, false
	}
	log = bits.Len64(uint64(most)) - 1
	return (off - r.begin) >> log, (off + n - 1 - r.begin) >> log, log, true
}

// window returns a window of a region, a part of the index.
func (x *index2) window(ctx context.Context, r region, number int64, log int) (*byteRange, error) {
	k := PartKey{r.kind, uint32(number)<<5 | uint32(log)}
	if s, ok := Present[*byteRange](x.cache, k); ok {
		return s, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (*byteRange, error) {
		s := &byteRange{off: r.begin + number<<log, end: min(r.begin+(number+1)<<log, r.end)}
		return s, s.read(Within(ctx, x.src))
	})
}

// beside returns n bytes at off from the windows of a region, or nil if they are to be
// read alone.
func (x *index2) beside(ctx context.Context, r region, off, n int64) []byte {
	from, to, log, ok := x.windows(r, off, n)
	if !ok {
		return nil
	}
	var list byteRanges
	for i := from; i <= to; i++ {
		s, err := x.window(ctx, r, i, log)
		if err != nil {
			return nil
		}
		list = append(list, *s)
	}
	if list[0].has(off, n) {
		return list[0].at(off, n)
	}
	p := make([]byte, n)
	list.join(p, off)
	return p
}

// viewBeside is view of a part that lies in a region with others, which are read with it
// for the cache: so goroutines that need neighbours share a read.
func (x *index2) viewBeside(ctx context.Context, r region, p part, f func([]byte) error) error {
	stored := x.readAhead(ctx, p.off, int64(p.bytes))
	if stored == nil && x.viewer == nil && x.cache != nil && !x.alone {
		stored = x.beside(ctx, r, p.off, int64(p.bytes))
	}
	if stored != nil {
		if err := f(stored); err != nil {
			return corrupt(x.src, p.off, -1, "%s: %v", r.what, err)
		}
		return nil
	}
	return x.view(ctx, p.off, int64(p.bytes), -1, r.what, f)
}

// besideGroups returns n bytes at off, of a dictionary or of tables that lie before the
// groups, from what is read with these, or nil if they are to be read alone.
func (x *index2) besideGroups(ctx context.Context, off, n int64) []byte {
	groups := x.card.section(TypeGroups)
	if x.viewer != nil || x.cache == nil || x.alone || groups == nil || off < x.card.templatesBegin() || off+n > groups.off {
		return nil
	}
	zones, err := x.zones(ctx)
	if len(zones) == 0 || err != nil {
		return nil
	}
	return x.beside(ctx, x.groups(zones), off, n)
}

// join copies the bytes at off from the ranges that have them, in any order. It reports
// false if some are in none.
func (l byteRanges) join(p []byte, off int64) bool {
	for len(p) > 0 {
		i := slices.IndexFunc(l, func(s byteRange) bool { return off >= s.off && off < s.end })
		if i < 0 {
			return false
		}
		n := copy(p, l[i].p[off-l[i].off:])
		p, off = p[n:], off+int64(n)
	}
	return true
}
