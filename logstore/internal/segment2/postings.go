package segment2

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// postings collects the ordinals of each label while a segment is written. A
// name is given up when it has more than maxPostingValues values, or one of more
// than maxPostingText bytes; the largest names are when all take more than
// postingsMemory. A longer name has none, and neither has one that comes after
// names were given up for their memory.
type postings struct {
	names map[string]*postingName
	// memory is about the bytes of all of it. Once it was above the limit, closed
	// is set, and no name is added any more: one that had been given up must not
	// come back with some of its ordinals.
	memory, limit int
	closed        bool
	missing       bool // some names are not in names
	// recent has the label at each place among the labels of the last stream:
	// neighbours have most labels in common.
	recent []recentLabel
}

type postingName struct {
	name    string
	values  map[string]*postingValue
	memory  int
	dropped bool
}

// A postingValue has the ordinals of a label: encoded runs, and the last one.
type postingValue struct {
	value      string
	runs       []byte
	behind     uint32 // the ordinal behind the last run in runs
	first, end uint32 // the last run, [first, end)
}

type recentLabel struct {
	name  *postingName
	value *postingValue
}

// Bytes of memory that a name and a value take beside their text.
const (
	nameMemory  = 200
	valueMemory = 160
)

func newPostings() *postings {
	return &postings{names: map[string]*postingName{}, limit: postingsMemory}
}

// add adds the stream with this ordinal, which is above all before, to its i-th
// label.
func (p *postings) add(i int, name, value string, ordinal uint32) {
	if i == len(p.recent) {
		p.recent = append(p.recent, recentLabel{})
	}
	r := &p.recent[i]
	if r.name == nil || r.name.name != name {
		r.name, r.value = p.name(name), nil
	}
	if r.name == nil || r.name.dropped {
		r.value = nil
		return
	}
	if r.value == nil || r.value.value != value {
		r.value = p.value(r.name, value)
	}
	if v := r.value; v != nil {
		had := cap(v.runs)
		v.add(ordinal)
		p.charge(r.name, cap(v.runs)-had)
	}
}

// name returns the entry of a name, or nil if it has none.
func (p *postings) name(name string) *postingName {
	n := p.names[name]
	if n == nil && (p.closed || len(name) > maxPostingText) {
		p.missing = true
		return nil
	}
	if n == nil {
		n = &postingName{name: strings.Clone(name), values: map[string]*postingValue{}}
		p.names[n.name] = n
		p.charge(n, nameMemory+len(name))
	}
	return n
}

// value returns the entry of a value, or nil if that drops the name.
func (p *postings) value(n *postingName, value string) *postingValue {
	v := n.values[value]
	if v == nil {
		if len(n.values) == maxPostingValues || len(value) > maxPostingText {
			p.drop(n)
			return nil
		}
		v = &postingValue{value: strings.Clone(value)}
		n.values[v.value] = v
		p.charge(n, valueMemory+len(value))
		if n.dropped {
			return nil
		}
	}
	return v
}

// drop gives a name up. Its entry stays.
func (p *postings) drop(n *postingName) {
	keep := nameMemory + len(n.name)
	p.memory -= n.memory - keep
	n.values, n.memory, n.dropped = nil, keep, true
}

// charge counts memory, and drops the largest names above the limit: so many
// that the next time comes only after a good many more additions.
func (p *postings) charge(n *postingName, bytes int) {
	n.memory += bytes
	if p.memory += bytes; p.memory <= p.limit {
		return
	}
	p.closed = true
	list := slices.SortedFunc(maps.Values(p.names), func(a, b *postingName) int {
		return cmp.Or(cmp.Compare(b.memory, a.memory), cmp.Compare(a.name, b.name))
	})
	for _, n := range list {
		if p.memory <= p.limit*7/8 {
			break
		}
		if !n.dropped {
			p.drop(n)
		}
	}
}

// add adds an ordinal above all before.
func (v *postingValue) add(ordinal uint32) {
	if v.end == ordinal && v.end > v.first {
		v.end++
		return
	}
	v.runs = v.all(v.runs)
	v.behind = v.end
	v.first, v.end = ordinal, ordinal+1
}

// all appends the last run to dst.
func (v *postingValue) all(dst []byte) []byte {
	if v.end == v.first {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(v.first-v.behind))
	return binary.AppendUvarint(dst, uint64(v.end-v.first-1))
}

