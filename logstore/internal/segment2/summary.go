package segment2

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/stele-go/stele/logstore/internal/filter"
)

// Kinds of the values of a name in the label summary.
const (
	summaryAny  = iota // it may have any
	summaryList        // all are listed
	summarySet         // a set has the key of each
)

// A summary says which labels the streams of a segment may have.
type summary struct {
	names    []summaryName // in order
	complete bool          // no stream has another name
}

type summaryName struct {
	name   string
	kind   byte
	values []string // of summaryList, in order
	set    []byte   // of summarySet
}

// bytes returns how many bytes a name takes.
func (n *summaryName) bytes() int { return len(n.append(nil)) }

func (n *summaryName) append(dst []byte) []byte {
	dst = appendSized(dst, n.name)
	dst = append(dst, n.kind)
	switch n.kind {
	case summaryList:
		dst = binary.AppendUvarint(dst, uint64(len(n.values)))
		for _, v := range n.values {
			dst = appendSized(dst, v)
		}
	case summarySet:
		dst = appendSized(dst, string(n.set))
	}
	return dst
}

func appendSized(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func (s *summary) append(dst []byte) []byte {
	flags := byte(0)
	if s.complete {
		flags = flagComplete
	}
	dst = append(dst, flags)
	for i := range s.names {
		dst = s.names[i].append(dst)
	}
	return dst
}

// parseSummary decodes the label summary.
func parseSummary(p []byte) (*summary, error) {
	if len(p) > maxSummary {
		return nil, errForm
	}
	c := decoder{p: p}
	flags := c.byte()
	s := &summary{complete: flags == flagComplete}
	for c.left() > 0 {
		n := summaryName{name: string(c.sized()), kind: c.byte()}
		switch n.kind {
		case summaryAny:
		case summaryList:
			for range c.atMost(summaryValues) {
				n.values = append(n.values, string(c.sized()))
			}
		case summarySet:
			n.set = slices.Clone(c.sized())
		default:
			return nil, errForm
		}
		if last := len(s.names) - 1; c.bad || last >= 0 && s.names[last].name >= n.name ||
			!filter.IsSet(n.set) || !slices.IsSorted(n.values) {
			return nil, errForm
		}
		s.names = append(s.names, n)
	}
	if flags&^flagComplete != 0 {
		return nil, errForm
	}
	return s, c.end()
}

// find returns what the summary has of a name. Without an entry, no stream has
// the name if the summary is complete, else it may have any value.
func (s *summary) find(name string) (n *summaryName, ok bool) {
	i, ok := slices.BinarySearchFunc(s.names, name, func(n summaryName, name string) int { return strings.Compare(n.name, name) })
	if !ok {
		return nil, false
	}
	return &s.names[i], true
}

// may reports whether a stream may have a label.
func (s *summary) may(name, value string) bool {
	n, ok := s.find(name)
	if !ok {
		return !s.complete
	}
	switch n.kind {
	case summaryList:
		_, ok := slices.BinarySearch(n.values, value)
		return ok
	case summarySet:
		return filter.InSet(n.set, filter.KeyOf(value))
	}
	return true
}

// newSummary makes the label summary of at most maxSummary bytes: as many names
// as fit, then the values of those that need the fewest bytes.
func newSummary(p *postings) *summary {
	var list []*summaryName
	for _, n := range p.names {
		list = append(list, &summaryName{name: n.name, kind: summaryAny})
	}
	byBytes := func(a, b *summaryName) int {
		return cmp.Or(cmp.Compare(a.bytes(), b.bytes()), strings.Compare(a.name, b.name))
	}
	slices.SortFunc(list, byBytes)
	left, fit := maxSummary-1, 0
	for ; fit < len(list) && list[fit].bytes() <= left; fit++ {
		left -= list[fit].bytes()
	}
	s := &summary{complete: fit == len(list) && !p.missing}
	list = list[:fit]

	var better []*summaryName // with their values
	for _, n := range list {
		if n := n.withValues(p.names[n.name], left); n != nil {
			better = append(better, n)
		}
	}
	slices.SortFunc(better, byBytes)
	for _, n := range better {
		at := slices.IndexFunc(list, func(o *summaryName) bool { return o.name == n.name })
		if more := n.bytes() - list[at].bytes(); more <= left {
			list[at] = n
			left -= more
		}
	}
	for _, n := range list {
		s.names = append(s.names, *n)
	}
	slices.SortFunc(s.names, func(a, b summaryName) int { return strings.Compare(a.name, b.name) })
	return s
}

// withValues returns the name with its values: all of them if there are at most
// summaryValues and they fit, else as a set. It returns nil if they take more
// than left bytes, or are not known.
func (n *summaryName) withValues(p *postingName, left int) *summaryName {
	if p.dropped {
		return nil
	}
	if len(p.values) <= summaryValues {
		list := &summaryName{name: n.name, kind: summaryList, values: slices.Sorted(maps.Keys(p.values))}
		if list.bytes()-n.bytes() <= left {
			return list
		}
	}
	if len(p.values) > left {
		return nil
	}
	var b filter.SetBuilder
	for v := range p.values {
		b.Add(filter.KeyOf(v))
	}
	set := &summaryName{name: n.name, kind: summarySet, set: b.Append(nil)}
	if set.bytes()-n.bytes() <= left {
		return set
	}
	return nil
}
