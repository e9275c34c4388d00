package segment2

import (
	"context"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
)

func (x *index2) Select(ctx context.Context, tenant string, conditions []Condition) (*roaring.Bitmap, error) {
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
	var rest []Condition // on names without postings
	for _, c := range conditions {
		if s.set.IsEmpty() {
			break
		}
		known, err := s.byPostings(ctx, c)
		if err := s.found.note(err); err != nil {
			return roaring.New(), err
		}
		if !known || err != nil { // labels say what damaged postings do not
			rest = append(rest, c)
		}
	}
	if len(rest) > 0 && !s.set.IsEmpty() {
		if err := s.byLabels(ctx, rest); err != nil {
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

// byPostings leaves the streams that meet a condition, if the postings tell:
// known is false if the name may be in the segment without having postings.
func (s *selection) byPostings(ctx context.Context, c Condition) (known bool, err error) {
	if s.x.card.section(TypePostings) == nil {
		return false, nil
	}
	d, err := s.x.postingsDirectory(ctx)
	if err != nil {
		return false, err
	}
	// without: streams without the label meet the condition. Then those are
	// removed that have a value which does not meet it, else those are left that
	// have one which does.
	without := c.Meets("")
	chosen := roaring.New()
	for p, err := range s.x.postingsOf(ctx, d, c) {
		if err != nil {
			return false, err
		}
		known = true
		if p.runs == nil || c.Meets(p.value) == without {
			continue
		}
		if err := addRuns(chosen, p.runs, s.x.card.info.Streams); err != nil {
			return false, corrupt(s.x.src, s.x.card.section(TypePostings).off, -1, "the postings of %s: %v", c.Name, err)
		}
	}
	switch {
	case !known && !d.complete:
		return false, nil
	case without:
		s.set.AndNot(chosen)
	default:
		s.set.And(chosen)
	}
	return true, nil
}

// postingsOf ranges over the postings of a name that a condition needs. If it
// needs none of those that there are, the last one has no runs. The sequence is
// empty if the name has no postings.
func (x *index2) postingsOf(ctx context.Context, d *postingsTable, c Condition) func(yield func(posting, error) bool) {
	few := c.Match == nil && !slices.Contains(c.Values, "")
	return func(yield func(posting, error) bool) {
		known := false
		for number := d.partOf(c.Name, ""); number < len(d.first) && d.first[number].name <= c.Name; number++ {
			if few && known && !slices.ContainsFunc(c.Values, func(v string) bool { return d.partOf(c.Name, v) == number }) {
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
	m, q := NewMatcher(conditions), newChunkQuery(conditions)
	var sets filterList // of filterChunks chunks; nil if they cannot be read
	last := -1
	for it, chunk := s.set.Iterator(), 0; it.HasNext(); chunk++ {
		if next := it.PeekNext(); next >= d[chunk].first+d[chunk].streams {
			chunk = chunkOf(d, next)
		}
		if part := chunk / filterChunks; part != last {
			sets, err = s.x.chunkFilters(ctx, part)
			if err := s.found.note(err); err != nil {
				return err
			}
			last = part
		}
		end := d[chunk].first + d[chunk].streams
		if sets != nil && !q.may(sets[chunk%filterChunks]) {
			it.AdvanceIfNeeded(end)
			continue
		}
		c, err := s.x.Labels(ctx, chunk)
		if err := s.found.note(err); err != nil {
			return err
		}
		if c == nil {
			s.found.lost = true
			it.AdvanceIfNeeded(end)
			continue
		}
		for it.HasNext() && it.PeekNext() < end {
			if n := it.Next(); m.Meets(c.Of(n)) {
				met.Add(n)
			}
		}
	}
	s.set = met
	return nil
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
