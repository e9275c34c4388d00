package logql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stele-go/stele/logql/internal/matrix"
)

// Limits bound each query. 0 means the default that the field names.
type Limits struct {
	Lines    int           // that a log query may ask for; 0 means 5,000
	Series   int           // of a metric query's result; 0 means 500
	Parts    int           // series of each part of a metric query; 0 means 100,000
	Steps    int           // moments of a metric query; 0 means 11,000
	Bytes    int64         // of blocks and lines read; 0 means no limit
	Memory   int64         // bytes that a query's result and sums may take, and as much again its series between operators; 0 means 64 MiB
	Time     time.Duration // of a query; 0 means a minute
	MaxRange time.Duration // of a query's selector; 0 means no limit
	Parallel int           // goroutines of a query; 0 means those of the store
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.Lines, 5000)
	setDefault(&l.Series, 500)
	setDefault(&l.Parts, 100_000)
	setDefault(&l.Steps, 11_000)
	setDefault(&l.Memory, 64<<20)
	setDefault(&l.Time, time.Minute)
	return l
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// defaultLines is the limit of lines of a request that names none.
const defaultLines = 100

// check returns an error for a request that makes no sense or asks for too much.
func (r *Request) check(l Limits) error {
	switch {
	case r.Start < 0:
		return &RequestError{"Start", fmt.Sprintf("%d ns; want 0 or more", r.Start)}
	case r.End < 0:
		return &RequestError{"End", fmt.Sprintf("%d ns; want 0 or more", r.End)}
	case !r.Instant && r.End < r.Start:
		return &RequestError{"End", fmt.Sprintf("%d ns, before Start, %d ns", r.End, r.Start)}
	case r.Step < 0:
		return &RequestError{"Step", fmt.Sprintf("%v; want more than 0", r.Step)}
	case r.Interval < 0:
		return &RequestError{"Interval", fmt.Sprintf("%v; want 0 (all lines) or more", r.Interval)}
	case r.Limit < 0:
		return &RequestError{"Limit", fmt.Sprintf("%d lines; want 0 (%d) or more", r.Limit, defaultLines)}
	case r.Limit > l.Lines:
		return &LimitError{"Limits.Lines", int64(l.Lines), fmt.Sprintf("a limit of %d lines", r.Limit)}
	}
	return nil
}

// steps returns the moments of a metric query.
func (r *Request) steps(l Limits) (matrix.Steps, error) {
	if r.Instant {
		return matrix.Steps{Start: r.End, End: r.End}, nil
	}
	s := matrix.Steps{Start: r.Start, End: r.End, Step: r.Step}
	if r.Step == 0 && r.Start != r.End {
		return s, &RequestError{"Step", "0; a range query wants more than 0"}
	}
	if r.Start != r.End && (r.End-r.Start)/int64(r.Step) >= int64(l.Steps) {
		return s, &LimitError{"Limits.Steps", int64(l.Steps), fmt.Sprintf(
			"%d points a series: make the step longer, or the range shorter", (r.End-r.Start)/int64(r.Step)+1)}
	}
	return s, nil
}

// checkRange returns an error for a selector that covers more time than it may.
func (l Limits) checkRange(from, to int64) error {
	if l.MaxRange > 0 && to-from > int64(l.MaxRange) {
		return &LimitError{"Limits.MaxRange", int64(l.MaxRange), fmt.Sprintf("lines of %v", time.Duration(to-from))}
	}
	return nil
}

// charge counts bytes that the query keeps.
func (x *execution) charge(bytes int64) error {
	if kept := x.kept.Add(bytes); kept > x.limits.Memory {
		return &LimitError{"Limits.Memory", x.limits.Memory, fmt.Sprintf("%d bytes of results and sums", kept)}
	}
	return nil
}

// chargeSeries counts the bytes of the series between operators, below 0 those that are not
// needed any more: they may take as much as all else.
func (x *execution) chargeSeries(bytes int64) error {
	if x.between += bytes; x.between > x.limits.Memory {
		return &LimitError{"Limits.Memory", x.limits.Memory, fmt.Sprintf("%d bytes of series between operators: aggregate by fewer labels first, or use fewer operators", x.between)}
	}
	return nil
}

// evaluationError makes an error of package matrix one of our own. leaf is the error of a
// leaf, if there was one.
func evaluationError(err, leaf error) error {
	var limit *matrix.LimitError
	var own *LimitError
	switch {
	case errors.As(err, &own):
		return own
	case leaf != nil:
		return leaf
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &limit):
		return &LimitError{"Limits.Parts", limit.Limit, fmt.Sprintf("at least %d series of %s: aggregate by fewer labels", limit.Series, limit.Expr)}
	}
	return &EvaluationError{err.Error()}
}
