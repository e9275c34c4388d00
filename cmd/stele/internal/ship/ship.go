// Package ship sends pushes until the server has acknowledged them.
package ship

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

// A Pusher takes pushes: a *lokiclient.Client.
type Pusher interface {
	Push(ctx context.Context, p *lokiclient.Push, body []byte) error
}

// A Sender sends pushes. Many goroutines may use one.
type Sender struct {
	Pusher Pusher
	// GiveUp is how long a push is tried again; 0 is for ever.
	GiveUp time.Duration
	// Least and Most bound the wait before a retry, which doubles from one to the next. 0
	// means 100 ms and 15 s. A server that names a time is not asked earlier.
	Least, Most time.Duration
	// Retry, unless nil, is told of each error after which a push is tried again, and of the
	// time until then.
	Retry func(err error, wait time.Duration)
	// Lenient takes each refusal of a body as one of lines, after which the others are
	// kept, as Loki does not tell them apart.
	Lenient bool

	accepted atomic.Bool // a push was, once
}

const (
	// mostAlone is after how many lines, each refused alone, a server that has never taken one
	// is not asked for the others. If Lenient, these are sent in parts of leastPart lines then,
	// as Loki keeps the good ones of a body that it refuses.
	mostAlone = 1000
	leastPart = 100
)

// Send sends a push, again and again while the server cannot take it. When it returns nil,
// all lines are acknowledged, but for those that the server refuses for good, which are
// counted; why is the error of the last of them.
//
// Where the server refuses the body, and does not say how many lines of it, smaller parts are
// sent, down to single lines: each line is acknowledged, or refused alone. Unless Lenient, a
// server that has never taken a line is an error after 1,000 lines, or after fewer if they are
// all: not a line is wrong then, but what all have. If Lenient, parts of 100 lines are sent
// after 1,000, and all lines of one that is refused are counted.
func (s *Sender) Send(ctx context.Context, p *lokiclient.Push) (refused int, why, err error) {
	part, size := *p, len(p.Entries) // size is of the next part
	alone := 0                       // lines that were refused alone, since a part was taken
	grow := false                    // the line that a part was refused for is left behind
	least := 1                       // lines of a part that is not made smaller
	var whole *lokiclient.Error      // how a part of several lines was refused
	for at := 0; at < len(p.Entries); {
		part.Entries = p.Entries[at:min(at+size, len(p.Entries))]
		n := len(part.Entries)
		e, err := s.offer(ctx, &part)
		switch {
		case err != nil:
			return refused, why, err
		case e == nil || refusedLines(e) > 0:
			if e != nil {
				refused, why = refused+min(refusedLines(e), n), e
			}
			if grow {
				size = 2 * n
			}
			at, alone, least = at+n, 0, 1
		case n == 1 || n <= least && e.Status == http.StatusBadRequest:
			refused, why, at, alone, grow = refused+n, e, at+n, alone+n, true
			switch {
			case alone < mostAlone:
			case s.Lenient && e.Status == http.StatusBadRequest:
				least, size = leastPart, leastPart
			case !s.accepted.Load():
				return 0, nil, fmt.Errorf("%d lines were refused, one after the other: %w", alone, e)
			}
		default:
			whole, size, grow = e, n/2, false
		}
	}
	if refused == len(p.Entries) && !s.Lenient && !s.accepted.Load() {
		return 0, nil, why
	}
	if whole != nil && why == nil && s.Lenient && whole.Status == http.StatusBadRequest {
		return 1, whole, nil // it was about a line that is now in the store, or left out
	}
	return refused, why, nil
}

// offer sends a part of a push. e is how the server refuses it, or lines of it; err is any
// other failure.
func (s *Sender) offer(ctx context.Context, p *lokiclient.Push) (e *lokiclient.Error, err error) {
	if err = s.deliver(ctx, p); err == nil {
		s.accepted.Store(true)
		return nil, nil
	}
	e, ok := errors.AsType[*lokiclient.Error](err)
	if !ok || ctx.Err() != nil || e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge {
		return nil, err
	}
	if n := refusedLines(e); n > 0 && n < len(p.Entries) {
		s.accepted.Store(true)
	}
	return e, nil
}

// ignored is how Loki says how many lines of a stream it has not kept.
var ignored = regexp.MustCompile(`total ignored: (\d+) out of \d+`)

// refusedLines returns how many lines an error says that were refused while the others were
// kept; 0 if it does not say.
func refusedLines(e *lokiclient.Error) int {
	n := e.Refused
	if n == 0 && e.Status == http.StatusBadRequest {
		for _, m := range ignored.FindAllStringSubmatch(e.Message, -1) {
			lines, _ := strconv.Atoi(m[1])
			n += lines
		}
	}
	return n
}

// deliver sends a push until the server takes or refuses it.
func (s *Sender) deliver(ctx context.Context, p *lokiclient.Push) error {
	body := p.Body()
	least, most := cmp.Or(s.Least, 100*time.Millisecond), cmp.Or(s.Most, 15*time.Second)
	begun := time.Now()
	for wait := least; ; wait = min(2*wait, most) {
		err := s.Pusher.Push(ctx, p, body)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !lokiclient.Temporary(err) {
			return err
		}
		pause := s.pause(wait, err)
		if s.GiveUp > 0 && time.Since(begun)+pause > s.GiveUp {
			return fmt.Errorf("given up after %v: %w", time.Since(begun).Round(time.Millisecond), err)
		}
		if s.Retry != nil {
			s.Retry(err, pause)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// pause returns how long to wait: half to all of wait, so that many clients do not come at
// once, but not less than the server asks for.
func (s *Sender) pause(wait time.Duration, err error) time.Duration {
	pause := wait/2 + rand.N(wait/2+1)
	if e, ok := errors.AsType[*lokiclient.Error](err); ok && e.RetryAfter > pause {
		return e.RetryAfter + rand.N(wait/2+1)
	}
	return pause
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
