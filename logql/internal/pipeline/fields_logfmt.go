package pipeline

import (
	"bytes"
	"slices"
	"strings"

	"github.com/stele-go/stele/logql/internal/logfmt"
	"github.com/stele-go/stele/logstore"
)

// The rules of variables in logfmt.
var (
	inPlain  = &logstore.SlotRule{Forbidden: bytesUpTo(' ', `="`)}
	inQuotes = &logstore.SlotRule{Forbidden: bytesUpTo(' '-1, `"\`)}
	// The same of values that must not be empty.
	allPlain  = &logstore.SlotRule{Forbidden: inPlain.Forbidden, Check: notEmpty}
	allQuotes = &logstore.SlotRule{Forbidden: inQuotes.Forbidden, Check: notEmpty}
)

// bytesUpTo returns the set of the bytes up to last and those of text.
func bytesUpTo(last byte, text string) logstore.ByteSet {
	set := bytesOf(text)
	set.Add(0, last)
	return set
}

// logfmtRules are the rules of variables in logfmt.
type logfmtRules struct {
	keepEmpty bool // a key without a value counts
}

// A logfmtPair is a pair of a sample.
type logfmtPair struct {
	logfmt.Pair
	sample           *sample
	keyAt, valueAt   int
	keySlot, keyEnd  int // slots of the key
	slot, end        int // slots of the value
	quoted, onlySlot bool
}

// pairs returns the pairs of a sample, ok false if a part of it is no pair.
func (s *sample) pairs() (list []logfmtPair, ok bool) {
	var scan logfmt.Scanner
	scan.Init(s.line)
	for {
		p := logfmtPair{sample: s}
		if !scan.Next(&p.Pair) {
			return list, scan.Err() == nil
		}
		// Keys and values are parts of the line up to its capacity.
		p.keyAt = len(s.line) - cap(p.Key)
		p.keySlot, p.keyEnd = s.within(p.keyAt, p.keyAt+len(p.Key))
		if p.Value != nil {
			p.valueAt = len(s.line) - cap(p.Value)
			p.slot, p.end = s.within(p.valueAt, p.valueAt+len(p.Value))
			p.quoted = p.valueAt > 0 && s.line[p.valueAt-1] == '"'
			p.onlySlot = p.end > p.slot && len(p.Value) == (p.end-p.slot)*markLen
		}
		list = append(list, p)
	}
}

// of returns the rules of slots before upTo.
func (l logfmtRules) of(s *sample, upTo int, must func(name []byte) bool) ([]*logstore.SlotRule, bool) {
	pairs, ok := s.pairs()
	if !ok {
		return nil, false
	}
	rules := make([]*logstore.SlotRule, s.slots())
	for i := range pairs {
		p := &pairs[i]
		if p.keySlot < min(p.keyEnd, upTo) && (p.Value != nil || l.keepEmpty) {
			return nil, false
		}
		if p.Escaped && p.slot < min(p.end, upTo) && s.cuts(p.valueAt, p.valueAt+len(p.Value)) {
			return nil, false
		}
		for slot := p.keySlot; slot < min(p.keyEnd, upTo); slot++ {
			rules[slot] = inPlain
		}
		for slot := p.slot; slot < min(p.end, upTo); slot++ {
			if rules[slot] = inPlain; p.quoted {
				rules[slot] = inQuotes
			}
		}
	}
	if !l.keepEmpty {
		l.noEmpty(pairs, rules, upTo, must)
	}
	return rules, true
}

// noEmpty forbids empty values of keys that the line has again: the first one that is not empty
// counts.
func (logfmtRules) noEmpty(pairs []logfmtPair, rules []*logstore.SlotRule, upTo int, must func(name []byte) bool) {
	name := func(p *logfmtPair) []byte { return appendName(nil, p.Key, true) }
	for i := range pairs {
		p := &pairs[i]
		if !p.onlySlot || p.slot >= upTo {
			continue
		}
		n := name(p)
		if must(n) || slices.ContainsFunc(pairs[i+1:], func(o logfmtPair) bool { return bytes.Equal(name(&o), n) }) {
			if rules[p.slot] = allPlain; p.quoted {
				rules[p.slot] = allQuotes
			}
		}
	}
}

// keyFields are those of | logfmt with extractions.
type keyFields struct {
	of  *logfmtFields
	ids []int32
	in  []int // the labels of logfmtFields that somebody reads
}

func (p *Pipeline) keyFields(s *logfmtFields) fieldParser {
	f := &keyFields{of: s}
	for i, l := range s.labels {
		name := string(s.names[i])
		twice := slices.ContainsFunc(s.labels[:i], func(o extractedLabel) bool { return o.id == l.id })
		if twice || strings.HasSuffix(name, extractedSuffix) {
			return nil // the order in the line may tell which one counts
		}
		if p.readsParsed(l) {
			f.ids, f.in = append(f.ids, l.id), append(f.in, i)
		}
	}
	return f
}

func (f *keyFields) fields() []int32 { return f.ids }

func (f *keyFields) locate(t logstore.LineTemplate) (plan logstore.FieldPlan, ok bool) {
	s := newSample(t)
	if s == nil {
		return plan, false
	}
	if plan.Rules, ok = (logfmtRules{keepEmpty: true}).of(s, s.slots(), nil); !ok {
		return plan, false
	}
	pairs, _ := s.pairs()
	for _, label := range f.in {
		field := logstore.Field{Absent: true}
		for i := range pairs {
			p := &pairs[i]
			if !f.of.takes(p.Key, label) {
				continue
			}
			value := p.Value
			if p.Escaped {
				value = logfmt.AppendUnescaped(nil, p.Value)
			}
			if field.Pieces, ok = s.pieces(value); !ok {
				return plan, false
			}
			field.Absent = false
		}
		plan.Fields = append(plan.Fields, field)
	}
	return plan, true
}

// takes reports whether extract makes a label of a pair with a key.
func (s *logfmtFields) takes(key []byte, label int) bool {
	if slices.ContainsFunc(s.keys, func(k []byte) bool { return sameKey(key, k) }) {
		return sameKey(key, s.keys[label])
	}
	return sameKey(key, s.names[label])
}

func (f *keyFields) set(r *Run, values [][]byte) {
	for _, i := range f.in {
		if l := f.of.labels[i]; l.target(r) == l.id {
			r.set.parse(l.id, nil)
		}
	}
	for n, i := range f.in {
		if v := values[n]; v != nil {
			if bytes.Contains(v, replacement) {
				v = nil
			}
			r.set.parse(f.of.labels[i].target(r), v)
		}
	}
}
