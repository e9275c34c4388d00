package loki

import (
	_ "embed"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The lists of queries are read by people too. A line is a query, which may have \n. A
// line "@ ..." says how those below it are asked: as log, instant or range, with limit,
// direction, start, end, time, step and interval. Times are relative to Base. "#" begins a
// comment.
var (
	//go:embed queries.txt
	queriesText string
	//go:embed discover.txt
	discoverText string
)

// A Query is a query and how it is asked.
type Query struct {
	Query string `json:"query"`
	// Kind is log, instant or range. Log queries and range queries have Start and End, an
	// instant query has End.
	Kind      string `json:"kind"`
	Start     int64  `json:"start,omitempty"`
	End       int64  `json:"end"`
	Step      int64  `json:"step,omitempty"` // nanoseconds
	Interval  int64  `json:"interval,omitempty"`
	Limit     int    `json:"limit,omitempty"`
	Direction string `json:"direction,omitempty"`
}

// Queries returns the queries of the table; with discover, those of the second one.
func Queries(discover bool) ([]Query, error) {
	text := queriesText
	if discover {
		text = discoverText
	}
	var out []Query
	var how Query
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '@':
			var err error
			if how, err = parseHow(strings.Fields(line[1:])); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		default:
			how.Query = strings.ReplaceAll(line, `\N`, "\n")
			out = append(out, how)
		}
	}
	return out, nil
}

// parseHow reads what follows an "@".
func parseHow(words []string) (Query, error) {
	q := Query{End: Base + int64(time.Hour)}
	if len(words) == 0 {
		return q, fmt.Errorf("nothing after @; want log, instant or range")
	}
	switch q.Kind = words[0]; q.Kind {
	case "log":
		q.Start, q.Limit, q.Direction = Base, 10, "backward"
	case "range":
		q.Start, q.Step = Base, int64(5*time.Minute)
	case "instant":
	default:
		return q, fmt.Errorf("%q; want log, instant or range", q.Kind)
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		d, err := time.ParseDuration(value)
		switch name {
		case "start":
			q.Start = Base + int64(d)
		case "end", "time":
			q.End = Base + int64(d)
		case "step":
			q.Step = int64(d)
		case "interval":
			q.Interval = int64(d)
		case "limit":
			q.Limit, err = strconv.Atoi(value)
		case "direction":
			q.Direction, err = value, nil
		default:
			return q, fmt.Errorf("%q; want a setting", word)
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

// Path returns the path of the query's endpoint.
func (q Query) Path() string {
	if q.Kind == "instant" {
		return "/loki/api/v1/query"
	}
	return "/loki/api/v1/query_range"
}

// Parameters returns the parameters of a request.
func (q Query) Parameters() url.Values {
	v := url.Values{"query": {q.Query}}
	if q.Kind == "instant" {
		v.Set("time", fmt.Sprint(q.End))
		return v
	}
	v.Set("start", fmt.Sprint(q.Start))
	v.Set("end", fmt.Sprint(q.End))
	for name, d := range map[string]int64{"step": q.Step, "interval": q.Interval} {
		if d != 0 {
			v.Set(name, strconv.FormatFloat(time.Duration(d).Seconds(), 'f', -1, 64))
		}
	}
	if q.Kind == "log" {
		v.Set("limit", fmt.Sprint(q.Limit))
		v.Set("direction", q.Direction)
	}
	return v
}
