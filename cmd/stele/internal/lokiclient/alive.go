package lokiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// A patience ends a request whose answer may come slowly, once the server is not there any
// more: when nothing has come for half of Options.Timeout, the server is asked whether it is
// ready, and has the other half to answer anything.
type patience struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	// waits is odd while the answer is waited for, and grows.
	waits atomic.Uint64
}

// patient returns a patience, and the context of its request. Cancel it.
func (c *Client) patient(ctx context.Context) *patience {
	p := &patience{c: c}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	if c.o.Timeout > 0 {
		go p.watch()
	}
	return p
}

// wait calls f, which waits for the server.
func (p *patience) wait(f func() error) error {
	p.waits.Add(1)
	err := f()
	p.waits.Add(1)
	if lost, ok := errors.AsType[*url.Error](context.Cause(p.ctx)); err != nil && ok {
		return lost
	}
	return err
}

func (p *patience) watch() {
	ticker := time.NewTicker(max(p.c.probe, 1))
	defer ticker.Stop()
	for {
		n := p.waits.Load()
		select {
		case <-p.ctx.Done():
			return
		case <-ticker.C:
		}
		if n%2 == 1 && p.waits.Load() == n && !p.c.isThere(p.ctx) && p.waits.Load() == n {
			p.cancel(&url.Error{Op: "export", URL: p.c.Addr(), Err: p.c.noAnswer()})
			return
		}
	}
}

// isThere reports whether the server answers anything.
func (c *Client) isThere(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout-c.o.Timeout/2)
	defer cancel()
	resp, err := c.do(ctx, http.MethodGet, "/ready", "", nil, nil)
	if err == nil {
		resp.Body.Close()
		return true
	}
	_, answered := errors.AsType[*Error](err)
	return answered
}

func (c *Client) noAnswer() error {
	return fmt.Errorf("no answer within --timeout, %v", c.o.Timeout)
}

// A patientReader reads an answer.
type patientReader struct {
	p *patience
	r io.Reader
}

// Read waits as long as the server is there.
func (r patientReader) Read(buf []byte) (n int, err error) {
	err = r.p.wait(func() error {
		n, err = r.r.Read(buf)
		return err
	})
	return n, err
}
