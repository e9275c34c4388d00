package logql

import (
	"strings"

	"github.com/stele-go/stele/logql/internal/matrix"
	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A folder adds lines to the series of a leaf. Each goroutine of the store that reads
// lines has one.
type folder struct {
	leaf   *leaf
	run    *pipeline.Run
	charge func(bytes int64) error // of the query and of the store
	groups map[string]*group
	key    []byte

	static bool // the labels of a line are those of its stream
	plain  bool // no stage: lines of a stream without metadata are of one series
	bytes  bool // the value is the length of the line
	unwrap bool

	began  bool
	stream logstore.Labels
	passes bool
	bare   bool   // the last line had no metadata
	last   *group // of the last line, nil at the begin of a stream

	ordered bool            // the order of lines of equal time counts
	at      logstore.Cursor // of the last line, if ordered
}

func newFolder(l *leaf, p *pipeline.Pipeline, charge func(int64) error) *folder {
	return &folder{
		leaf: l, run: p.NewRun(), charge: func(bytes int64) error {
			if err := l.x.charge(bytes); err != nil {
				return err
			}
			return charge(bytes)
		},
		groups: map[string]*group{},
		static: p.Static(), plain: len(l.split.Rest) == 0 && l.expr.Unwrap == nil, bytes: l.bytes(), unwrap: l.expr.Unwrap != nil,
		ordered: l.function.Ordered(),
	}
}

// Fold takes an entry.
func (f *folder) Fold(r logstore.Result) error {
	if f.enter(r.Labels); !f.passes {
		return nil
	}
	bare := r.Metadata == logstore.Labels{}
	if f.plain && f.last != nil && bare && f.bare {
		return f.add(&r, len(r.Line))
	}
	if !f.run.Process(r.Time, r.Line, r.Metadata) {
		return nil
	}
	f.bare = bare
	if f.last == nil || !f.static {
		if err := f.find(); err != nil {
			return err
		}
	}
	return f.add(&r, len(f.run.Line))
}

// enter begins a stream, unless it is that of the last line.
func (f *folder) enter(labels logstore.Labels) {
	if labels != f.stream || !f.began {
		f.began, f.stream, f.last = true, labels, nil
		f.passes = f.run.Stream(labels)
	}
}

func (f *folder) add(r *logstore.Result, length int) error {
	value := 0.0
	switch {
	case f.unwrap:
		value = f.run.Value
	case f.bytes:
		value = float64(length)
	}
	if !f.ordered {
		return f.last.accumulator.Add(r.Time, value, f.charge)
	}
	if f.at = r.Cursor(); f.at == (logstore.Cursor{}) { // the store has none
		f.at = logstore.Cursor{Time: r.Time, Labels: r.Labels}
	}
	return f.last.accumulator.AddAt(&f.at, value, f.charge)
}

// find looks for the series of the last line.
func (f *folder) find() error {
	if text, failed := f.run.Get("__error__"); failed && len(text) > 0 && !f.leaf.keepsErrors {
		return f.failed(string(text))
	}
	f.key = f.run.AppendKey(f.key[:0], f.leaf.grouping)
	if f.last != nil && string(f.key) == f.last.key {
		return nil
	}
	if g := f.groups[string(f.key)]; g != nil {
		f.last = g
		return nil
	}
	g := &group{key: string(f.key), labels: f.labels()}
	if err := f.charge(groupBytes + f.leaf.function.AccumulatorBytes() + int64(2*len(f.key)) + labelsBytes(g.labels)); err != nil {
		return err
	}
	g.accumulator = f.leaf.function.NewAccumulator()
	f.groups[g.key] = g
	f.last = g
	return f.leaf.checkSeries(len(f.groups))
}

// What a series takes beside its values and labels, and a label beside its text.
const (
	groupBytes = 200
	labelBytes = 32
)

// labels returns the labels of the last line that the grouping selects.
func (f *folder) labels() []matrix.Label {
	var out []matrix.Label
	if g := f.leaf.grouping; g != nil && !g.Without {
		// That of the unwrapped label is one of them, if it is named.
		for _, name := range by(g) {
			if value, ok := f.run.Get(name); ok {
				out = append(out, matrix.Label{Name: name, Value: string(value)})
			}
		}
		return out
	}
	f.run.Each(func(name string, value []byte, _ pipeline.LabelClass) {
		if selects(f.leaf.grouping, name) {
			out = append(out, matrix.Label{Name: name, Value: string(value)})
		}
	})
	return out
}

// selects reports whether a label is one of a series by grouping.
func selects(g *syntax.Grouping, name string) bool {
	if g == nil {
		return true
	}
	for _, l := range g.Labels {
		if l == name {
			return !g.Without
		}
	}
	return g.Without
}

// failed is the error for a line with an error of a stage. That of a template may be that the
// query has ended.
func (f *folder) failed(kind string) error {
	if err := f.leaf.x.ctx.Err(); err != nil {
		return err
	}
	detail, _ := f.run.Get("__error_details__")
	var b strings.Builder
	f.run.Each(func(name string, value []byte, _ pipeline.LabelClass) {
		appendLabel(&b, name, string(value))
	})
	return &PipelineError{Type: kind, Detail: string(detail), Series: "{" + b.String() + "}"}
}
