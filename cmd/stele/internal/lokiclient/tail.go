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
	"sync/atomic"
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

// A TailMessage is the lines that came together. The first of a connection has none: it
// says that there is a connection.
type TailMessage struct {
	Entries []Entry
	Dropped int64 // lines that the server dropped before these, as they were not taken fast enough
}

const (
	// maxTailMessage bounds a message of a tail.
	maxTailMessage = 64 << 20
	// tailPing is how often a server that sends nothing is asked whether it is still there, and
	// tailPong how long it may take to answer.
	tailPing = 30 * time.Second
	tailPong = 15 * time.Second
)

// Tail ranges over new lines, until ctx is done or the connection ends, which is an error.
func (c *Client) Tail(ctx context.Context, t Tail) iter.Seq2[TailMessage, error] {
	return func(yield func(TailMessage, error) bool) {
		conn, err := c.dialTail(ctx, t)
		if err != nil {
			yield(TailMessage{}, err)
			return
		}
		defer conn.CloseNow()
		if !yield(TailMessage{}, nil) {
			return
		}
		conn.SetReadLimit(maxTailMessage)
		r := tailReader{conn: conn, addr: c.Addr(), ping: c.tailPing, pong: c.tailPong}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go r.watch(ctx, cancel)
		for {
			data, err := r.read(ctx)
			if err != nil {
				yield(TailMessage{}, tailError(ctx, err))
				return
			}
			message, err := decodeTail(data)
			if !yield(message, err) || err != nil {
				return
			}
		}
	}
}

// A tailReader reads the messages of a connection, and notices a peer that has vanished
// without a word.
type tailReader struct {
	conn       *websocket.Conn
	addr       string
	ping, pong time.Duration

	// reads is odd while a read is under way, and grows. Only then is an answer to a ping
	// read.
	reads atomic.Uint64
}

func (r *tailReader) read(ctx context.Context) ([]byte, error) {
	r.reads.Add(1)
	defer r.reads.Add(1)
	_, data, err := r.conn.Read(ctx)
	return data, err
}

// watch cancels a read in which nothing comes, not even the answer to a ping.
func (r *tailReader) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	for ticker := time.NewTicker(r.ping); ; {
		select {
		case <-ctx.Done():
			ticker.Stop()
			return
		case <-ticker.C:
		}
		n := r.reads.Load()
		if n%2 == 0 {
			continue // an answer would not be read
		}
		pingCtx, end := context.WithCancel(ctx)
		late := time.AfterFunc(r.pong, func() {
			if r.reads.Load() == n {
				cancel(&url.Error{Op: "tail", URL: r.addr, Err: errSilent})
			}
			end() // cuts the connection off if the ping is not even written
		})
		_ = r.conn.Ping(pingCtx) // the read tells of an error
		late.Stop()
		end()
	}
}

var errSilent = errors.New("the server does not answer a ping")

func decodeTail(data []byte) (m TailMessage, err error) {
	var doc struct {
		Streams []stream
		Dropped []json.RawMessage `json:"dropped_entries"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return m, fmt.Errorf("a message of the tail cannot be read: %w", err)
	}
	m.Entries = entriesOf(doc.Streams)
	for _, d := range doc.Dropped {
		m.Dropped += droppedLines(d)
	}
	return m, nil
}

// droppedLines is how many lines an entry of dropped_entries stands for: that of Loki names
// one line, and that of stele serve has their number as the value of its only label.
func droppedLines(entry json.RawMessage) int64 {
	var doc struct{ Labels map[string]string }
	if json.Unmarshal(entry, &doc) == nil && len(doc.Labels) == 1 {
		if n, err := strconv.ParseInt(doc.Labels["dropped"], 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// tailError is the error of a connection that ended: the server's reason, if it gave one.
// It is temporary unless the server says that the query is wrong.
func tailError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
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
	bounded, end := c.bounded(ctx)
	defer end()
	conn, resp, err := websocket.Dial(bounded, u.String(), &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: h})
	if err == nil {
		return conn, nil
	}
	if bounded.Err() != nil && ctx.Err() == nil {
		err = context.Cause(bounded)
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode >= 400 {
		message, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
		return nil, &Error{Status: resp.StatusCode, Message: string(message), RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	}
	return nil, &url.Error{Op: "tail", URL: c.Addr(), Err: err}
}
