package loki

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// A Tail is what a client of /loki/api/v1/tail gets first: lines that are there already.
type Tail struct {
	Query      string          `json:"query"`
	Limit      int             `json:"limit"`
	Start      int64           `json:"start"`
	Categorize bool            `json:"categorize,omitempty"` // with the flag categorize-labels
	Lines      int             `json:"lines"`                // of all messages
	Messages   json.RawMessage `json:"messages"`             // a list
}

func tails() []Tail {
	return []Tail{
		{Query: `{app="sparse"}`, Limit: 100, Start: Base, Lines: 6},
		{Query: `{app="sparse"}`, Limit: 100, Start: Base + int64(30*time.Minute), Lines: 3},
		{Query: `{app="shop"} | logfmt | level="error"`, Limit: 100, Start: Base + int64(50*time.Minute), Lines: 6},
		{Query: `{app="shop"} | logfmt | level="error"`, Limit: 100, Start: Base + int64(50*time.Minute), Lines: 6, Categorize: true},
		{Query: `{app="sparse"} | line_format "{{.host}}"`, Limit: 100, Start: Base, Lines: 6},
		{Query: `{app="sparse"}`, Limit: 2, Start: Base, Lines: 2},
	}
}

// Tails listens to each tail until it has its lines, or none come any more.
func (p *Process) Tails(ctx context.Context) ([]Tail, error) {
	all := tails()
	for i := range all {
		if err := p.tail(ctx, &all[i]); err != nil {
			return nil, fmt.Errorf("tail %s: %w", all[i].Query, err)
		}
	}
	return all, nil
}

func (p *Process) tail(ctx context.Context, t *Tail) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	v := url.Values{"query": {t.Query}, "limit": {fmt.Sprint(t.Limit)}, "start": {fmt.Sprint(t.Start)}}
	var o websocket.DialOptions
	if t.Categorize {
		o.HTTPHeader = map[string][]string{"X-Loki-Response-Encoding-Flags": {"categorize-labels"}}
	}
	c, _, err := websocket.Dial(ctx, strings.Replace(p.URL, "http", "ws", 1)+"/loki/api/v1/tail?"+v.Encode(), &o)
	if err != nil {
		return err
	}
	defer func() { _ = c.CloseNow() }()
	var messages []json.RawMessage
	n := 0
	for n < t.Lines {
		_, message, err := c.Read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		var m struct {
			Streams []struct{ Values []json.RawMessage }
		}
		if err := json.Unmarshal(message, &m); err != nil {
			return err
		}
		for _, s := range m.Streams {
			n += len(s.Values)
		}
		messages = append(messages, message)
	}
	t.Lines = n
	t.Messages, err = json.Marshal(messages)
	return err
}
