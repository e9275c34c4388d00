// Package ship sends pushes until the server has acknowledged them.
package ship

import (
	"cmp"
	"context"
	"crypto/sha256"
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

// mostParts is in how many parts a push is sent at most, so that a line that the server
// refuses does not hold the others.
const mostParts = 64

// Send sends a push, again and again while the server cannot take it. When it returns nil,
// all lines are acknowledged, but for those that the server refuses for good, which are
// counted; why is their error.
//
// Where the server refuses the body, and does not say how many lines of it, the halves of
// the push are sent, and theirs: what is refused alone is counted. If the server has never
// taken a line, and is not Lenient, that is an error: not a line is wrong, but what all have.
func (s *Sender) Send(ctx context.Context, p *lokiclient.Push) (refused int, why, err error) {
	parts := mostParts
	refused, why, err = s.part(ctx, p, &parts)
	if err == nil && refused == len(p.Entries) && !s.Lenient && !s.accepted.Load() {
		return 0, nil, why
	}
	return refused, why, err
}

// part sends a part of a push.
func (s *Sender) part(ctx context.Context, p *lokiclient.Push, parts *int) (refused int, why, err error) {
	err = s.deliver(ctx, p)
	if err == nil {
		s.accepted.Store(true)
		return 0, nil, nil
	}
	e, ok := errors.AsType[*lokiclient.Error](err)
	if !ok || ctx.Err() != nil || e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge {
		return 0, nil, err
	}
	if n := min(refusedLines(e), len(p.Entries)); n > 0 {
		if n < len(p.Entries) {
			s.accepted.Store(true)
		}
		return n, e, nil
	}
	if len(p.Entries) == 1 || *parts < 2 {
		return len(p.Entries), e, nil
	}
	*parts -= 2
	for _, half := range halves(p) {
		n, w, err := s.part(ctx, half, parts)
		if err != nil {
			return refused, why, err
		}
		if refused += n; w != nil {
			why = w
		}
	}
	if why == nil && s.Lenient {
		return 1, e, nil // the first answer was about a line that is now in the store, or left out
	}
	return refused, why, nil
}

// halves returns the halves of a push, with keys of their own.
func halves(p *lokiclient.Push) [2]*lokiclient.Push {
	a, b := *p, *p
	mid := len(p.Entries) / 2
	a.Entries, b.Entries = p.Entries[:mid], p.Entries[mid:]
	if p.Key != [16]byte{} {
		for i, half := range []*lokiclient.Push{&a, &b} {
			h := sha256.Sum256(append(p.Key[:], byte(i)))
			copy(half.Key[:], h[:])
		}
	}
	return [2]*lokiclient.Push{&a, &b}
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
