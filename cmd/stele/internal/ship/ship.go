// Package ship sends pushes until the server has acknowledged them.
package ship

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
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
}

// Send sends a push, again and again while the server cannot take it. When it returns nil,
// all lines are acknowledged, but for those that the server refuses for good, which are
// counted; why is their error.
func (s *Sender) Send(ctx context.Context, p *lokiclient.Push) (refused int, why, err error) {
	body := p.Body()
	least, most := s.Least, s.Most
	if least == 0 {
		least = 100 * time.Millisecond
	}
	if most == 0 {
		most = 15 * time.Second
	}
	begun := time.Now()
	for wait := least; ; wait = min(2*wait, most) {
		err = s.Pusher.Push(ctx, p, body)
		if err == nil {
			return 0, nil, nil
		}
		if e, ok := errors.AsType[*lokiclient.Error](err); ok && e.Status == http.StatusBadRequest && (e.Refused > 0 || s.Lenient) {
			return max(1, e.Refused), err, nil
		}
		if ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		if !lokiclient.Temporary(err) {
			return 0, nil, err
		}
		pause := s.pause(wait, err)
		if s.GiveUp > 0 && time.Since(begun)+pause > s.GiveUp {
			return 0, nil, fmt.Errorf("given up after %v: %w", time.Since(begun).Round(time.Millisecond), err)
		}
		if s.Retry != nil {
			s.Retry(err, pause)
		}
		if err := sleep(ctx, pause); err != nil {
			return 0, nil, err
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
