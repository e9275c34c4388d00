package logstore

import (
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/logstore/internal/template"
)

// Fields asks Fold for fields of lines in place of the lines: parts of them that are always
// found at the same place of lines of one shape, such as the value of a key in JSON. Blocks
// of CodecColumns have such lines as a template and variables, so that fields are read
// without making a line. See Query.Fields.
type Fields struct {
	// Number is how many fields are wanted of each line, 0 or more.
	Number int
	// Of tells where the fields are in the lines of a template. If ok is false that must be
	// seen in each line, and lines of the template are passed as they are. Of is called once
	// for a template of a segment, mostly, by many goroutines at once; it must not keep the
	// template's bytes. A plan that does not fit the template, or not Number, ends the query
	// with an error, and a panic ends it as a *PanicError.
	Of func(t LineTemplate) (plan FieldPlan, ok bool)
	// Needs, unless nil, matches every entry of which the caller makes something: entries that
	// it does not match are not passed with their lines, and blocks that have no others are not
	// read. It is not asked of entries that are passed by fields.
	Needs Filter
	// NoTimes, unless nil, reports whether rows may come without their times, if all of these
	// are from first to last. It is called by many goroutines at once, and not with Query.Cursors.
	NoTimes func(first, last int64) bool
}

// check returns an error for the first wrong field; name is what the caller calls f.
func (f *Fields) check(name string) error {
	if f.Number < 0 {
		return setting.Wrong("logstore: "+name+".Number", f.Number, "0 or more")
	}
	if f.Of == nil {
		return setting.Wrong("logstore: "+name+".Of", "nil", "a function")
	}
	return nil
}

// filter returns the filter of entries that are passed with their lines, where that of the
// query is given.
func (f *Fields) filter(of Filter) Filter {
	switch {
	case f.Needs == nil:
		return of
	case of == nil:
		return f.Needs
	}
	return All(of, f.Needs)
}

// A LineTemplate is what lines of one shape have in common: literals with slots between
// them. Each line has its own variable in each slot.
type LineTemplate struct{ of template.Template }

// NewLineTemplate returns a template with these literals, which it copies: for tests of a
// function for Fields.Of.
func NewLineTemplate(literals ...[]byte) LineTemplate {
	return LineTemplate{template.New(literals...)}
}

// Slots returns the number of slots.
func (t LineTemplate) Slots() int { return t.of.Slots() }

// Literal returns literal i, from 0 to Slots: slot i is between literals i and i+1. It may be
// empty. The caller must not change it.
func (t LineTemplate) Literal(i int) []byte { return t.of.Literal(i) }

// A FieldPlan tells where the fields of the lines of a template are.
type FieldPlan struct {
	// Fields has Number of them.
	Fields []Field
	// Rules has one for each slot, also for those of no field: a variable may change where
	// fields are. Lines with a variable that breaks its rule are passed as they are. nil is a
	// slot without a rule, or no rule at all. A rule for many slots and templates should be one
	// pointer: a column that they share is then looked at once.
	Rules []*SlotRule
}

// A Field is the text of its pieces, one after the other.
type Field struct {
	Absent bool // the line lacks the field
	Pieces []Piece
}

// A Piece is a text or, if Text is nil, the variable in a slot.
type Piece struct {
	Text []byte
	Slot int
}

// A SlotRule says which variables of a slot leave the fields of the line where they are. It
// depends on the bytes of the variable alone.
type SlotRule struct {
	// A variable with a byte of Forbidden breaks the rule.
	Forbidden ByteSet
	// Check, unless nil, is asked of variables that have a byte of Doubtful, and of empty
	// ones: the rule is broken if it returns false. It is called by many goroutines at once, in
	// no order, for variables of lines that the query does not select too, and may not keep the
	// text.
	Doubtful ByteSet
	Check    func(variable []byte) bool
	// Numbers says that Check is true for each number as JSON has it, without an exponent: it
	// is not asked where all variables are known to be such numbers.
	Numbers bool
}

// A ByteSet is a set of bytes. The zero value is empty.
type ByteSet [4]uint64

// Add adds the bytes from first to last.
func (s *ByteSet) Add(first, last byte) {
	for b := int(first); b <= int(last); b++ {
		s[b/64] |= 1 << (b % 64)
	}
}

// Has reports whether the set has a byte.
func (s *ByteSet) Has(b byte) bool { return s[b/64]>>(b%64)&1 != 0 }

// A FieldFolder takes entries by their fields: see Query.Fields.
type FieldFolder interface {
	Folder
	// FoldFields takes entries of one block. The batch is valid during the call only. Errors
	// and panics are those of Fold.
	FoldFields(b *FieldBatch) error
}

// A FieldBatch has the fields of some entries, its rows.
type FieldBatch struct {
	Rows   int
	Runs   []FieldRun    // the streams, in no order, with the rows of each; a stream may come twice
	Fields []FieldColumn // Fields.Number of them
	// Times has that of each row, in nanoseconds since the Unix epoch. It is nil if
	// Fields.NoTimes allowed that.
	Times []int64
	// First and Last are times before and after which no row is. There may be none at
	// either.
	First, Last int64

	ids []segment2.ID // with Query.Cursors
}

// Cursor returns the cursor of a row, which is of a run of Runs: of a query with Query.Cursors,
// whose Times are never nil. Else it is the zero Cursor.
func (b *FieldBatch) Cursor(run *FieldRun, row int) Cursor {
	if b.ids == nil {
		return Cursor{}
	}
	return Cursor{b.Times[row], run.Labels, b.ids[row].Position, b.ids[row].Place}
}

// A FieldRun is a stream and its rows in a batch, one behind the other.
type FieldRun struct {
	Labels Labels
	First  int // the first row
	Rows   int // 1 or more
}

// A FieldColumn has the values of a field.
type FieldColumn struct {
	// Codes has a number for the value of each row: rows with equal codes have equal values.
	// 0 means that the row lacks the field. Two codes may stand for equal values, and codes
	// below Len may be those of no row.
	Codes  []uint32
	values *block.FieldValues
}

// Len returns the number of codes: they are below it.
func (c *FieldColumn) Len() int {
	if c.values == nil {
		return 0
	}
	return c.values.Len()
}

// AppendValue appends the value of a code that is below Len. It appends nothing for 0.
func (c *FieldColumn) AppendValue(dst []byte, code uint32) []byte {
	if code == 0 {
		return dst
	}
	return c.values.AppendValue(dst, code)
}

// AppendNumbers appends Len numbers, that of each code: the number that strconv.ParseFloat
// makes of a decimal integer or fraction of up to 19 digits, without making text of values that
// are kept as numbers, and what parse returns for other values. That of code 0 is NaN. parse
// must not keep the text.
func (c *FieldColumn) AppendNumbers(dst []float64, parse func(value []byte) float64) []float64 {
	if c.values == nil {
		return dst
	}
	return c.values.AppendNumbers(dst, parse)
}