// kept returns the names that have postings, in order, and whether these are all
// names.
func (p *postings) kept() (names []*postingName, complete bool) {
	complete = !p.missing
	for _, n := range p.names {
		if n.dropped {
			complete = false
		} else {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b *postingName) int { return strings.Compare(a.name, b.name) })
	return names, complete
}

// sorted returns the values of a name in order.
func (n *postingName) sorted() []*postingValue {
	return slices.SortedFunc(maps.Values(n.values), func(a, b *postingValue) int { return strings.Compare(a.value, b.value) })
}

// flagComplete: the postings, or the label summary, have every name of the
// segment.
const flagComplete = 1

// parts encodes the section: put is called with each part that has postings,
// which it must not keep. The directory is for the part before them.
func (p *postings) parts(put func(part []byte)) (directory []byte, names int) {
	kept, complete := p.kept()
	directory = []byte{0}
	if complete {
		directory[0] = flagComplete
	}
	var e postingsEncoder
	for _, n := range kept {
		for _, v := range n.sorted() {
			if len(e.part) == 0 {
				for _, s := range []string{n.name, v.value} {
					directory = append(binary.AppendUvarint(directory, uint64(len(s))), s...)
				}
			}
			e.add(n.name, v.value, v.all(v.runs))
			if len(e.part) >= postingsPart {
				put(e.part)
				e.reset()
			}
		}
	}
	if len(e.part) > 0 {
		put(e.part)
	}
	return directory, len(kept)
}

// A postingsEncoder encodes a part of the postings.
type postingsEncoder struct {
	part          []byte
	names, values prefixWriter
}

func (e *postingsEncoder) add(name, value string, runs []byte) {
	e.names.restarts, e.values.restarts = true, true
	e.part = e.names.append(e.part, []byte(name))
	e.part = e.values.append(e.part, []byte(value))
	e.part = append(binary.AppendUvarint(e.part, uint64(len(runs))), runs...)
}

func (e *postingsEncoder) reset() {
	e.part = e.part[:0]
	e.names.reset()
	e.values.reset()
}

// A posting is a label with its ordinals.
type posting struct {
	name, value string
	runs        []byte // see eachRun
}

func (p posting) compare(name, value string) int {
	return cmp.Or(strings.Compare(p.name, name), strings.Compare(p.value, value))
}

// parsePostings decodes a part of the postings, which are in order. Their runs
// are parts of p.
func parsePostings(p []byte) ([]posting, error) {
	c := decoder{p: p}
	names, values := prefixReader{restarts: true}, prefixReader{restarts: true}
	var list []posting
	for c.left() > 0 {
		next := posting{}
		if name := names.next(&c, MaxLabels); len(list) > 0 && list[len(list)-1].name == string(name) {
			next.name = list[len(list)-1].name
		} else {
			next.name = string(name)
		}
		next.value = string(values.next(&c, MaxLabels))
		next.runs = c.sized()
		if n := len(list); c.bad || len(next.runs) == 0 || n > 0 && list[n-1].compare(next.name, next.value) >= 0 {
			return nil, errForm
		}
		list = append(list, next)
	}
	return list, c.end()
}

// parsePostingsDirectory decodes the directory of the postings: the first label
// of each part, in order, and whether every name of the segment has postings.
func parsePostingsDirectory(p []byte) (first []posting, complete bool, err error) {
	c := decoder{p: p}
	flags := c.byte()
	for c.left() > 0 {
		next := posting{name: string(c.sized()), value: string(c.sized())}
		if n := len(first); n > 0 && first[n-1].compare(next.name, next.value) >= 0 {
			return nil, false, errForm
		}
		first = append(first, next)
	}
	if flags&^flagComplete != 0 {
		return nil, false, errForm
	}
	return first, flags == flagComplete, c.end()
}

// eachRun calls f with the runs of ordinals of a posting, which are below streams,
// from first to before next, in order, until it returns false.
func eachRun(runs []byte, streams int, f func(first, next uint32) bool) error {
	c := decoder{p: runs}
	next := uint64(0)
	for c.left() > 0 {
		first := next + c.atMost(math.MaxUint32)
		next = first + 1 + c.atMost(math.MaxUint32)
		if c.bad || next > uint64(streams) {
			return errForm
		}
		if !f(uint32(first), uint32(next)) {
			return nil
		}
	}
	return c.end()
}

// addRuns adds the ordinals of a posting, which are below streams, to a bitmap.
func addRuns(to *roaring.Bitmap, runs []byte, streams int) error {
	return eachRun(runs, streams, func(first, next uint32) bool {
		to.AddRange(uint64(first), uint64(next))
		return true
	})
}
