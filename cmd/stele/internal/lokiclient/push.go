package lokiclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// A Push is a batch of lines of one stream.
type Push struct {
	Labels  string // {app="api"}
	Entries []PushEntry
	// Source, unless it is empty, says where the lines come from, and each has its Offset
	// there, which grows: stele serve keeps each once. Loki knows of no sources.
	Source string
}

// A PushEntry is a line of a push.
type PushEntry struct {
	Time   int64 // nanoseconds since the Unix epoch
	Line   []byte
	Offset uint64 // in the source
}

// Body returns the body of the push.
func (p *Push) Body() []byte { return p.encode() }

// Push sends a push, of which body is the body. When it returns nil, the server has
// acknowledged all lines. An *Error with Refused says that all others are.
func (c *Client) Push(ctx context.Context, p *Push, body []byte) error {
	h := http.Header{"Content-Type": {"application/x-protobuf"}}
	if p.Source != "" {
		h.Set("X-Stele-Source", url.PathEscape(p.Source))
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	resp, err := c.do(ctx, http.MethodPost, "/loki/api/v1/push", "", h, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxMessage)) // so that the connection is used again
	return err
}

// ErrNoSources reports a server that knows of no sources: it is not stele serve.
var ErrNoSources = errors.New("the server keeps no bookmarks: it is not stele serve")

// Source returns the offset of the newest line that the server has of a source, and
// whether it has one. The error is ErrNoSources if the server cannot know.
func (c *Client) Source(ctx context.Context, name string) (offset uint64, known bool, err error) {
	var doc struct {
		Known  bool
		Offset string
	}
	err = c.getJSON(ctx, "/stele/api/v1/source", url.Values{"name": {name}}, &doc)
	if e, ok := errors.AsType[*Error](err); ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		return 0, false, ErrNoSources
	}
	if err != nil || !doc.Known {
		return 0, false, err
	}
	if offset, err = strconv.ParseUint(doc.Offset, 10, 64); err != nil {
		return 0, false, fmt.Errorf("the answer of /stele/api/v1/source cannot be read: %w", err)
	}
	return offset, true, nil
}

// ForgetSource forgets the offset of a source, of which no more comes.
func (c *Client) ForgetSource(ctx context.Context, name string) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	resp, err := c.do(ctx, http.MethodDelete, "/stele/api/v1/source", url.Values{"name": {name}}.Encode(), nil, nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
