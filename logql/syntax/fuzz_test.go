package syntax

import (
	"errors"
	"testing"
)

// FuzzParse checks that what is parsed and printed parses to the same tree, that errors lie within
// the query, and that nothing panics.
func FuzzParse(f *testing.F) {
	for _, c := range roundTrips {
		f.Add(c.query)
	}
	for _, c := range wrongQueries {
		if len(c.query) < 1000 {
			f.Add(c.query)
		}
	}
	f.Fuzz(func(t *testing.T, query string) {
		ParseMatchers(query)
		e, err := Parse(query)
		if err != nil {
			checkError(t, query, err)
			return
		}
		checkPlaces(t, query, e)
		printed := e.String()
		if len(printed) > MaxQuery/2 {
			return
		}
		sameAgain(t, e, printed)
		sameAgain(t, e, Format(e))
		again, err := Parse(printed)
		if err == nil && again.String() != printed {
			t.Errorf("%s\nis printed as\n%s", printed, again)
		}
	})
}

func checkError(t *testing.T, query string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not an *Error", err)
	}
	if e.Start < 0 || e.Start > e.End || e.End > len(query) {
		t.Errorf("%q: error at %v: %v", query, e.Range, e)
	}
	if e.Msg == "" || query != "" && e.Caret() == "" {
		t.Errorf("%q: error %#v", query, e)
	}
}

// FuzzLex checks that tokens are in order and cover all that is not blank.
func FuzzLex(f *testing.F) {
	for _, c := range roundTrips {
		f.Add(c.query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		tokens, err := lex(query)
		if err != nil {
			checkError(t, query, err)
			return
		}
		at := 0
		for _, k := range tokens {
			l := lexer{query: query[:k.Start], at: at}
			if l.skip(); l.at != k.Start {
				t.Fatalf("%q: %q is no token", query, query[l.at:k.Start])
			}
			if k.kind != end && k.End <= k.Start {
				t.Fatalf("%q: empty token at %v", query, k.Range)
			}
			at = k.End
		}
		if at != len(query) {
			t.Fatalf("%q: tokens end at %d", query, at)
		}
	})
}
