package logql

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// A FieldsRequest asks for the fields of lines.
type FieldsRequest struct {
	Selection     // Query may be a log query; Limit 0 means 1,000 fields or values
	Lines     int // that are looked at, the newest ones; 0 means 1,000
}

// A DetectedField is a label that lines have by their metadata, or would get by a parser.
type DetectedField struct {
	Label       string
	Type        string // that most values have: string, int, float, boolean, duration or bytes
	Cardinality int64  // how many values it has in the lines that were looked at
	// Parsers are json and logfmt, or none if it is from metadata, or of another stage of
	// the query.
	Parsers  []string
	JSONPath []string // of json: the names of the objects that it is in, and its own
}

const (
	defaultFields      = 1000
	defaultFieldsLines = 1000
	maxFieldBytes      = 1 << 10 // of a value; what is longer is nothing to choose by
)

// DetectedFields returns the fields of a sample of the lines of a log query, by name.
func (e *Engine) DetectedFields(ctx context.Context, r FieldsRequest) ([]DetectedField, error) {
	d := newDetector(r)
	if err := e.detect(ctx, r, d); err != nil {
		return nil, err
	}
	return d.result(), nil
}

// DetectedFieldValues returns the values of one field in a sample of the lines of a log
// query, sorted.
func (e *Engine) DetectedFieldValues(ctx context.Context, name string, r FieldsRequest) ([]string, error) {
	d := newDetector(r)
	d.only, d.values = name, map[string]bool{}
	if err := e.detect(ctx, r, d); err != nil {
		return nil, err
	}
	out := make([]string, 0, len(d.values))
	for v := range d.values {
		out = append(out, v)
	}
	slices.Sort(out)
	return out, nil
}

// detect gives the newest lines to d.
func (e *Engine) detect(ctx context.Context, r FieldsRequest, d *detector) error {
	lines := r.Lines
	if lines == 0 {
		lines = defaultFieldsLines
	}
	if lines < 0 || lines > e.limits.Lines {
		return &LimitError{"Limits.Lines", int64(e.limits.Lines), "the lines that are looked at"}
	}
	expr, err := r.log()
	if err != nil {
		return err
	}
	x, err := e.begin(ctx, Request{Tenant: r.Tenant, Query: r.Query, Expr: expr, Start: r.Start, End: r.End, Limit: lines})
	if err != nil {
		return err
	}
	defer x.end()
	result, err := x.logs(expr)
	if err == nil {
		err = x.ctx.Err() // lines may be missing
	}
	if err != nil {
		return x.explainError(err)
	}
	for i := range result.Lines {
		d.add(&result.Lines[i])
	}
	return nil
}

// log returns the query of a selection, which may be one that selects all.
func (s Selection) log() (*syntax.LogExpr, error) {
	expr, err := syntax.ParseLog(s.Query)
	if err == nil {
		return expr, nil
	}
	if matchers, selErr := s.matchers(); selErr == nil {
		return &syntax.LogExpr{Matchers: matchers}, nil
	}
	return nil, err
}

// A detector collects fields.
type detector struct {
	limit  int
	only   string
	values map[string]bool // of the field only

	fields map[string]*detected
	line   *Line // that is looked at
	logfmt *pipeline.Run
	seed   maphash.Seed
}

type detected struct {
	DetectedField
	values map[uint64]struct{}
	types  map[string]int // of the values, how many have each
}

func newDetector(r FieldsRequest) *detector {
	d := &detector{limit: r.Limit, fields: map[string]*detected{}, seed: maphash.MakeSeed()}
	if d.limit <= 0 {
		d.limit = defaultFields
	}
	if p, err := pipeline.Compile([]syntax.Stage{&syntax.Logfmt{}}, pipeline.Options{AllLabels: true}); err == nil {
		d.logfmt = p.NewRun()
		d.logfmt.Stream(logstore.Labels{})
	}
	return d
}

func (d *detector) add(line *Line) {
	for _, l := range line.Metadata {
		d.field(l.Name, l.Value, "", nil)
	}
	for _, l := range line.Parsed {
		d.field(l.Name, l.Value, "", nil)
	}
	d.line = line
	if eachJSON(line.Text, func(label, value string, path []string) { d.field(d.parsedName(label), value, "json", path) }) {
		return
	}
	if d.logfmt != nil && strings.Contains(line.Text, "=") && d.logfmt.Process(line.Time, []byte(line.Text), logstore.Labels{}) {
		if text, failed := d.logfmt.Get("__error__"); failed && len(text) > 0 {
			return
		}
		d.logfmt.Each(func(name string, value []byte, _ pipeline.LabelClass) {
			d.field(d.parsedName(name), string(value), "logfmt", nil)
		})
	}
}

// parsedName is the label that a field of the line becomes: one that the stream has too gets
// another name.
func (d *detector) parsedName(name string) string {
	has := func(labels []LabelPair) bool {
		return slices.ContainsFunc(labels, func(l LabelPair) bool { return l.Name == name })
	}
	if has(d.line.Stream) && !has(d.line.Metadata) && !has(d.line.Parsed) {
		return name + "_extracted"
	}
	return name
}

// field takes a value of a field, of a parser or none.
func (d *detector) field(name, value, parser string, path []string) {
	if strings.HasPrefix(name, "__") || value == "" || len(value) > maxFieldBytes {
		return
	}
	if d.values != nil {
		if name == d.only && len(d.values) < d.limit {
			d.values[value] = true
		}
		return
	}
	f := d.fields[name]
	if f == nil {
		if len(d.fields) == d.limit {
			return
		}
		f = &detected{DetectedField{Label: name, JSONPath: path}, map[uint64]struct{}{}, map[string]int{}}
		d.fields[name] = f
	}
	f.types[typeOf(value)]++
	if parser != "" && !slices.Contains(f.Parsers, parser) {
		f.Parsers = append(f.Parsers, parser)
	}
	if f.JSONPath == nil {
		f.JSONPath = path
	}
	f.values[maphash.String(d.seed, value)] = struct{}{}
}

func (d *detector) result() []DetectedField {
	out := make([]DetectedField, 0, len(d.fields))
	for _, f := range d.fields {
		f.Cardinality = int64(len(f.values))
		for t, n := range f.types {
			if most := f.types[f.Type]; n > most || n == most && t < f.Type {
				f.Type = t
			}
		}
		slices.Sort(f.Parsers)
		out = append(out, f.DetectedField)
	}
	slices.SortFunc(out, func(a, b DetectedField) int { return cmp.Compare(a.Label, b.Label) })
	return out
}
