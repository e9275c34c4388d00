package segment2

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
)

func (x *index2) Select(ctx context.Context, tenant string, conditions []Condition) (*roaring.Bitmap, error) {
	x = x.inOrder(ctx)
	defer x.stop()
	x.wantSections(TypeTenants, TypePostings, TypeLabels)
	low, high, err := x.tenant(ctx, tenant)
	if err != nil {
		return roaring.New(), err
	}
	all := low == 0 && int(high) == x.card.info.Streams && high > 0
	if len(conditions) == 0 && all {
		return nil, nil
	}
	s := selection{x: x, set: roaring.New()}
	s.set.AddRange(uint64(low), uint64(high))
	rest, err := s.byPostings(ctx, conditions)
	if err != nil {
		return roaring.New(), err
	}
	if len(rest) > 0 && !s.set.IsEmpty() {
		if err := s.byKeptLabels(ctx, selectionText(tenant, conditions), rest); err != nil {
			return roaring.New(), err
		}
	}
	if all && s.found.first == nil && int(s.set.GetCardinality()) == x.card.info.Streams {
		return nil, nil
	}
	return s.set, s.found.result()
}

// A selection is a Select under way.
type selection struct {
	x     *index2
	set   *roaring.Bitmap // streams that may meet the conditions so far
	found damage
}

