package logql

import (
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// Selector makes the store's selector of matchers. A regular expression that takes too much
// is a *syntax.Error.
func Selector(matchers []syntax.Matcher) (logstore.Selector, error) { return selector("", matchers) }

// selector makes the store's selector of matchers. A regular expression that takes too
// much is a *syntax.Error.
func selector(query string, matchers []syntax.Matcher) (logstore.Selector, error) {
	var sel logstore.Selector
	for _, m := range matchers {
		c, err := logstore.Match(m.Name, logstore.MatchOp(m.Op), m.Value)
		if err != nil {
			return nil, &syntax.Error{Query: query, Range: m.Range, Msg: err.Error()}
		}
		sel = append(sel, c)
	}
	return sel, nil
}
