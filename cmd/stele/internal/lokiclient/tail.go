package lokiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coder/websocket"
)

// A Tail is what a tail asks for.
type Tail struct {
	Query string
	Start int64 // in nanoseconds since the Unix epoch: lines from then on come first
	Limit int   // of those lines; 0: the server's default
	Delay time.Duration
}

// A Tailed is lines that came, and how many the server has dropped before them, as
// they were not taken fast enough.
type Tailed struct {
	Entries []Entry
	Dropped int
}

// maxTailed bounds a message of a tail.
const maxTailed = 64 << 20

// Tail ranges over new lines, until ctx is done or the connection ends, which is an error.
func (c *Client) Tail(ctx context.Context, t Tail) iter.Seq2[Tailed, error] {
	return func(yield func(Tailed, error) bool) {
		conn, err := c.dialTail(ctx, t)
		if err != nil {
			yield(Tailed{}, err)
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(maxTailed)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				yield(Tailed{}, tailError(ctx, err))
				return
			}
			var doc struct {
				Streams []stream
				Dropped []json.RawMessage `json:"dropped_entries"`
			}
			if err := json.Unmarshal(data, &doc); err != nil {
				yield(Tailed{}, fmt.Errorf("a message of the tail cannot be read: %w", err))
				return
			}
			if !yield(Tailed{entriesOf(doc.Streams), len(doc.Dropped)}, nil) {
				return
			}
		}
	}
}

// tailError is the error of a connection that ended: the server's reason, if it gave one.
// It is temporary unless the server says that the query is wrong.
func tailError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[websocket.CloseError](err); ok {
		status := http.StatusServiceUnavailable
		if e.Code == websocket.StatusPolicyViolation || e.Code == websocket.StatusUnsupportedData {
			status = http.StatusBadRequest
		}
		return &Error{Status: status, Message: "the tail was ended: " + e.Reason}
	}
	return fmt.Errorf("the tail was cut off: %w", errors.Join(err, io.ErrUnexpectedEOF))
}

func (c *Client) dialTail(ctx context.Context, t Tail) (*websocket.Conn, error) {
	v := url.Values{"query": {t.Query}}
	if t.Start > 0 {
		v.Set("start", strconv.FormatInt(t.Start, 10))
	}
	if t.Limit > 0 {
		v.Set("limit", strconv.Itoa(t.Limit))
	}
	if t.Delay > 0 {
		v.Set("delay_for", strconv.Itoa(int(t.Delay.Seconds())))
	}
	u := *c.base
	u.User, u.Path, u.RawQuery = nil, u.Path+"/loki/api/v1/tail", v.Encode()
	h := http.Header{}
	c.identify(h)
	conn, resp, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: h})
	if err == nil {
		return conn, nil
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode >= 400 {
		message, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
		return nil, &Error{Status: resp.StatusCode, Message: string(message), RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	}
	return nil, &url.Error{Op: "tail", URL: c.Addr(), Err: err}
}
