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
