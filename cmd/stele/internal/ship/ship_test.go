package ship

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
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
	ten := aPush()
	ten.Entries = slices.Repeat(ten.Entries, 10)
	s := Sender{Pusher: &script{errs: []error{&lokiclient.Error{Status: 400, Refused: 3}}}}
	if n, why, err := s.Send(t.Context(), ten); n != 3 || why == nil || err != nil {
		t.Error(n, why, err)
	}
	s = Sender{Pusher: &script{errs: []error{&lokiclient.Error{Status: 400}}}, Lenient: true}
	if n, why, err := s.Send(t.Context(), aPush()); n != 1 || why == nil || err != nil {
		t.Error(n, why, err)
	}
	// As Loki says it.
	loki := &script{errs: []error{&lokiclient.Error{Status: 400, Message: "entry with timestamp 2027-01-15 ignored, reason: 'entry too far behind', user 'fake', total ignored: 7 out of 10 for stream: {a=\"b\"}"}}}
	s = Sender{Pusher: loki, Lenient: true}
	if n, why, err := s.Send(t.Context(), ten); n != 7 || why == nil || err != nil || len(loki.bodies) != 1 {
		t.Error(n, why, err)
	}
}

// A refuser takes only pushes without a bad line, and at most so many lines.
type refuser struct {
	status, most int
	took         []string
	pushes       int
}

func (r *refuser) Push(_ context.Context, p *lokiclient.Push, _ []byte) error {
	r.pushes++
	for _, e := range p.Entries {
		if string(e.Line) == "bad" || len(p.Entries) > r.most {
			return &lokiclient.Error{Status: r.status, Message: "no"}
		}
	}
	for _, e := range p.Entries {
		r.took = append(r.took, string(e.Line))
	}
	return nil
}

func TestABadLineDoesNotHoldTheOthers(t *testing.T) {
	push := func(lines string) *lokiclient.Push {
		p := &lokiclient.Push{Labels: `{a="b"}`}
		for line := range strings.FieldsSeq(lines) {
			p.Entries = append(p.Entries, lokiclient.PushEntry{Time: 1, Line: []byte(line)})
		}
		return p
	}
	for _, status := range []int{400, 413} {
		r := &refuser{status: status, most: 100}
		s := Sender{Pusher: r}
		n, why, err := s.Send(t.Context(), push("1 2 3 4 bad 6 7"))
		if n != 1 || why == nil || err != nil || strings.Join(r.took, " ") != "1 2 3 4 6 7" {
			t.Errorf("%d: %d lines refused, %v, %v; took %q", status, n, why, err, r.took)
		}
		r.took = nil
		if n, _, err := s.Send(t.Context(), push(strings.Repeat("bad ", 1000))); n != 1000 || err != nil || r.pushes > 1100 {
			t.Errorf("%d: %d lines refused, %v, after %d pushes", status, n, err, r.pushes)
		}
		r = &refuser{status: status, most: 100}
		s = Sender{Pusher: r}
		if _, _, err := s.Send(t.Context(), push(strings.Repeat("bad ", 10))); err == nil {
			t.Error("lines that are refused all, and were always, are no error")
		}
	}
	r := &refuser{status: 413, most: 3}
	s := Sender{Pusher: r}
	if n, why, err := s.Send(t.Context(), push("1 2 3 4 5 6 7 8 9")); n != 0 || why != nil || err != nil || len(r.took) != 9 {
		t.Errorf("%d lines refused, %v, %v; took %q", n, why, err, r.took)
	}
}

// However many lines are bad, the others are taken, in few more pushes than lines.
func TestEachSecondLineIsBad(t *testing.T) {
	const lines = 10_000
	for _, status := range []int{400, 413} {
		p := &lokiclient.Push{Labels: `{a="b"}`}
		for i := range lines {
			p.Entries = append(p.Entries, lokiclient.PushEntry{Time: 1, Line: []byte([]string{"good", "bad"}[i%2])})
		}
		r := &refuser{status: status, most: lines}
		s := Sender{Pusher: r}
		if n, why, err := s.Send(t.Context(), p); n != lines/2 || why == nil || err != nil || len(r.took) != lines/2 || r.pushes > 2*lines {
			t.Errorf("%d: %d of %d lines refused, %v, %v; took %d in %d pushes", status, n, lines, why, err, len(r.took), r.pushes)
		}
	}
}

// One bad line costs few pushes.
func TestOneLineIsBad(t *testing.T) {
	p := &lokiclient.Push{Labels: `{a="b"}`, Entries: slices.Repeat([]lokiclient.PushEntry{{Line: []byte("good")}}, 10_000)}
	p.Entries[6789].Line = []byte("bad")
	r := &refuser{status: 400, most: 10_000}
	s := Sender{Pusher: r}
	if n, _, err := s.Send(t.Context(), p); n != 1 || err != nil || len(r.took) != 9_999 || r.pushes > 40 {
		t.Errorf("%d lines refused, %v; took %d in %d pushes", n, err, len(r.took), r.pushes)
	}
}

// A server that has taken nothing and refuses a thousand lines alone refuses what all have.
func TestAllLinesAreBad(t *testing.T) {
	for _, c := range []struct {
		lenient bool
		status  int
	}{{false, 400}, {false, 413}, {true, 413}} {
		p := &lokiclient.Push{Labels: `{a="b"}`, Entries: slices.Repeat([]lokiclient.PushEntry{{Line: []byte("bad")}}, 10_000)}
		r := &refuser{status: c.status}
		s := Sender{Pusher: r, Lenient: c.lenient}
		if _, _, err := s.Send(t.Context(), p); err == nil || !strings.Contains(err.Error(), "1000 lines were refused, one after the other") || r.pushes > 1100 {
			t.Errorf("%v after %d pushes", err, r.pushes)
		}
	}
}

// A lokiRefuser keeps the good lines of a body that it refuses.
type lokiRefuser struct {
	took   map[int64]bool
	pushes int
}

func (r *lokiRefuser) Push(_ context.Context, p *lokiclient.Push, _ []byte) (err error) {
	r.pushes++
	for _, e := range p.Entries {
		if string(e.Line) == "old" {
			err = &lokiclient.Error{Status: 400, Message: "entry has timestamp too old"}
			continue
		}
		r.took[e.Time] = true
	}
	return err
}

// Loki refuses the old lines at the begin of a file, however many, and takes the others.
func TestOldLinesAreSentToLoki(t *testing.T) {
	const lines = 10_000
	r := &lokiRefuser{took: map[int64]bool{}}
	s := Sender{Pusher: r, Lenient: true}
	for batch, old := range []int{lines, 7_050, 0} {
		p := &lokiclient.Push{Labels: `{a="b"}`}
		for i := range lines {
			p.Entries = append(p.Entries, lokiclient.PushEntry{Time: int64(batch*lines + i), Line: []byte("new")})
			if i < old {
				p.Entries[i].Line = []byte("old")
			}
		}
		r.pushes = 0
		n, why, err := s.Send(t.Context(), p)
		if err != nil || n < old || n >= old+leastPart || (why != nil) != (old > 0) || r.pushes > mostAlone+200 {
			t.Errorf("batch %d: %d lines refused, %v, %v, after %d pushes; want %d", batch, n, why, err, r.pushes, old)
		}
	}
	if len(r.took) != 2*lines-7_050 {
		t.Errorf("%d lines were taken", len(r.took))
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
