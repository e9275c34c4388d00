package pipeline

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/stele-go/stele/logql/internal/units"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// Fields are what a pipeline reads of a line, where that is what one parser makes labels of:
// lines of a template need not be made, nor parsed, if the values of these fields are known.
// What Locate tells of a template it finds out by the parser itself, which runs over a sample
// line. Many goroutines may use one.
type Fields struct {
	step   int // of Pipeline.steps, the parser
	parser fieldParser
	number int // the field that is only unwrapped, or -1
	unwrap *unwrap
}

// A fieldParser is a parser that knows its fields by template.
type fieldParser interface {
	// fields returns the ids of the labels that are made of the fields.
	fields() []int32
	// locate returns where the fields are.
	locate(t logstore.LineTemplate) (logstore.FieldPlan, bool)
	// set does what the parser does with a line that has values, nil where a field is missing.
	set(r *Run, values [][]byte)
}

// Fields returns the fields that the pipeline reads, nil if it reads more of lines, or all
// fields that there are. streamHas reports whether a stream of the lines may have a label.
func (p *Pipeline) Fields(streamHas func(name string) bool) *Fields {
	f := &Fields{step: -1, number: -1, unwrap: p.unwrap}
	for i, s := range p.steps {
		switch s.(type) {
		case *labelFilter, *choice:
			continue
		}
		if f.step >= 0 {
			return nil
		}
		f.step = i
	}
	if f.step < 0 {
		return nil
	}
	if f.parser = p.fieldParser(p.steps[f.step], streamHas); f.parser == nil {
		return nil
	}
	f.number = p.numberField(f.parser.fields())
	return f
}

// numberField returns which of the fields is the unwrapped label and nothing else, or -1. If the
// parser sets the label twice, or may set it in place of one that the stream has, more than one
// field may be the value.
func (p *Pipeline) numberField(ids []int32) int {
	if p.unwrap == nil {
		return -1
	}
	name := p.names[p.unwrap.id]
	i := slices.Index(ids, p.unwrap.id)
	if i < 0 || slices.Contains(ids[i+1:], p.unwrap.id) || p.needs[name] != 1 || strings.HasSuffix(name, extractedSuffix) {
		return -1
	}
	return i
}

func (p *Pipeline) fieldParser(s step, streamHas func(string) bool) fieldParser {
	switch s := s.(type) {
	case *jsonAll:
		return p.allFields(&syntax.JSON{}, streamHas)
	case *logfmtStep:
		return p.allFields(&syntax.Logfmt{Strict: s.strict, KeepEmpty: s.keepEmpty}, streamHas)
	case *jsonPaths:
		return p.pathFields(s)
	case *logfmtFields:
		return p.keyFields(s)
	case *patternStep:
		return p.captureFields(s)
	}
	return nil
}

// readsParsed reports whether anybody reads a label that a parser makes.
func (p *Pipeline) readsParsed(l extractedLabel) bool {
	return l.id >= 0 && p.wants(p.names[l.id])
}

// Len returns the number of fields.
func (f *Fields) Len() int { return len(f.parser.fields()) }

// Unread reports whether the parser does not begin with a line, since no stage reads what it finds.
func (f *Fields) Unread() bool {
	all, ok := f.parser.(*allFields)
	return ok && len(all.ids) == 0
}

// Locate returns where the fields are in the lines of a template, ok false if that depends on
// more than the template.
func (f *Fields) Locate(t logstore.LineTemplate) (plan logstore.FieldPlan, ok bool) {
	return f.parser.locate(t)
}

// Number returns the field that is unwrapped and of which nothing else is asked, or -1. Lines
// that differ only in that value, which must be one that AppendNumbers knows, have equal results
// but for Run.Value. That does not hold for lines of streams with its label.
func (f *Fields) Number() int { return f.number }

// AppendNumbers appends, for each code of the field Number, what Run.Value is of lines with it:
// IsNumber is false for values that are no numbers, and for code 0.
func (f *Fields) AppendNumbers(dst []float64, c *logstore.FieldColumn) []float64 {
	if f.unwrap.kind == numbers {
		return c.AppendNumbers(dst, func(text []byte) float64 { return f.unwrap.number(text) })
	}
	var buf []byte
	dst = append(dst, noNumber)
	for code := 1; code < c.Len(); code++ {
		buf = c.AppendValue(buf[:0], uint32(code))
		dst = append(dst, f.unwrap.number(buf))
	}
	return dst
}

// noNumber stands for values that are no numbers. It differs from the NaN of package strconv.
var noNumber = math.Float64frombits(0x7ff8_5eed_0000_0001)

// IsNumber reports whether v is the number of a value.
func IsNumber(v float64) bool {
	return v == v || math.Float64bits(v) != math.Float64bits(noNumber)
}

// number returns the number that a text is, or noNumber.
func (u *unwrap) number(text []byte) float64 {
	if len(text) > 0 {
		if v, ok := u.parse(text); ok {
			return v
		}
	}
	return noNumber
}

// parse returns the number of a text that is not empty.
func (u *unwrap) parse(text []byte) (v float64, ok bool) {
	switch u.kind {
	case durations:
		d, ok := units.Duration(text)
		return d.Seconds(), ok
	case sizes:
		n, ok := units.Bytes(text)
		return float64(n), ok
	}
	return units.Number(text)
}

