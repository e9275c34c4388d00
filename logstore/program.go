package logstore

import (
	"errors"
	"io/fs"
	"math"
	"regexp"
	"regexp/syntax"

	"github.com/stele-go/stele/internal/regexcost"
)

// maxProgram bounds the memory of the compiled regular expression of a Matcher, and
// maxDeletionProgram that of one of a Deletion, which stays for as long as that is
// pending. Package regexp accepts 128 MiB, which 23 KB of text can ask for.
const (
	maxProgram         = regexcost.Max
	maxDeletionProgram = 256 << 10
)

// checkProgram returns the size of the regular expression of a matcher, or an error for a
// wrong one, and for one that takes more than most bytes.
func (m Matcher) checkProgram(most int64) (regexcost.Size, error) {
	size, err := regexcost.Check("logstore: regular expression of "+m.Name, m.Value, syntax.Perl, most)
	if err != nil && !errors.Is(err, fs.ErrInvalid) {
		err = m.wrong(err)
	}
	return size, err
}

// program compiles the regular expression of a matcher, within most bytes. Package
// regexp keeps a second form of most anchored expressions, which is faster and may be
// much larger, as its instructions share no runes: a lean program has none.
func (m Matcher) program(most int64, lean bool) (*regexp.Regexp, error) {
	// On its own first: "a)|(b" must not become valid within the parentheses.
	size, err := m.checkProgram(most)
	if err != nil {
		return nil, err
	}
	expr := `\A(?s:` + m.Value + `)\z`
	if lean || size.HasLargeSecond() {
		expr = `()` + expr // so it does not begin with an anchor
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, m.wrong(err)
	}
	return re, nil
}

// compileLean is compile for what is kept for long: see program. It takes any expression
// that package regexp accepts.
func (sel Selector) compileLean() (Selector, error) {
	lean := make(Selector, len(sel))
	for i, m := range sel {
		m.re = nil
		if err := m.check(); err != nil {
			return nil, err
		}
		if m.Op >= Matches {
			var err error
			if m.re, err = m.program(math.MaxInt64, true); err != nil {
				return nil, err
			}
		}
		lean[i] = m
	}
	return lean, nil
}
