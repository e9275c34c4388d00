package lokiclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// A Query is a query in LogQL, and its times in nanoseconds since the Unix epoch.
type Query struct {
	Text string
	// Instant asks for the values at End; else the range is from Start to End.
	Instant    bool
	Start, End int64
	Step       time.Duration // 0: the server chooses
	Interval   time.Duration
	Limit      int // lines; 0: the server's default
	Forward    bool
	Explain    bool
}

// An Entry is a line.
type Entry struct {
	Time     int64 // nanoseconds since the Unix epoch
	Line     string
	Labels   map[string]string
	Metadata map[string]string // of an export
	Cursor   string            // of an export
}

// A Series is a row of the result of a metric query.
type Series struct {
	Labels map[string]string
	Points []Point
}

// A Point is a value at a moment.
type Point struct {
	Time  int64 // nanoseconds since the Unix epoch
	Value string
}

// A Result is the answer to a query.
type Result struct {
	Kind     string   // "streams", "vector", "matrix" or "scalar"
	Entries  []Entry  // of streams, in the order that was asked for
	Series   []Series // of the others; one point each but for a matrix
	Stats    json.RawMessage
	Plan     *Plan // with Query.Explain, of stele serve
	Warnings []string
}

// A Plan is what a query does.
type Plan struct {
	Text string
	JSON json.RawMessage `json:"-"`
}

// Query asks for the result of a query.
func (c *Client) Query(ctx context.Context, q Query) (*Result, error) {
	v := url.Values{"query": {q.Text}}
	path := "/loki/api/v1/query_range"
	if q.Instant {
		path = "/loki/api/v1/query"
		v.Set("time", strconv.FormatInt(q.End, 10))
	} else {
		v.Set("start", strconv.FormatInt(q.Start, 10))
		v.Set("end", strconv.FormatInt(q.End, 10))
	}
	if q.Step > 0 {
		v.Set("step", strconv.FormatFloat(q.Step.Seconds(), 'f', -1, 64))
	}
	if q.Interval > 0 {
		v.Set("interval", strconv.FormatFloat(q.Interval.Seconds(), 'f', -1, 64))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	v.Set("direction", "backward")
	if q.Forward {
		v.Set("direction", "forward")
	}
	if q.Explain {
		v.Set("explain", "true")
	}
	var doc struct {
		Status string
		Data   struct {
			ResultType string
			Result     json.RawMessage
			Stats      json.RawMessage
			Plan       json.RawMessage
		}
		Warnings []string
	}
	if err := c.getJSON(ctx, path, v, &doc); err != nil {
		return nil, err
	}
	r := &Result{Kind: doc.Data.ResultType, Stats: doc.Data.Stats, Warnings: doc.Warnings}
	if len(doc.Data.Plan) > 0 {
		r.Plan = &Plan{JSON: doc.Data.Plan}
		if err := json.Unmarshal(doc.Data.Plan, r.Plan); err != nil {
			return nil, fmt.Errorf("the plan of %s cannot be read: %w", path, err)
		}
	}
	if err := r.decode(doc.Data.Result, q.Forward); err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: %w", path, err)
	}
	return r, nil
}

// getJSON decodes an answer into doc.
func (c *Client) getJSON(ctx context.Context, path string, params url.Values, doc any) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	resp, err := c.get(ctx, path, params)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(doc); err != nil {
		return fmt.Errorf("the answer of %s cannot be read: %w", path, err)
	}
	return nil
}

func (r *Result) decode(data json.RawMessage, forward bool) (err error) {
	switch r.Kind {
	case "streams":
		r.Entries, err = decodeStreams(data)
		// The lines of a stream are in order: only streams are merged.
		slices.SortStableFunc(r.Entries, func(a, b Entry) int {
			if forward {
				return cmp.Compare(a.Time, b.Time)
			}
			return cmp.Compare(b.Time, a.Time)
		})
	case "vector", "matrix":
		r.Series, err = decodeSeries(data)
	case "scalar":
		var p point
		err = json.Unmarshal(data, &p)
		r.Series = []Series{{Points: []Point{Point(p)}}}
	default:
		err = fmt.Errorf("a result of type %q", r.Kind)
	}
	return err
}

// A stream is lines with their labels, as the protocol has them.
type stream struct {
	Stream map[string]string
	Values []value
}

// A value is the time of a line and its text: ["1700000000000000000", "text"].
type value struct {
	time int64
	line string
}

func (v *value) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil || len(parts) < 2 {
		return fmt.Errorf("%.100s; want a time and a line", data)
	}
	var text string
	if err := json.Unmarshal(parts[0], &text); err != nil {
		return err
	}
	var err error
	if v.time, err = strconv.ParseInt(text, 10, 64); err != nil {
		return err
	}
	return json.Unmarshal(parts[1], &v.line)
}

func decodeStreams(data json.RawMessage) (all []Entry, err error) {
	var streams []stream
	if err := json.Unmarshal(data, &streams); err != nil {
		return nil, err
	}
	return entriesOf(streams), nil
}

func entriesOf(streams []stream) (all []Entry) {
	for _, s := range streams {
		for _, v := range s.Values {
			all = append(all, Entry{Time: v.time, Line: v.line, Labels: s.Stream})
		}
	}
	return all
}

// A point is [1700000000.123, "42"].
type point Point

func (p *point) UnmarshalJSON(data []byte) error {
	var seconds json.Number
	if err := json.Unmarshal(data, &[]any{&seconds, &p.Value}); err != nil {
		return err
	}
	f, err := seconds.Float64()
	p.Time = int64(f*1000+0.5) * int64(time.Millisecond)
	return err
}

func decodeSeries(data json.RawMessage) ([]Series, error) {
	var rows []struct {
		Metric map[string]string
		Value  *point
		Values []point
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, err
	}
	all := make([]Series, len(rows))
	for i, row := range rows {
		all[i].Labels = row.Metric
		if row.Value != nil {
			row.Values = append(row.Values, *row.Value)
		}
		for _, p := range row.Values {
			all[i].Points = append(all[i].Points, Point(p))
		}
	}
	return all, nil
}
