package server

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// deletedLines returns what the lines of a deletion say: the line filters of its query, as
// Loki's deletions may have them.
func deletedLines(stages []syntax.Stage) (list []logstore.LineMatch, err error) {
	for _, stage := range stages {
		f, ok := stage.(*syntax.LineFilter)
		if !ok || f.Op > syntax.LineNotMatches {
			return nil, refuse(http.StatusBadRequest, "%s: lines cannot be deleted by this stage; want line filters: |= != |~ !~", stage)
		}
		for _, text := range f.Texts {
			if text.IP {
				return nil, refuse(http.StatusBadRequest, "%s: lines cannot be deleted by their addresses; want line filters: |= != |~ !~", stage)
			}
		}
		list = append(list, lineMatches(f)...)
	}
	return list, nil
}

// lineMatches returns the conditions of a filter, which all hold. Of several texts one is
// looked for, or none must be there.
func lineMatches(f *syntax.LineFilter) (list []logstore.LineMatch) {
	op := logstore.MatchOp(f.Op)
	if len(f.Texts) == 1 || f.Op.Negative() {
		for _, text := range f.Texts {
			list = append(list, logstore.LineMatch{Op: op, Text: text.Text})
		}
		return list
	}
	var any []string
	for _, text := range f.Texts {
		if f.Op == syntax.LineContains {
			any = append(any, regexp.QuoteMeta(text.Text))
		} else {
			any = append(any, "(?:"+text.Text+")")
		}
	}
	return []logstore.LineMatch{{Op: logstore.Matches, Text: strings.Join(any, "|")}}
}

// deletionQuery returns a deletion as a query.
func deletionQuery(d *logstore.Deletion) string {
	var b strings.Builder
	b.WriteString(d.Selector.String())
	for _, m := range d.Lines {
		b.WriteString(" " + m.String())
	}
	return b.String()
}