// byPostings drops the streams whose postings show that they do not meet the
// conditions. rest are the conditions on names that may be in the segment without having
// postings, and those whose postings are damaged: labels say what they do not.
func (s *selection) byPostings(ctx context.Context, conditions []Condition) (rest []Condition, err error) {
	list := make([]chosenPostings, 0, len(conditions))
	for _, c := range conditions {
		p, known, err := s.x.choosePostings(ctx, c)
		if err := s.found.note(err); err != nil {
			return nil, err
		}
		if !known || err != nil {
			rest = append(rest, c)
			continue
		}
		if !p.without && len(p.runs) == 0 {
			s.set.Clear()
			return nil, nil
		}
		p.condition = c
		list = append(list, p)
	}
	// The fewest streams first: the others are looked for among these.
	slices.SortStableFunc(list, func(a, b chosenPostings) int {
		return cmp.Or(compareBools(a.without, b.without), cmp.Compare(a.bytes, b.bytes))
	})
	for _, p := range list {
		if s.set.IsEmpty() {
			break
		}
		if err := s.byRuns(p); err != nil {
			s.found.note(err)
			rest = append(rest, p.condition)
		}
	}
	return rest, nil
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// chosenPostings are those of the values by which a condition decides.
type chosenPostings struct {
	condition Condition
	// without: streams without the label meet the condition, and so do all but
	// those of the runs; else only those of the runs do.
	without bool
	runs    [][]byte // see eachRun
	bytes   int
}

// choosePostings returns the postings for a condition. known is false if the name
// may be in the segment without having postings.
func (x *index2) choosePostings(ctx context.Context, c Condition) (p chosenPostings, known bool, err error) {
	if x.card.section(TypePostings) == nil {
		return p, false, nil
	}
	d, err := x.postingsDirectory(ctx)
	if err != nil {
		return p, false, err
	}
	p.without = c.Meets("")
	for one, err := range x.postingsOf(ctx, d, c) {
		if err != nil {
			return p, false, err
		}
		known = true
		if one.runs != nil && c.Meets(one.value) != p.without {
			p.runs = append(p.runs, one.runs)
			p.bytes += len(one.runs)
		}
	}
	return p, known || d.complete, nil
}

// byRuns leaves the streams that meet a condition by its postings. After an error
// it has changed nothing.
func (s *selection) byRuns(p chosenPostings) error {
	chosen := roaring.New()
	var few []uint32 // for chosen
	for _, runs := range p.runs {
		it := s.set.Iterator()
		err := eachRun(runs, s.x.card.info.Streams, func(first, next uint32) bool {
			it.AdvanceIfNeeded(first)
			for it.HasNext() && it.PeekNext() < next {
				few = append(few, it.Next())
			}
			return it.HasNext()
		})
		if err != nil {
			return corrupt(s.x.src, s.x.card.section(TypePostings).off, -1, "the postings of %s: %v", p.condition.Name, err)
		}
		chosen.AddMany(few)
		few = few[:0]
	}
	if p.without {
		s.set.AndNot(chosen)
	} else {
		s.set.And(chosen)
	}
	return nil
}

// postingsOf ranges over the postings of a name that a condition needs. If it
// needs none of those that there are, the last one has no runs. The sequence is
// empty if the name has no postings.
func (x *index2) postingsOf(ctx context.Context, d *postingsTable, c Condition) func(yield func(posting, error) bool) {
	few := c.Match == nil && !slices.Contains(c.Values, "")
	from, to := d.partOf(c.Name, ""), 0
	for to = from; to < len(d.first) && d.first[to].name <= c.Name; to++ {
	}
	needs := func(number int) bool {
		return !few || slices.ContainsFunc(c.Values, func(v string) bool { return d.partOf(c.Name, v) == number })
	}
	return func(yield func(posting, error) bool) {
		if err := x.wantPostings(ctx, from, to, needs); err != nil {
			yield(posting{}, err)
			return
		}
		known := false
		for number := from; number < to; number++ {
			if known && !needs(number) {
				continue
			}
			list, err := x.postings(ctx, number)
			if err != nil {
				yield(posting{}, err)
				return
			}
			for i := list.search(c.Name, ""); i < len(list) && list[i].name == c.Name; i++ {
				known = true
				if (!few || slices.Contains(c.Values, list[i].value)) && !yield(list[i], nil) {
					return
				}
			}
		}
		if known {
			yield(posting{name: c.Name}, nil)
		}
	}
}

// wantPostings reads the first of some parts of the postings ahead, and those that are
// needed of the others.
func (x *index2) wantPostings(ctx context.Context, from, to int, needs func(number int) bool) error {
	if x.ahead == nil {
		return nil
	}
	var wanted []int
	for number := from; number < to; number++ {
		if number == from || needs(number) {
			wanted = append(wanted, number)
		}
	}
	return x.wantParts(ctx, TypePostings, 1, wanted)
}

// A postingsTable is the directory of the postings.
type postingsTable struct {
	first    []posting // of each part
	complete bool      // every name of the segment has postings
}

func (d *postingsTable) Weight() int64 {
	return int64(unsafe.Sizeof(*d)) + postingList(d.first).Weight()
}

// partOf returns the number of the part that has a label if there are postings
// of it.
func (d *postingsTable) partOf(name, value string) int {
	i := sort.Search(len(d.first), func(i int) bool { return d.first[i].compare(name, value) > 0 })
	return max(0, i-1)
}

// A postingList is a part of the postings.
type postingList []posting

func (l postingList) Weight() int64 {
	n := int64(cap(l)) * int64(unsafe.Sizeof(posting{}))
	for i := range l {
		n += int64(len(l[i].name) + len(l[i].value) + len(l[i].runs))
	}
	return n
}

// search returns the place of the first posting that a label does not follow.
func (l postingList) search(name, value string) int {
	return sort.Search(len(l), func(i int) bool { return l[i].compare(name, value) >= 0 })
}

func (x *index2) postingsDirectory(ctx context.Context) (*postingsTable, error) {
	k := PartKey{PostingsDirectoryPart, 0}
	if d, ok := Present[*postingsTable](x.cache, k); ok {
		return d, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (*postingsTable, error) {
		d := new(postingsTable)
		err := x.partOf(ctx, TypePostings, 0, func(p []byte) (err error) {
			d.first, d.complete, err = parsePostingsDirectory(p)
			return err
		})
		if err != nil {
			return nil, err
		}
		return d, nil
	})
}

// postings returns a part of the postings.
func (x *index2) postings(ctx context.Context, number int) (postingList, error) {
	k := PartKey{PostingsPart, uint32(number)}
	if l, ok := Present[postingList](x.cache, k); ok {
		return l, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (l postingList, err error) {
		err = x.partOf(ctx, TypePostings, 1+number, func(p []byte) (err error) {
			l, err = parsePostings(slices.Clone(p)) // p is valid here only
			return err
		})
		if err != nil {
			return nil, err
		}
		return l, nil
	})
}

// byLabels leaves the streams whose labels meet conditions.
func (s *selection) byLabels(ctx context.Context, conditions []Condition) error {
	d, err := s.x.directory(ctx)
	if err := s.found.note(err); err != nil {
		return err
	}
	met := roaring.New()
	if d == nil {
		s.set, s.found.lost = met, true
		return nil
	}
	chunks, err := s.mayMeet(ctx, d, newChunkQuery(conditions))
	if err != nil {
		return err
	}
	s.x.wantFrames(d, chunks)
	m, it := NewMatcher(conditions), s.set.Iterator()
	for _, chunk := range chunks {
		c, err := s.x.Labels(ctx, chunk)
		if err := s.found.note(err); err != nil {
			return err
		}
		if c == nil {
			s.found.lost = true
			continue
		}
		it.AdvanceIfNeeded(d[chunk].first)
		for end := d[chunk].first + d[chunk].streams; it.HasNext() && it.PeekNext() < end; {
			if n := it.Next(); m.Meets(c.Of(n)) {
				met.Add(n)
			}
		}
	}
	s.set = met
	return nil
}

// mayMeet returns the chunks that have streams of the set, without those whose filters
// show that none meets the query.
func (s *selection) mayMeet(ctx context.Context, d directory, q chunkQuery) ([]int, error) {
	chunks := d.chunksOf(s.set, 0, math.MaxUint32)
	if len(q) == 0 || len(chunks) == 0 {
		return chunks, nil
	}
	var parts []int
	for _, c := range chunks {
		if n := len(parts); n == 0 || parts[n-1] != c/filterChunks {
			parts = append(parts, c/filterChunks)
		}
	}
	if err := s.x.wantParts(ctx, TypeLabels, 1, parts); err != nil {
		return nil, err
	}
	kept := chunks[:0]
	for _, part := range parts {
		sets, err := s.x.chunkFilters(ctx, part)
		if err := s.found.note(err); err != nil {
			return nil, err
		}
		for len(chunks) > 0 && chunks[0]/filterChunks == part {
			if sets == nil || q.may(sets[chunks[0]%filterChunks]) {
				kept = append(kept, chunks[0])
			}
			chunks = chunks[1:]
		}
	}
	return kept, nil
}

// A chunkQuery has, for each condition that a stream without the label does not
// meet, the keys of which a chunk must have one.
type chunkQuery [][]uint64

func newChunkQuery(conditions []Condition) (q chunkQuery) {
	for _, c := range conditions {
		if c.Meets("") {
			continue
		}
		var keys []uint64
		if c.Match == nil && !c.Not {
			for _, v := range c.Values {
				keys = append(keys, labelKeyOf(c.Name, v))
			}
		} else {
			keys = append(keys, labelKeyOf(c.Name, ""))
		}
		q = append(q, keys)
	}
	return q
}

func (q chunkQuery) may(set []byte) bool {
	for _, keys := range q {
		if !slices.ContainsFunc(keys, func(k uint64) bool { return filter.InSet(set, k) }) {
			return false
		}
	}
	return true
}

// A filterList is the filters of filterChunks chunks.
type filterList [][]byte

func (l filterList) Weight() int64 {
	n := int64(cap(l)) * int64(unsafe.Sizeof([]byte{}))
	for _, set := range l {
		n += int64(len(set))
	}
	return n
}

// chunkFilters returns a part of the filters of chunks.
func (x *index2) chunkFilters(ctx context.Context, number int) (filterList, error) {
	k := PartKey{LabelFiltersPart, uint32(number)}
	if l, ok := Present[filterList](x.cache, k); ok {
		return l, nil
	}
	return Load(ctx, x.cache, k, func(ctx context.Context) (l filterList, err error) {
		d, err := x.directory(ctx)
		if d == nil {
			return nil, err
		}
		err = x.partOf(ctx, TypeLabels, 1+number, func(p []byte) (err error) {
			l, err = parseFilters(slices.Clone(p), min(filterChunks, len(d)-number*filterChunks))
			return err
		})
		if err != nil {
			return nil, err
		}
		return l, nil
	})
}

// findLabels returns the place of labels among those of streams.
func findLabels(list []string, labels string) (int, bool) {
	return slices.BinarySearchFunc(list, labels, strings.Compare)
}
