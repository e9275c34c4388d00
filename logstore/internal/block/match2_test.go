package block

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore/internal/template"
)

// TestSearchRegexp compares searches for regular expressions with all rows.
func TestSearchRegexp(t *testing.T) {
	var e Encoder
	var d Decoder
	r := rand.New(rand.NewPCG(11, 12))
	exprs := []string{
		`\d+\.\d+\.\d+\.\d+`, `[0-4]\.`, `[A-Z]{3,}`, `^\S+ \d`, `\d{5}`, `[^ -~]`, `\bto`, `=\w+`, `(?i)GET|user`, `[a-f]\d[a-f]`, `..`, `:\d\d:`, `"\d`, `-\d`, `z+$`,
	}
	all := shapes()
	all["services"] = serviceRows(700)
	sures, rest := 0, 0
	for name, rows := range all {
		if len(rows) > 2000 || slices.ContainsFunc(rows, func(r row) bool { return len(r.line) > 300 }) {
			continue
		}
		p, dictionary := encode2(t, &e, rows)
		if err := d.Open(p, dictionary); err != nil {
			t.Fatal(err)
		}
		for _, s := range append(exprs, regexp.QuoteMeta(strings.ToValidUTF8(rows[r.IntN(len(rows))].line, "."))) {
			re := regexp.MustCompile(s)
			test := template.Regexp(nil, re)
			if r.IntN(4) == 0 {
				test = template.Any(test, template.Has(template.NewNeedle([]byte("oo"), template.Bytes)))
				re = regexp.MustCompile("(?:" + s + ")|oo")
			}
			m, _, err := d.Search(template.NewPlan(template.NewQuery(test), dictionary))
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range rows {
				may, sure, want := hasBit(m.May, i), hasBit(m.Sure, i), re.MatchString(row.line)
				if want && !may || sure && !want || sure && !may {
					t.Fatalf("%s: %q in row %d, %q: may %v, sure %v; want %v", name, s, i, row.line, may, sure, want)
				}
				if sure {
					sures++
				} else if !may {
					rest++
				}
			}
		}
	}
	if sures == 0 || rest == 0 {
		t.Errorf("%d rows were sure, %d ruled out; want some", sures, rest)
	}
}
