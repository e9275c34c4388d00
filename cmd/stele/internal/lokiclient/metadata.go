package lokiclient

import (
	"context"
	"net/url"
	"strconv"
)

// A Range bounds what is asked about streams, in nanoseconds since the Unix epoch.
type Range struct {
	Start, End int64
	Query      string // a selector; empty is all streams
}

func (r Range) values() url.Values {
	v := url.Values{"start": {strconv.FormatInt(r.Start, 10)}, "end": {strconv.FormatInt(r.End, 10)}}
	if r.Query != "" {
		v.Set("query", r.Query)
	}
	return v
}

// Labels returns the names of labels.
func (c *Client) Labels(ctx context.Context, r Range) ([]string, error) {
	var doc struct{ Data []string }
	err := c.getJSON(ctx, "/loki/api/v1/labels", r.values(), &doc)
	return doc.Data, err
}

// LabelValues returns the values of a label.
func (c *Client) LabelValues(ctx context.Context, name string, r Range) ([]string, error) {
	var doc struct{ Data []string }
	err := c.getJSON(ctx, "/loki/api/v1/label/"+name+"/values", r.values(), &doc)
	return doc.Data, err
}

// Series returns the labels of the streams that one of the selectors selects.
func (c *Client) Series(ctx context.Context, r Range, selectors []string) ([]map[string]string, error) {
	v := r.values()
	v["match[]"] = selectors
	var doc struct{ Data []map[string]string }
	err := c.getJSON(ctx, "/loki/api/v1/series", v, &doc)
	return doc.Data, err
}

// A Pattern is what lines have in common, and how many had it in each step.
type Pattern struct {
	Pattern string
	Level   string
	Samples [][2]int64 // seconds since the Unix epoch at which the step begins, and lines
}

// Lines returns how many lines had the pattern.
func (p *Pattern) Lines() (n int64) {
	for _, s := range p.Samples {
		n += s[1]
	}
	return n
}

// Patterns returns the patterns of the lines of the streams that r.Query selects, those
// with the most lines first: at most limit, if that is not 0, in steps of so many seconds,
// or of the server's choice.
func (c *Client) Patterns(ctx context.Context, r Range, step float64, limit int) ([]Pattern, error) {
	v := r.values()
	if step > 0 {
		v.Set("step", strconv.FormatFloat(step, 'f', -1, 64))
	}
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	var doc struct{ Data []Pattern }
	err := c.getJSON(ctx, "/loki/api/v1/patterns", v, &doc)
	return doc.Data, err
}
