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

A log query shows the newest --limit lines of the range, and with --direction forward
the oldest. A metric query has a value for each --step of the range, or with --instant
one at its end.

Formats (-o):
  text   a line each, with its time and labels; metrics as a table (the default)
  raw    the lines alone; of metrics the values
  json   a JSON object each: time, line and labels; or labels and points
  csv    a row each, with a header; as of stele export

With --explain the plan of the query is printed instead of its result: what the index
answers, what is left to be read, and how much was read and skipped, also of the templates
and columns of lines; -o json prints it as JSON.

It exits with 0 if there was an answer, even an empty one; with 1 if there was no answer;
and with 2 if the query or a flag is wrong: then standard error shows where.

Examples:
  stele query '{app="shop"} |= "timeout"'
  stele query 'sum by (app) (count_over_time({app="shop"}[1m]))' --since 1h -o csv
  stele query '{app="shop"} | logfmt | level="error"' --explain
  stele query --data store '{app="api"} |= "line"' --from 0 --limit 5 -o raw
`

// queryFlags are the flags of stele query.
type queryFlags struct {
	clientFlags
	output          string
	direction, step string
	interval        string
	limit           int
	instant         bool
	explain, stats  bool
}

func queryCommand(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	f := newFlags("stele query", queryUsage)
	var q queryFlags
	q.serverFlags(f)
	q.dataFlag(f)
	q.rangeFlags(f, "1h")
	f.IntVarP(&q.limit, "limit", "n", 100, "show at most `N` lines; a server has a limit of its own, 5000 by default")
	f.StringVar(&q.direction, "direction", "backward", "`WORD` backward shows the newest lines, newest first, forward the oldest")
	f.BoolVar(&q.instant, "instant", false, "of a metric query: the value at the end of the range")
	f.StringVar(&q.step, "step", "", "of a metric query: `TIME` from a value to the next (default: about 250 values in the range)")
	f.StringVar(&q.interval, "interval", "", "at most one line of a stream in each `TIME`")
	f.StringVarP(&q.output, "output", "o", "text", "`FORMAT` text, raw, json or csv")
	f.BoolVar(&q.explain, "explain", false, "print the plan of the query, and how much was read, instead of the result")
	f.BoolVar(&q.stats, "stats", false, "print the server's statistics of the query on standard error")
	color := colorFlag(f)
	if code, done := parse(f, args, exitUsage, stdout, stderr); done {
		return code
	}
	request, err := q.request(time.Now())
	look, styleErr := newStyle(*color, stdout)
	if err = cmp.Or(argCount(f, "QUERY", 1, 1), err, styleErr, q.checkOutput()); err != nil {
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
			return q.printPlan(stdout, c, r)
		}
		return printResult(stdout, r, q.output, look)
	})
}

// request returns the query of the flags, without its text.
func (q *queryFlags) request(now time.Time) (r lokiclient.Query, err error) {
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
	if q.instant && q.step != "" {
		return r, setting.Wrong("--step", q.step, "no --step with --instant, which has one value")
	}
	return r, cmp.Or(
		q.checkTimeout(),
		setting.AtLeast("--limit", q.limit, 1),
		oneOf("--direction", q.direction, "backward", "forward"),
	)
}

func (q *queryFlags) checkOutput() error {
	if q.explain {
		return oneOf("--output with --explain", q.output, "text", "json")
	}
	return oneOf("--output", q.output, "text", "raw", "json", "csv")
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
func (q *queryFlags) printPlan(w io.Writer, c *lokiclient.Client, r *lokiclient.Result) error {
	if r.Plan == nil {
		return fmt.Errorf("--explain: %s answers without a plan; want stele serve", c.Addr())
	}
	if q.output == "json" {
		_, err := fmt.Fprintf(w, "%s\n", r.Plan.JSON)
		return err
	}
	_, err := fmt.Fprintln(w, r.Plan.Text)
	return err
}