// ProcessFields is Process of a line without metadata, of which the values of the fields are
// known: nil is one that the line lacks. Run.Line is nil.
func (r *Run) ProcessFields(f *Fields, values [][]byte) bool {
	r.prepare(0, nil, logstore.Labels{})
	for i, s := range r.p.steps {
		switch {
		case i == f.step:
			f.parser.set(r, values)
		case !r.decided[i] && !s.run(r):
			return false
		}
	}
	return r.p.unwrap == nil || r.p.unwrap.run(r)
}

// AppendStreamKey appends to buf bytes that are equal for streams whose lines have equal
// results: of the labels of the last one, those that the query names.
func (r *Run) AppendStreamKey(buf []byte) []byte {
	for _, l := range r.set.base {
		switch named := int(l.id) < len(r.p.names); {
		case named:
			buf = binary.LittleEndian.AppendUint32(buf, uint32(l.id))
		case r.p.all: // its id may stand for another name later
			buf = appendSized(binary.LittleEndian.AppendUint32(buf, math.MaxUint32), r.set.names[l.id].text)
		default:
			continue
		}
		buf = appendSized(buf, l.value)
	}
	return buf
}

func appendSized[T string | []byte](buf []byte, text T) []byte {
	return append(binary.LittleEndian.AppendUint32(buf, uint32(len(text))), text...)
}

// StreamHas reports whether the last stream has the label that is unwrapped.
func (r *Run) StreamHas(f *Fields) bool {
	return f.unwrap != nil && r.set.names[f.unwrap.id].base > 0
}

// allFields are those of a parser that makes labels of all that it finds.
type allFields struct {
	ids   []int32
	names []string
	probe *Pipeline // the parser alone, by which names are needed
	// rules returns what variables before slot upTo must be, for lines to be like the sample.
	// Of the values with a name that must reports none may be empty.
	rules func(s *sample, upTo int, must func(name []byte) bool) ([]*logstore.SlotRule, bool)
	empty bool // an empty value is one
	// early tells that the parser reads no further than to the last field.
	early bool
}

func (p *Pipeline) allFields(stage syntax.Stage, streamHas func(string) bool) fieldParser {
	if p.all {
		return nil
	}
	f := &allFields{rules: jsonRules, empty: true, early: true}
	for name := range p.needs {
		if strings.HasSuffix(name, extractedSuffix) {
			return nil // of which of two names it is made the order in the line may tell
		}
		f.names = append(f.names, name)
	}
	slices.Sort(f.names)
	for _, name := range f.names {
		f.ids = append(f.ids, p.ids[name])
		f.early = f.early && !streamHas(name)
	}
	if l, ok := stage.(*syntax.Logfmt); ok {
		f.rules, f.empty = logfmtRules{keepEmpty: l.KeepEmpty}.of, l.KeepEmpty
	}
	probe, err := Compile([]syntax.Stage{stage}, Options{Need: f.names})
	if err != nil {
		return nil
	}
	f.probe = probe
	return f
}

func (f *allFields) fields() []int32 { return f.ids }

func (f *allFields) locate(t logstore.LineTemplate) (plan logstore.FieldPlan, ok bool) {
	s := newSample(t)
	if s == nil {
		return plan, false
	}
	run := f.probe.NewRun()
	run.Stream(logstore.Labels{})
	if plan.Fields, ok = f.read(run, s, s.line); !ok {
		return plan, false
	}
	upTo := s.slots()
	if f.early && len(f.ids) > 0 {
		upTo = f.end(run, s, plan.Fields)
	}
	must := func(name []byte) bool {
		return upTo < s.slots() && slices.ContainsFunc(f.names, func(n string) bool { return n == string(name) })
	}
	plan.Rules, ok = f.rules(s, upTo, must)
	return plan, ok
}

// read returns the fields of a line of the sample.
func (f *allFields) read(run *Run, s *sample, line []byte) ([]logstore.Field, bool) {
	if !run.Process(0, line, logstore.Labels{}) || run.failed() {
		return nil, false
	}
	fields := make([]logstore.Field, len(f.names))
	for i, name := range f.names {
		value, found := run.Get(name)
		pieces, ok := s.pieces(value)
		if !ok {
			return nil, false
		}
		fields[i] = logstore.Field{Absent: !found, Pieces: pieces}
	}
	return fields, true
}

// end returns the first of the slots before which the parser has found all fields: what is
// there it does not read.
func (f *allFields) end(run *Run, s *sample, fields []logstore.Field) int {
	low, high := 0, s.slots()
	for low < high {
		middle := (low + high) / 2
		some, ok := f.read(run, s, s.line[:s.starts[middle]])
		if ok && slices.EqualFunc(some, fields, func(a, b logstore.Field) bool { return !a.Absent && sameField(a, b) }) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

func sameField(a, b logstore.Field) bool {
	return a.Absent == b.Absent && slices.EqualFunc(a.Pieces, b.Pieces, func(a, b logstore.Piece) bool {
		return a.Slot == b.Slot && (a.Text == nil) == (b.Text == nil) && string(a.Text) == string(b.Text)
	})
}

func (f *allFields) set(r *Run, values [][]byte) {
	if r.set.missing == 0 {
		return
	}
	for i, id := range f.ids {
		v := values[i]
		if v == nil || len(v) == 0 && !f.empty {
			continue
		}
		id = r.set.target(id)
		if r.set.open(id) && !r.set.found(id, r.clean(v, true)) {
			return
		}
	}
}
