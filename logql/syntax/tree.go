package syntax

import "time"

// A Range is a part of a query's text: the bytes from Start to before End.
type Range struct{ Start, End int }

// Place returns r itself. Every node embeds a Range, so this is its place in the
// text.
func (r Range) Place() Range { return r }

// A Node is a part of a tree.
type Node interface {
	// Place is where the text has the node.
	Place() Range
	// String returns the node as a query writes it, in one line.
	String() string
}

// An Expr is a whole query: a *LogExpr or a MetricExpr.
type Expr interface {
	Node
	expr()
}

// A MetricExpr is an expression whose value is numbers: *RangeAggregation,
// *VectorAggregation, *Binary, *Literal, *Vector or *LabelReplace.
type MetricExpr interface {
	Expr
	metric()
}

// A LogExpr selects lines: {app="api"} |= "timeout" | json.
type LogExpr struct {
	Range
	Matchers []Matcher // at least one; those of the stream selector
	Stages   []Stage
}

// A MatchOp compares a label with a text.
type MatchOp uint8

const (
	Equal      MatchOp = iota // =
	NotEqual                  // !=
	Matches                   // =~: the whole value matches the regular expression
	NotMatches                // !~
)

// A Matcher is a condition on the value of one label.
type Matcher struct {
	Range
	Name  string
	Op    MatchOp
	Value string
}

// A Stage is one step of a pipeline: *LineFilter, *JSON, *Logfmt, *Regexp, *Pattern,
// *Unpack, *LabelFilter, *LineFormat, *LabelFormat, *Drop, *Keep or *Decolorize.
type Stage interface {
	Node
	stage()
}

// A LineOp says what a line filter looks for.
type LineOp uint8

const (
	LineContains    LineOp = iota // |=
	LineNotContains               // !=
	LineMatches                   // |~
	LineNotMatches                // !~
	LinePattern                   // |>
	LineNotPattern                // !>
)

// Negative reports whether the filter keeps lines that match none of its texts.
func (op LineOp) Negative() bool { return op&1 == 1 }

// A LineFilter keeps lines that match one of Texts: |= "a" or "b". With a negative Op it
// keeps those that match none; Parse makes a LineFilter of each text then.
type LineFilter struct {
	Range
	Op    LineOp
	Texts []LineText // at least one
}

// A LineText is what a line filter looks for: a text, a regular expression or a
// pattern by its Op, or an address or a range of addresses: ip("10.0.0.0/8").
type LineText struct {
	Range
	Text string
	IP   bool
}

// JSON is | json. Without Extractions it makes a label of each field.
type JSON struct {
	Range
	Extractions []Extraction
}

// Logfmt is | logfmt. Without Extractions it makes a label of each pair.
type Logfmt struct {
	Range
	Strict, KeepEmpty bool // --strict, --keep-empty
	Extractions       []Extraction
}

// An Extraction names a field of a line, and the label that it becomes:
// status="response.status". Where the query has the label alone, Path is Label.
type Extraction struct {
	Range
	Label, Path string
}

// Regexp is | regexp "(?P<status>[0-9]+)".
type Regexp struct {
	Range
	Text string
}

// Pattern is | pattern "<ip> - <_>".
type Pattern struct {
	Range
	Text string
}

// Unpack is | unpack.
type Unpack struct{ Range }

// A LabelFilter keeps lines whose labels meet a condition: | status >= 500.
type LabelFilter struct {
	Range
	Predicate Predicate
}

// A Predicate is a condition on labels: *And, *Or, *TextPredicate,
// *NumberPredicate, *DurationPredicate, *BytesPredicate or *IPPredicate.
type Predicate interface {
	Node
	predicate()
}

// And is a and b; the query may also write a comma, or nothing.
type And struct {
	Range
	Left, Right Predicate
}

// Or is a or b.
type Or struct {
	Range
	Left, Right Predicate
}

// A CompareOp compares numbers.
type CompareOp uint8

const (
	CompareEqual          CompareOp = iota // == or =
	CompareNotEqual                        // !=
	CompareLess                            // <
	CompareLessOrEqual                     // <=
	CompareGreater                         // >
	CompareGreaterOrEqual                  // >=
)

// A TextPredicate is level="error".
type TextPredicate struct {
	Range
	Matcher Matcher
}

// A NumberPredicate is status >= 500.
type NumberPredicate struct {
	Range
	Name  string
	Op    CompareOp
	Value float64
}

// A DurationPredicate is took > 1m30s. Text is the value as the query has it.
type DurationPredicate struct {
	Range
	Name  string
	Op    CompareOp
	Value time.Duration
	Text  string
}

// A BytesPredicate is size > 20MB. Text is the value as the query has it.
type BytesPredicate struct {
	Range
	Name  string
	Op    CompareOp
	Value uint64
	Text  string
}

// An IPPredicate is addr = ip("10.0.0.0/8"), or addr != ip("...").
type IPPredicate struct {
	Range
	Name   string
	Negate bool // !=
	Value  string
}

// LineFormat is | line_format "{{.method}}".
type LineFormat struct {
	Range
	Template string
}

// LabelFormat is | label_format a=b, c="{{.d}}".
type LabelFormat struct {
	Range
	Items []LabelFormatItem
}

// A LabelFormatItem renames the label Value to Name, or sets Name to what the
// template Value gives.
type LabelFormatItem struct {
	Range
	Name   string
	Rename bool
	Value  string
}

