package labelindex

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// maxList is the most numbers that a posting keeps as a list. An empty bitmap
// takes some 200 bytes, too much for values of a few streams.
const maxList = 16

// A posting is the posting list of one value of a label name.
type posting struct {
	value string
	few   []uint32        // sorted; nil once many is set
	many  *roaring.Bitmap // for more than maxList
}

func (p *posting) add(n uint32) {
	if p.many != nil {
		p.many.Add(n)
		return
	}
	i, found := slices.BinarySearch(p.few, n)
	switch {
	case found:
	case len(p.few) < maxList:
		p.few = slices.Insert(p.few, i, n)
	default:
		p.many = roaring.BitmapOf(p.few...)
		p.many.Add(n)
		p.few = nil
	}
}

// remove removes a stream. A bitmap becomes a list once it has maxList/2
// numbers.
func (p *posting) remove(n uint32) {
	if p.many != nil {
		p.many.Remove(n)
		if p.many.GetCardinality() <= maxList/2 {
			p.few, p.many = p.many.ToArray(), nil
		}
		return
	}
	if i, found := slices.BinarySearch(p.few, n); found {
		p.few = slices.Delete(p.few, i, i+1)
	}
}

func (p *posting) len() int {
	if p.many != nil {
		return int(p.many.GetCardinality())
	}
	return len(p.few)
}

func (p *posting) intersects(set *roaring.Bitmap) bool {
	if p.many != nil {
		return p.many.Intersects(set)
	}
	return slices.ContainsFunc(p.few, set.Contains)
}

// union returns the streams of all postings, in a new bitmap.
func union(postings []*posting) *roaring.Bitmap {
	var few []uint32
	var many []*roaring.Bitmap
	for _, p := range postings {
		if p.many != nil {
			many = append(many, p.many)
		} else {
			few = append(few, p.few...)
		}
	}
	// In order, each number goes into the container of the one before.
	slices.Sort(few)
	b := roaring.BitmapOf(few...)
	switch len(many) {
	case 0:
	case 1:
		b.Or(many[0])
	default:
		b.Or(roaring.FastOr(many...))
	}
	return b
}

// A name holds the postings of one label name.
type name struct {
	values map[string]*posting
	// list has the same postings, and empty ones. Elements below its length never
	// change, so a copy of the slice may be read without the lock; compact replaces
	// it.
	list  []*posting
	empty int // postings of list that are not in values
	// all are the streams with a value of this name.
	all *roaring.Bitmap
}

func newName() *name { return &name{values: map[string]*posting{}, all: roaring.New()} }

// add returns about how many bytes of memory that took.
func (nm *name) add(value string, n uint32) (taken int64) {
	p := nm.values[value]
	if p == nil {
		p = &posting{value: value}
		nm.values[value] = p
		nm.list = append(nm.list, p)
		taken = valueBytes
	}
	p.add(n)
	nm.all.Add(n)
	return taken + postingBytes
}

// remove returns about how many bytes of memory that freed, and whether no value
// is left.
func (nm *name) remove(value string, n uint32) (freed int64, last bool) {
	p := nm.values[value]
	if p == nil {
		return 0, false
	}
	p.remove(n)
	nm.all.Remove(n)
	freed = postingBytes
	if p.len() == 0 {
		freed += valueBytes
		delete(nm.values, value)
		if nm.empty++; nm.empty > len(nm.list)/2 {
			nm.compact()
		}
	}
	return freed, len(nm.values) == 0
}

// compact drops empty postings.
func (nm *name) compact() {
	nm.list, nm.empty = slices.DeleteFunc(slices.Clone(nm.list), func(p *posting) bool { return p.len() == 0 }), 0
}
