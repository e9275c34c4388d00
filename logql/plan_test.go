package logql

import (
	"strings"
	"testing"

	"github.com/stele-go/stele/logql/syntax"
)

// What is summed up goes into the leaf below it, and equal leaves are computed once.
func TestMetricPlan(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{`sum by (app) (rate({app="a"}[1m]))`, `
aggregate: sum by (app)
  range: rate({app="a"}[1m])
    - lines are summed up by (app) at once, as the aggregation over it asks
`},
		{`topk(3, sum without (pod) (count_over_time({app="a"}[1m])))`, `
aggregate: topk (3)
  aggregate: sum without (pod)
    range: count_over_time({app="a"}[1m])
      - lines are summed up without (pod) at once, as the aggregation over it asks
`},
		{`avg by (app) (rate({app="a"}[1m]))`, `
aggregate: avg by (app)
  range: rate({app="a"}[1m])
`},
		{`sum(rate({app="a"}[1m])) / sum(rate({app="a"}[1m]))`, `
join: /
  aggregate: sum
    range: rate({app="a"}[1m])
      - lines are summed up by () at once, as the aggregation over it asks
  aggregate: sum
    range: rate({app="a"}[1m])
      - the same as above, computed once
`},
		{`sum(rate({app="a"}[1m])) / sum by (x) (rate({app="a"}[1m]))`, `
join: /
  aggregate: sum
    range: rate({app="a"}[1m])
      - lines are summed up by () at once, as the aggregation over it asks
  aggregate: sum by (x)
    range: rate({app="a"}[1m])
      - lines are summed up by (x) at once, as the aggregation over it asks
`},
		{`max(max_over_time({app="a"} | unwrap x [1m]) by (y))`, `
aggregate: max
  range: max_over_time({app="a"} | unwrap x [1m]) by (y)
`},
		{`label_replace(rate({app="a"}[1m]), "b", "$1", "a", "(.*)") > 2`, `
join: >
  label_replace: b
    range: rate({app="a"}[1m])
  number: 2
`},
	} {
		expr, err := syntax.ParseMetric(c.query)
		if err != nil {
			t.Fatal(err)
		}
		p := newMetricPlan(expr)
		if got := p.describe(p.expr).plan().Text; got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant%s", c.query, got, c.want)
		}
	}
}