// Drop is | drop a, b="c".
type Drop struct {
	Range
	Labels []LabelChoice
}

// Keep is | keep a, b="c".
type Keep struct {
	Range
	Labels []LabelChoice
}

// A LabelChoice is a label; with HasMatcher only if it meets Op and Value.
type LabelChoice struct {
	Range
	Matcher    Matcher // Name is always set
	HasMatcher bool
}

// Decolorize is | decolorize.
type Decolorize struct{ Range }

// A RangeOp is a function of the lines of a range of time.
type RangeOp uint8

// The functions of a range, by their names in LogQL.
const (
	CountOverTime RangeOp = iota
	Rate
	BytesOverTime
	BytesRate
	AbsentOverTime
	RateCounter // this one and those below need an Unwrap
	SumOverTime
	AvgOverTime
	MinOverTime
	MaxOverTime
	StddevOverTime
	StdvarOverTime
	QuantileOverTime
	FirstOverTime
	LastOverTime
)

// A RangeAggregation is rate({app="api"} | json | unwrap took [5m] offset 1h) by (app).
// Rate, without an Unwrap, counts lines; with one it sums up values.
type RangeAggregation struct {
	Range
	Op       RangeOp
	Quantile float64 // of QuantileOverTime
	Log      *LogExpr
	Unwrap   *Unwrap // nil without
	Interval time.Duration
	Offset   time.Duration // may be below 0
	Grouping *Grouping     // nil without
}

// A Conversion says how the text of an unwrapped label is a number.
type Conversion uint8

// The conversions of unwrap.
const (
	ConvertNumber   Conversion = iota
	ConvertDuration            // duration(), duration_seconds(): in seconds
	ConvertBytes               // bytes()
)

// An Unwrap is | unwrap bytes(size) | __error__="". The value of the lines is that of
// a label; Filters come after it.
type Unwrap struct {
	Range
	Label      string
	Conversion Conversion
	Filters    []*LabelFilter
}

// A Grouping is by (a, b), or without (a, b).
type Grouping struct {
	Range
	Without bool
	Labels  []string
}

// A VectorOp aggregates series.
type VectorOp uint8

// The aggregations, by their names in LogQL.
const (
	Sum VectorOp = iota
	Avg
	Min
	Max
	Count
	Stddev
	Stdvar
	TopK
	BottomK
	Sort
	SortDesc
	ApproxTopK
)

// A VectorAggregation is sum by (app) (...), topk(5, ...).
type VectorAggregation struct {
	Range
	Op       VectorOp
	K        int       // of TopK, BottomK, ApproxTopK
	Grouping *Grouping // nil without
	Inner    MetricExpr
}

// A BinaryOp joins two expressions.
type BinaryOp uint8

// The operators: or, and, unless, +, -, *, /, %, ^, ==, !=, >, >=, <, <=.
const (
	OpOr BinaryOp = iota
	OpAnd
	OpUnless
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpMod
	OpPow
	OpEqual
	OpNotEqual
	OpGreater
	OpGreaterOrEqual
	OpLess
	OpLessOrEqual
)

// A Binary is a + b, a > bool b, a / on (app) group_left () b. At most one side is a
// Literal, and then it has no Matching: Parse computes with numbers itself.
type Binary struct {
	Range
	Op          BinaryOp
	Bool        bool
	Matching    *Matching // nil without
	Left, Right MetricExpr
}

// A Group says which side of a Binary may have many series for one of the other.
type Group uint8

// How many series of each side belong together.
const (
	OneToOne Group = iota
	GroupLeft
	GroupRight
)

// A Matching says which series of both sides belong together.
type Matching struct {
	Range
	On      bool // on (Labels), else ignoring (Labels)
	Labels  []string
	Group   Group
	Include []string // labels of group_left (Include)
}

// A Literal is a number. What Parse has computed may be infinite, or NaN.
type Literal struct {
	Range
	Value float64
}

// A Vector is vector(1).
type Vector struct {
	Range
	Value float64
}

// A LabelReplace is label_replace(..., "to", "$1", "from", "(.*)").
type LabelReplace struct {
	Range
	Inner       MetricExpr
	To          string
	Replacement string
	From        string
	Regexp      string
}

func (*LogExpr) expr()           {}
func (*RangeAggregation) expr()  {}
func (*VectorAggregation) expr() {}
func (*Binary) expr()            {}
func (*Literal) expr()           {}
func (*Vector) expr()            {}
func (*LabelReplace) expr()      {}

func (*RangeAggregation) metric()  {}
func (*VectorAggregation) metric() {}
func (*Binary) metric()            {}
func (*Literal) metric()           {}
func (*Vector) metric()            {}
func (*LabelReplace) metric()      {}

func (*LineFilter) stage()  {}
func (*JSON) stage()        {}
func (*Logfmt) stage()      {}
func (*Regexp) stage()      {}
func (*Pattern) stage()     {}
func (*Unpack) stage()      {}
func (*LabelFilter) stage() {}
func (*LineFormat) stage()  {}
func (*LabelFormat) stage() {}
func (*Drop) stage()        {}
func (*Keep) stage()        {}
func (*Decolorize) stage()  {}

func (*And) predicate()               {}
func (*Or) predicate()                {}
func (*TextPredicate) predicate()     {}
func (*NumberPredicate) predicate()   {}
func (*DurationPredicate) predicate() {}
func (*BytesPredicate) predicate()    {}
func (*IPPredicate) predicate()       {}
