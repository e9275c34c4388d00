package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/internal/regexcost"
	"github.com/stele-go/stele/internal/setting"
)

// A LineMatch is a condition on the line of an entry.
type LineMatch struct {
	// Op is Equal (the line contains Text), NotEqual (it does not), Matches (the regular
	// expression Text, of package regexp, matches somewhere in the line) or NotMatches.
	Op   MatchOp
	Text string
}

var lineOperators = [...]string{"|=", "!=", "|~", "!~"}

// String returns a text such as `|= "error"`.
func (m LineMatch) String() string {
	op := fmt.Sprintf("LineMatch(%d)", uint8(m.Op))
	if int(m.Op) < len(lineOperators) {
		op = lineOperators[m.Op]
	}
	return op + " " + strconv.Quote(m.Text)
}

// check returns an error for a wrong operator, or for a regular expression that is wrong
// or takes more than most bytes; size is what it takes.
func (m LineMatch) check(most int64) (size int64, err error) {
	if int(m.Op) >= len(lineOperators) {
		return 0, setting.Wrong("logstore: LineMatch.Op", uint8(m.Op), "Equal, NotEqual, Matches or NotMatches")
	}
	if m.Op < Matches {
		return 0, nil
	}
	cost, err := regexcost.Check("logstore: LineMatch.Text", m.Text, syntax.Perl, most)
	if err != nil && !errors.Is(err, fs.ErrInvalid) {
		err = fmt.Errorf("logstore: LineMatch.Text: %w", err)
	}
	return cost.Bytes(), err
}

func (m LineMatch) filter() (Filter, error) {
	if m.Op < Matches {
		if m.Op == NotEqual {
			return Not(Contains(m.Text)), nil
		}
		return Contains(m.Text), nil
	}
	re, err := regexp.Compile(m.Text)
	if err != nil {
		return nil, fmt.Errorf("logstore: LineMatch.Text: %w", err)
	}
	if m.Op == NotMatches {
		return Not(Regexp(re)), nil
	}
	return Regexp(re), nil
}

// lineTest returns a function that reports whether a line meets all conditions, nil if
// there are none, and about the bytes of memory that it keeps.
func lineTest(list []LineMatch) (test func(line []byte) bool, memory int64, err error) {
	if len(list) == 0 {
		return nil, 0, nil
	}
	filters := make([]Filter, len(list))
	for i, m := range list {
		size, err := m.check(math.MaxInt64)
		if err != nil {
			return nil, 0, err
		}
		memory += deletionMatcherBytes + 2*int64(len(m.Text)) + size
		if filters[i], err = m.filter(); err != nil {
			return nil, 0, err
		}
	}
	match := All(filters...).compiled().match
	return func(line []byte) bool { return match(line, nil) }, memory, nil
}

// hasAll reports whether all conditions of others are in the list.
func hasAll(list, others []LineMatch) bool {
	return !slices.ContainsFunc(others, func(m LineMatch) bool { return !slices.Contains(list, m) })
}

func cloneLines(list []LineMatch) []LineMatch {
	list = slices.Clone(list)
	for i := range list {
		list[i].Text = strings.Clone(list[i].Text)
	}
	return list
}

// appendLines encodes conditions: how many (uvarint), and of each its operator (uvarint)
// and its text, with its length before it (uvarint).
func appendLines(data []byte, list []LineMatch) []byte {
	data = binary.AppendUvarint(data, uint64(len(list)))
	for _, m := range list {
		data = appendString(binary.AppendUvarint(data, uint64(m.Op)), m.Text)
	}
	return data
}

func (r *recordReader) lineMatches() (list []LineMatch, err error) {
	n, err := r.uvarint()
	for ; n > 0 && err == nil; n-- {
		var op uint64
		if op, err = r.uvarint(); err != nil {
			break
		}
		var text []byte
		text, err = r.bytes()
		list = append(list, LineMatch{MatchOp(min(op, math.MaxUint8)), string(text)})
	}
	return list, err
}

// hasLine reports whether a line of an entry that is gone otherwise is among those of g.
func (g *gone) hasLine(line []byte) bool { return g.Line == nil || g.Line(line) }
