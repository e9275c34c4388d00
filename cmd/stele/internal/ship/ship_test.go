package ship

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/cmd/stele/internal/lokiclient"
)

// A script answers pushes with its errors, one after the other, and then with success.
type script struct {
	errs   []error
	bodies []string
}

func (s *script) Push(_ context.Context, _ *lokiclient.Push, body []byte) error {
	s.bodies = append(s.bodies, string(body))
	if len(s.errs) == 0 {
		return nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return err
}

func aPush() *lokiclient.Push {
	return &lokiclient.Push{Labels: `{a="b"}`, Entries: []lokiclient.PushEntry{{Time: 1, Line: []byte("x")}}}
}

func TestSendTriesAgainWhatMaySucceed(t *testing.T) {
	p := &script{errs: []error{
		&url.Error{Op: "Post", Err: io.EOF},
		&lokiclient.Error{Status: 429, RetryAfter: 30 * time.Millisecond},
		&lokiclient.Error{Status: 503},
		&lokiclient.Error{Status: 500},
	}}
	var waits []time.Duration
	s := Sender{Pusher: p, Least: time.Millisecond, Most: 2 * time.Millisecond, Retry: func(_ error, w time.Duration) { waits = append(waits, w) }}
	if refused, why, err := s.Send(t.Context(), aPush()); refused != 0 || why != nil || err != nil {
		t.Fatal(refused, why, err)
	}
	if len(waits) != 4 || waits[0] > time.Millisecond || waits[1] < 30*time.Millisecond || waits[3] > 2*time.Millisecond {
		t.Errorf("waits %v", waits)
	}
	for _, b := range p.bodies {
		if b != p.bodies[0] {
			t.Error("a retry has another body")
		}
	}
}

func TestSendEndsAtWhatWillNot(t *testing.T) {
	for _, status := range []int{400, 401, 404, 413} {
		p := &script{errs: []error{&lokiclient.Error{Status: status}}}
		s := Sender{Pusher: p}
		if _, _, err := s.Send(t.Context(), aPush()); err == nil || len(p.bodies) != 1 {
			t.Errorf("%d: %v after %d tries", status, err, len(p.bodies))
		}
	}
}

func TestSendCountsRefusedLines(t *testing.T) {
	s := Sender{Pusher: &script{errs: []error{&lokiclient.Error{Status: 400, Refused: 3}}}}
	if n, why, err := s.Send(t.Context(), aPush()); n != 3 || why == nil || err != nil {
		t.Error(n, why, err)
	}
	s = Sender{Pusher: &script{errs: []error{&lokiclient.Error{Status: 400}}}, Lenient: true}
	if n, why, err := s.Send(t.Context(), aPush()); n != 1 || why == nil || err != nil {
		t.Error(n, why, err)
	}
}

func TestSendGivesUp(t *testing.T) {
	errs := make([]error, 10_000)
	for i := range errs {
		errs[i] = &lokiclient.Error{Status: 503}
	}
	s := Sender{Pusher: &script{errs: errs}, Least: time.Millisecond, Most: time.Millisecond, GiveUp: 20 * time.Millisecond}
	if _, _, err := s.Send(t.Context(), aPush()); err == nil || !strings.Contains(err.Error(), "given up after") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s = Sender{Pusher: &script{errs: errs}, Retry: func(error, time.Duration) { cancel() }}
	if _, _, err := s.Send(ctx, aPush()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
