package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
	"github.com/stele-go/stele/cmd/stele/internal/settings"
	"github.com/stele-go/stele/internal/setting"
)

const queryUsage = `Usage: stele query QUERY [flags]

Answers a query in LogQL: by the server at --addr, stele serve or Loki, or with --data
from a store that no process has open.

A query of lines shows the newest --limit ones of the range; --direction says which come
first. A metric query has a value for each --step of the range, or with --instant at
its end.

Formats (-o):
  text   a line each, with its time and labels; metrics as a table (the default)
  raw    the lines alone; of metrics the values
  json   a JSON object each: time, line and labels; or labels and points
  csv    a row each, with a header; as of stele export

With --explain the plan of the query is printed in the place of its result: what the
index answers, what is left to be read, and how much was.

It exits with 0 if there was an answer, even one of nothing; with 1 if there was none;
and with 2 if the query is wrong: then standard error shows where.

Examples:
  stele query --data store '{app="api"}'
  stele query --data store '{app="api"} |= "line"' --from 0 --limit 5 -o raw
  stele query --data store 'sum by (app) (count_over_time({app="api"}[1h]))' --instant -o json
  stele query --data store '{app="api"} |= "line"' --explain
`

// querying are the flags of stele query.
type querying struct {
	asking
	output          string
	direction, step string
	interval        string
	limit           int
	instant         bool
	explain, stats  bool
}

func queryCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele query", queryUsage)
	var q querying
	q.serverFlags(f)
	q.dataFlag(f)
	q.rangeFlags(f, "1h")
	f.IntVarP(&q.limit, "limit", "n", 100, "show at most `N` lines")
	f.StringVar(&q.direction, "direction", "backward", "`WORD` backward shows the newest first, forward the oldest")
	f.BoolVar(&q.instant, "instant", false, "of a metric query: the value at the end of the range")
	f.StringVar(&q.step, "step", "", "of a metric query: `TIME` from a value to the next (default: of some 250 values)")
	f.StringVar(&q.interval, "interval", "", "at most one line of a stream in each `TIME`")
	f.StringVarP(&q.output, "output", "o", "text", "`FORMAT` text, raw, json or csv")
	f.BoolVar(&q.explain, "explain", false, "print the plan of the query, and what was read, and no result")
	f.BoolVar(&q.stats, "stats", false, "print the server's statistics of the query on standard error")
	color := colorFlag(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	request, err := q.request(time.Now())
	look, styleErr := newStyle(*color, stdout)
	if err = cmp.Or(argCount(f, "QUERY", 1, 1), err, styleErr, oneOf("--output", q.output, "text", "raw", "json", "csv")); err != nil {
		return usageError(stderr, f.Name(), exitUsage, err)
	}
	request.Text = f.Arg(0)
	return q.ask(ctx, stderr, request.Text, func(c *lokiclient.Client) error {
		r, err := c.Query(ctx, request)
		if err != nil {
			return err
		}
		for _, w := range r.Warnings {
			complain(stderr, f.Name(), errors.New(w))
		}
		if q.stats {
			fmt.Fprintf(stderr, "%s\n", r.Stats)
		}
		if q.explain {
			return printPlan(stdout, c, r)
		}
		return printResult(stdout, r, q.output, look)
	})
}

// request returns the query of the flags, without its text.
func (q *querying) request(now time.Time) (r lokiclient.Query, err error) {
	if r.Start, r.End, err = q.moments(now); err != nil {
		return r, err
	}
	r.Instant, r.Limit, r.Forward, r.Explain = q.instant, q.limit, q.direction == "forward", q.explain
	if r.Step, err = optionalTime("--step", q.step); err != nil {
		return r, err
	}
	if r.Interval, err = optionalTime("--interval", q.interval); err != nil {
		return r, err
	}
	return r, cmp.Or(
		setting.AtLeast("--limit", q.limit, 1),
		oneOf("--direction", q.direction, "backward", "forward"),
	)
}

// optionalTime reads a flag for a time that need not be given.
func optionalTime(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := settings.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, setting.Wrong(flag, text, "a time such as 30s, 5m or 1h")
	}
	return d, nil
}

// printPlan prints what a query does.
func printPlan(w io.Writer, c *lokiclient.Client, r *lokiclient.Result) error {
	if r.Plan == "" {
		return fmt.Errorf("--explain: %s answers without a plan; want stele serve", c.Addr())
	}
	_, err := fmt.Fprintln(w, r.Plan)
	return err
}
