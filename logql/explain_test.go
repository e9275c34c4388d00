package logql

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// A plan says what the store tests, what is left, and how much was read.
func TestExplain(t *testing.T) {
	s := openStore(t)
	fill(t, s)
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	e := NewEngine(s, Options{})
	for _, c := range []struct{ query, want string }{
		{`sum by (app) (count_over_time({env="prod", app=~".+"}[1m]))`, `aggregate: sum by (app)
  range: count_over_time({env="prod", app=~".+"}[1m])
    - lines are summed up by (app) at once, as the aggregation over it asks
    - streams {env="prod", app=~".+"}
    - counts by what the store knows of its blocks
    - segments: 1; `},
		{`sum(count_over_time({app="web"} |= "zanzibar" | logfmt | size>5 [1m]))`, `aggregate: sum
  range: count_over_time({app="web"} |= "zanzibar" | logfmt | size>5 [1m])
    - lines are summed up by () at once, as the aggregation over it asks
    - streams {app="web"}
    - index, then scan: contains "zanzibar"
    - scan for what later stages need: (has a number "size" > 5 or metadata has size!="")
    - the pipeline runs: | logfmt
    - the pipeline runs: | size>5
    - reads the lines once, for all steps
    - segments: 1; skipped 0 by time, 0 by streams or totals, `},
		{`{app="web"} |= "zanzibar" != "quiet" |~ "[0-9]+" |= "ab"`, `lines: {app="web"} |= "zanzibar" != "quiet" |~ "[0-9]+" |= "ab"
  - streams {app="web"}
  - index, then scan: contains "zanzibar"
  - scan: not contains "quiet"
  - scan: contains "ab"
  - the pipeline runs: |~ "[0-9]+"
  - segments: 1; `},
		{`{app="api"} | json | status="500"`, `lines: {app="api"} | json | status="500"
  - streams {app="api"}
  - index, then scan for what later stages need: (metadata has status="500" or has the word "500" or has the word "500" with escapes)
  - the pipeline runs: | json
  - the pipeline runs: | status="500"
  - segments: 1; `},
	} {
		r := rangeOf(c.query)
		r.Explain = true
		if plan := run(t, e, r).Plan; !strings.HasPrefix(plan.Text, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s...", c.query, plan.Text, c.want)
		}
	}
}

// stuck is a store whose queries wait for the end of their context.
type stuck struct{ *logstore.Store }

func (stuck) Fold(ctx context.Context, q logstore.Query, begin func(charge func(bytes int64) error) logstore.Folder) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestTimeLimit(t *testing.T) {
	e := NewEngine(stuck{openStore(t)}, Options{Limits: Limits{Time: 1}})
	var limit *LimitError
	if _, err := e.Run(context.Background(), rangeOf(`rate({app="a"} | json [1m])`)); !errors.As(err, &limit) || limit.Limit != "Limits.Time" {
		t.Errorf("error %v, want that of Limits.Time", err)
	}
}
