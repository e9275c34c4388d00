package prefilter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stele-go/stele/logql/internal/match"
	"github.com/stele-go/stele/logstore"
)

// A condition is what a line must meet.
type condition interface {
	filter() logstore.Filter
	String() string
}

// contains is met by lines with a text in them.
type contains string

func (c contains) filter() logstore.Filter { return logstore.Contains(string(c)) }
func (c contains) String() string          { return "contains " + strconv.Quote(string(c)) }

// containsFold is contains, of upper and lower case alike.
type containsFold string

func (c containsFold) filter() logstore.Filter { return logstore.ContainsFold(string(c)) }
func (c containsFold) String() string {
	return "contains " + strconv.Quote(string(c)) + " in any case"
}

// word is met by lines with a text as a whole word.
type word string

func (c word) filter() logstore.Filter { return logstore.Word(string(c)) }
func (c word) String() string          { return "has the word " + strconv.Quote(string(c)) }

// hiddenWord is met by lines that may have a text as a whole word of which some characters
// are escaped, as JSON and quoted values of logfmt have it: \u0035 is 5. Behind the last
// one the text goes on as it is, so that the index, which has words, is asked for u003500
// in the place of 500: one word for each character.
type hiddenWord string

// mostHidden is the length in bytes of a word that the index is asked for.
const mostHidden = 24

func (c hiddenWord) filter() logstore.Filter {
	escaped := logstore.Any(filters(escapes(string(c)))...)
	if len(c) > mostHidden {
		return escaped
	}
	var words []condition
	for i := range len(c) {
		lower := fmt.Sprintf("u%04x", c[i])
		words = append(words, word(lower+string(c[i+1:])))
		if upper := fmt.Sprintf("u%04X", c[i]); upper != lower {
			words = append(words, word(upper+string(c[i+1:])))
		}
	}
	return logstore.All(escaped, logstore.Any(filters(words)...))
}

func (c hiddenWord) String() string {
	return "has the word " + strconv.Quote(string(c)) + " with escapes"
}

// matching is met by lines that an expression matches.
type matching struct{ *match.Shared }

func (c matching) filter() logstore.Filter { return logstore.RegexpFunc(c.Matcher.String(), c.Match) }
func (c matching) String() string          { return "matches " + strconv.Quote(c.Matcher.String()) }

// metadata is met by lines whose metadata have a value, or not.
type metadata struct {
	name, value string
	op          logstore.MatchOp
}

func (c metadata) matcher() logstore.Matcher {
	return logstore.Matcher{Name: c.name, Op: c.op, Value: c.value}
}

func (c metadata) filter() logstore.Filter {
	f, err := logstore.MetadataMatches(c.matcher())
	if err != nil {
		panic("prefilter: a matcher without a regular expression: " + err.Error())
	}
	return f
}
func (c metadata) String() string { return "metadata has " + c.matcher().String() }

type every []condition

func (c every) filter() logstore.Filter { return logstore.All(filters(c)...) }
func (c every) String() string          { return join(c, " and ") }

type either []condition

func (c either) filter() logstore.Filter { return logstore.Any(filters(c)...) }
func (c either) String() string          { return "(" + join(c, " or ") + ")" }

type not struct{ condition }

func (c not) filter() logstore.Filter { return logstore.Not(c.condition.filter()) }
func (c not) String() string          { return "not " + c.condition.String() }

func filters(list []condition) []logstore.Filter {
	out := make([]logstore.Filter, len(list))
	for i, c := range list {
		out[i] = c.filter()
	}
	return out
}

func join(list []condition, by string) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = c.String()
	}
	return strings.Join(parts, by)
}

// allOf is nil without conditions.
func allOf(list []condition) condition {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return every(list)
}

// anyOf needs at least one condition.
func anyOf(list []condition) condition {
	if len(list) == 1 {
		return list[0]
	}
	return either(list)
}
