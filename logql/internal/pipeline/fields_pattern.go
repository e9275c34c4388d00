package pipeline

import (
	"bytes"

	"github.com/stele-go/stele/logql/internal/pattern"
	"github.com/stele-go/stele/logstore"
)

// captureFields are those of | pattern.
type captureFields struct {
	pattern *pattern.Pattern
	labels  []extractedLabel // that somebody reads
	in      []int            // the capture of each
	ids     []int32
	// without and full are, for each text of the pattern, the rules of variables before it:
	// they have no byte of it, and of full are not empty.
	without, full []*logstore.SlotRule
}

func (p *Pipeline) captureFields(s *patternStep) fieldParser {
	f := &captureFields{pattern: s.pattern}
	for i, l := range s.labels {
		if p.readsParsed(l) {
			f.labels, f.in, f.ids = append(f.labels, l), append(f.in, i), append(f.ids, l.id)
		}
	}
	for i := range len(s.labels) + 1 {
		set := bytesOf(s.pattern.Before(i))
		f.without = append(f.without, &logstore.SlotRule{Forbidden: set})
		f.full = append(f.full, &logstore.SlotRule{Forbidden: set, Check: notEmpty})
	}
	return f
}

func (f *captureFields) fields() []int32 { return f.ids }

// locate reads a sample whose variables are each a byte that neither the pattern nor the
// template has. A text of the pattern is then found in the texts of the template alone, and at
// the same place in lines whose variables have no byte of it.
func (f *captureFields) locate(t logstore.LineTemplate) (plan logstore.FieldPlan, ok bool) {
	sample, variable, ok := f.sample(t)
	if !ok {
		return plan, false
	}
	plan.Rules = make([]*logstore.SlotRule, t.Slots())
	captures := f.pattern.Captures(sample, nil)
	if len(captures) == 0 { // the line does not begin as the pattern does
		for slot := range plan.Rules {
			plan.Rules[slot] = f.full[0]
		}
	}
	values := make([]logstore.Field, len(f.pattern.Names()))
	for i := range values {
		values[i].Absent = i >= len(captures)
	}
	slot := 0
	for i, capture := range captures {
		rule := f.without[i+1]
		switch {
		case f.pattern.Before(i+1) == "":
			rule = nil
		case len(capture) > 1:
			rule = f.full[i+1] // without it what is around would be one text
		}
		for len(capture) > 0 {
			at := bytes.IndexByte(capture, variable)
			if at < 0 {
				at = len(capture)
			}
			if at > 0 {
				values[i].Pieces = append(values[i].Pieces, logstore.Piece{Text: bytes.Clone(capture[:at])})
			}
			if capture = capture[at:]; len(capture) > 0 {
				values[i].Pieces = append(values[i].Pieces, logstore.Piece{Slot: slot})
				plan.Rules[slot] = rule
				capture = capture[1:]
				slot++
			}
		}
	}
	for _, i := range f.in {
		plan.Fields = append(plan.Fields, values[i])
	}
	return plan, true
}

// sample returns a line of the template with one byte for each variable.
func (f *captureFields) sample(t logstore.LineTemplate) (line []byte, variable byte, ok bool) {
	used := bytesOf(f.pattern.Literals()...)
	texts := 0
	for i := range t.Slots() + 1 {
		texts += len(t.Literal(i))
		for _, c := range t.Literal(i) {
			used.Add(c, c)
		}
	}
	for used.Has(variable) {
		if variable++; variable == 0 {
			return nil, 0, false
		}
	}
	for i := range t.Slots() + 1 {
		if i > 0 {
			line = append(line, variable)
		}
		line = append(line, t.Literal(i)...)
	}
	return line, variable, texts > 0
}

func (f *captureFields) set(r *Run, values [][]byte) {
	for i, l := range f.labels {
		if values[i] != nil {
			l.setFirst(r, values[i])
		}
	}
}
