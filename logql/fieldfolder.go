package logql

import (
	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A fieldFolder adds lines to the series of a leaf by their fields, a block at a time. The
// pipeline runs once for rows that are alike: their streams have equal values of the labels that
// the query names, and their fields are equal. It takes entries that come with their lines as a
// folder does.
type fieldFolder struct {
	*folder
	stages fieldStages
	values bool // they are summed up; if not, rows are counted
	// number is the field whose values differ from row to row without a difference for
	// anything but the value, -1 if no field is like that.
	number int

	classes    map[logstore.Labels]*streamClass
	byKey      map[string]*streamClass
	classBytes int64 // of the keys and classes in byKey
	charged    int64 // the most that they have been

	alike   alikeRows
	numbers []float64 // by code of the field number
	answers []rowAnswer
	counts  groupCounts
}

// A rowAnswer is what the pipeline makes of rows that are alike.
type rowAnswer struct {
	group *group // nil: they do not pass
	value float64
}

// A streamClass is streams of which rows with equal fields are alike.
type streamClass struct {
	number int
	passes bool
	has    bool // the unwrapped label, so that it is not the field
}

// maxClasses bounds the streams and the classes that a fieldFolder keeps from one batch to the next.
const maxClasses = 1 << 14

func newFieldFolder(l *leaf, p *pipeline.Pipeline, f *pipeline.Fields, charge func(int64) error) *fieldFolder {
	folder := &fieldFolder{
		folder: newFolder(l, p, charge), values: l.expr.Unwrap != nil, number: f.Number(),
		classes: map[logstore.Labels]*streamClass{}, byKey: map[string]*streamClass{},
		counts: groupCounts{function: l.function, numbers: map[*group]int32{}}, alike: alikeRows{grow: l.x.growMemos},
	}
	folder.stages = newFieldStages(f, folder.run)
	return folder
}

// FoldFields takes the entries of a block.
func (f *fieldFolder) FoldFields(b *logstore.FieldBatch) error {
	f.alike.begin(b.Fields, f.number, b.Rows)
	defer f.alike.end()
	f.forgetClasses()
	f.answers = f.answers[:0]
	if f.number >= 0 {
		f.numbers = f.stages.fields.AppendNumbers(f.numbers[:0], &b.Fields[f.number])
	}
	if b.Times == nil {
		if err := f.counts.move(b.First, f.charge); err != nil {
			return err
		}
	}
	for i := range b.Runs {
		run := &b.Runs[i]
		class, err := f.class(run.Labels)
		if err != nil {
			return err
		}
		switch {
		case !class.passes:
			continue
		case f.values:
			err = f.sumRun(b, run, class)
		default:
			err = f.countRun(b, run, class)
		}
		if err != nil {
			return err
		}
	}
	return f.counts.flush(f.charge)
}

// forgetClasses makes room for streams and classes. The numbers of classes begin anew: no batch
// needs those of another one.
func (f *fieldFolder) forgetClasses() {
	if len(f.byKey) >= maxClasses {
		clear(f.byKey)
		clear(f.classes)
		f.classBytes = 0
	}
	if len(f.classes) >= maxClasses {
		clear(f.classes)
	}
}

// chargeClass counts the bytes of a class with the key f.key, unless those of forgotten ones have
// been counted.
func (f *fieldFolder) chargeClass() error {
	f.classBytes += int64(len(f.key)) + groupBytes
	more := f.classBytes - f.charged
	if more <= 0 {
		return nil
	}
	f.charged = f.classBytes
	return f.charge(more)
}

// class returns the class of a stream.
func (f *fieldFolder) class(labels logstore.Labels) (*streamClass, error) {
	if c := f.classes[labels]; c != nil {
		return c, nil
	}
	f.enter(labels)
	f.key = f.run.AppendStreamKey(f.key[:0])
	c := f.byKey[string(f.key)]
	if c == nil {
		c = &streamClass{number: len(f.byKey), passes: f.passes, has: f.run.StreamHas(f.stages.fields)}
		if err := f.chargeClass(); err != nil {
			return nil, err
		}
		f.byKey[string(f.key)] = c
	}
	f.classes[labels] = c
	return c, nil
}

// countRun counts the rows of a stream.
func (f *fieldFolder) countRun(b *logstore.FieldBatch, run *logstore.FieldRun, class *streamClass) error {
	memo := f.alike.of(class.number)
	for row := run.First; row < run.First+run.Rows; row++ {
		code := f.alike.code(row)
		n := memo.get(code)
		if n == 0 {
			passes, err := f.evaluate(b, run.Labels, row)
			if err != nil {
				return err
			}
			n = -1
			if passes {
				n = f.counts.number(f.last)
			}
			memo.put(code, n)
		}
		if n < 0 {
			continue
		}
		if b.Times != nil {
			if t := b.Times[row]; t < f.counts.from || t >= f.counts.to {
				if err := f.counts.move(t, f.charge); err != nil {
					return err
				}
			}
		}
		f.counts.add(n)
	}
	return nil
}

// sumRun adds the values of the rows of a stream.
func (f *fieldFolder) sumRun(b *logstore.FieldBatch, run *logstore.FieldRun, class *streamClass) error {
	number := f.number
	if class.has {
		number = -1
	}
	var memo memo
	if number >= 0 || f.number < 0 {
		memo = f.alike.of(class.number)
	}
	for row := run.First; row < run.First+run.Rows; row++ {
		v, known := 0.0, f.number < 0 && memo.remembers()
		if number >= 0 {
			code := b.Fields[number].Codes[row]
			v = f.numbers[code]
			known = code > 0 && pipeline.IsNumber(v) && memo.remembers()
		}
		if !known {
			if err := f.addRow(b, run, row); err != nil {
				return err
			}
			continue
		}
		code := f.alike.code(row)
		n := memo.get(code)
		if n == 0 {
			a, err := f.answer(b, run.Labels, row)
			if err != nil {
				return err
			}
			f.answers = append(f.answers, a)
			n = int32(len(f.answers))
			memo.put(code, n)
		}
		a := &f.answers[n-1]
		if a.group == nil {
			continue
		}
		if number < 0 {
			v = a.value
		}
		if err := f.addValue(a.group, b, run, row, v); err != nil {
			return err
		}
	}
	return nil
}

// timeOf returns the time of a row, or one in the same windows.
func timeOf(b *logstore.FieldBatch, row int) int64 {
	if b.Times == nil {
		return b.First
	}
	return b.Times[row]
}

// addRow adds a row that no other one need be like.
func (f *fieldFolder) addRow(b *logstore.FieldBatch, run *logstore.FieldRun, row int) error {
	a, err := f.answer(b, run.Labels, row)
	if err != nil || a.group == nil {
		return err
	}
	return f.addValue(a.group, b, run, row, a.value)
}

// addValue adds the value of a row to a group.
func (f *fieldFolder) addValue(g *group, b *logstore.FieldBatch, run *logstore.FieldRun, row int, v float64) error {
	if !f.ordered {
		return g.accumulator.Add(timeOf(b, row), v, f.charge)
	}
	f.at = b.Cursor(run, row)
	return g.accumulator.AddAt(&f.at, v, f.charge)
}

func (f *fieldFolder) answer(b *logstore.FieldBatch, labels logstore.Labels, row int) (rowAnswer, error) {
	passes, err := f.evaluate(b, labels, row)
	if err != nil || !passes {
		return rowAnswer{}, err
	}
	return rowAnswer{f.last, f.run.Value}, nil
}

// evaluate runs the pipeline over the fields of a row, and finds its series if it passes.
func (f *fieldFolder) evaluate(b *logstore.FieldBatch, labels logstore.Labels, row int) (passes bool, err error) {
	f.enter(labels)
	if !f.stages.process(b, row) {
		return false, nil
	}
	return true, f.find()
}

// byFields returns the fields of lines that the stages read, nil if they read more.
func (l *leaf) byFields(p *pipeline.Pipeline) *pipeline.Fields {
	if l.bytes() {
		return nil
	}
	return p.Fields(func(name string) bool { return l.x.streamHas(l.query, name) })
}

// askFields makes q ask for fields in the place of lines.
func (l *leaf) askFields(q *logstore.Query, f *pipeline.Fields) {
	q.Fields = &logstore.Fields{Number: f.Len(), Of: f.Locate, Needs: l.split.Needs}
	if l.expr.Op != syntax.RateCounter && !l.function.Ordered() { // which look at the order in a window
		q.Fields.NoTimes = func(first, last int64) bool {
			_, to, in := l.function.Span(first)
			return in && last < to
		}
	}
	q.Filter = l.split.Must // of each row the fields tell the rest
}

// onlyLabels reports whether the stages and the leaf read nothing of lines.
func onlyLabels(stages []syntax.Stage, f *pipeline.Fields) bool {
	return readsNoLine(stages) || f != nil && f.Unread()
}
