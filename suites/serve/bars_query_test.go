package serve

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stele-go/stele/suites/logs"
)

const (
	barRare       = 25.    // ms
	barPerMinute  = 250.   // ms
	barLast       = 15.    // ms
	barLiteral    = 1500.  // ms, an expression with required literals
	barAddress    = 35000. // ms, one without
	barStatus     = 1000.  // ms
	barVisible    = 3.     // ms
	barBesidePush = 40.    // ms, p99
)

// median asks queries one after the other, and returns the median of their times in ms. check
// looks at each answer.
func median(t *testing.T, p *Process, n int, endpoint string, params []string, query func(i int) string, check func(a *Answer) error) float64 {
	t.Helper()
	a := Asker{Addr: p.Addr}
	var took []float64
	for i := range n {
		answer, err := a.Ask(t.Context(), endpoint, append(slices.Clone(params), "query", query(i))...)
		if err == nil {
			err = check(answer)
		}
		if err != nil {
			t.Error(err)
			return 1e9
		}
		took = append(took, ms(answer.Took))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

func same(query string) func(int) string { return func(int) string { return query } }

func wantValue(want float64) func(a *Answer) error {
	return func(a *Answer) error {
		if got := a.Value(); got != want {
			return fmt.Errorf("%v were counted, want %v", got, want)
		}
		return nil
	}
}

func something(a *Answer) error {
	if len(a.Data.Result) == 0 {
		return fmt.Errorf("nothing was found")
	}
	return nil
}

// query asks over all lines of suite log.
func (b *bars) query(t *testing.T, p *Process) {
	const all = `{app=~".+"}`
	took := median(t, p, rareOf, "query_range", append(times, "limit", "100"), func(i int) string { return all + ` |= "` + rareWord(i) + `"` }, func(a *Answer) error {
		if n := a.Lines(); n != rareEach {
			return fmt.Errorf("%d lines have the rare word, want %d", n, rareEach)
		}
		return nil
	})
	atMost(t, "a rare word in everything", took, "ms", barRare)
	minutes := append(slices.Clone(times), "step", "60")
	took = median(t, p, 5, "query_range", minutes, same("sum by (app) (count_over_time("+all+"[1m]))"), something)
	atMost(t, "count a minute by app over everything", took, "ms", barPerMinute)
	took = median(t, p, 5, "query_range", append(times, "limit", "100"), same(all), func(a *Answer) error {
		if n := a.Lines(); n != 100 {
			return fmt.Errorf("%d lines, want the last 100", n)
		}
		return nil
	})
	atMost(t, "the last 100 of everything", took, "ms", barLast)
	took = median(t, p, 2, "query", at, same("sum(count_over_time("+all+" |~ `(timeout|refused|denied) *[a-z]*[0-9]+` "+over+"))"), func(*Answer) error { return nil })
	atMost(t, "an expression with literals over everything", took, "ms", barLiteral)
	took = median(t, p, 1, "query", at, same("sum(count_over_time("+all+" |~ `\\d+\\.\\d+\\.\\d+\\.\\d+` "+over+"))"), something)
	atMost(t, "an expression without literals over everything", took, "ms", barAddress)
}

// besideRate is how many pushes of 1,000 lines a second are due beside queries: some of what
// the server carries, as on a machine that is not full.
const besideRate = 50

// beside pushes at a fixed rate, alone and while queries over everything run.
func (b *bars) beside(t *testing.T, p *Process) {
	r := b.requestsOf(t, "beside", 1000, 600_000, func() (Next, []string) {
		l, err := logs.NewLines(99, logs.Source{Corpus: *barsCorpus})
		if err != nil {
			t.Fatal(err)
		}
		return l.Next, Texts(l)
	})
	load := Load{Addr: p.Addr, Conns: 4, Rate: besideRate, Count: r.Count() / 3}
	alone := usageOf(t, p)
	f, err := load.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	show(t, "50 pushes a second of 1,000 lines, alone", f, 1000, usageOf(t, p).CPU-alone.CPU)
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	queries := 0
	asking.Go(func() {
		a := Asker{Addr: p.Addr}
		q := []string{"query", everyLine}
		for ctx.Err() == nil {
			if _, err := a.Ask(ctx, "query", append(q, at...)...); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			queries++
		}
	})
	load.Count = 0
	before := usageOf(t, p)
	f, err = load.Run(t.Context(), r)
	after := usageOf(t, p)
	cancel()
	asking.Wait()
	if err != nil {
		t.Fatal(err)
	}
	show(t, "50 pushes a second of 1,000 lines, beside queries over everything", f, 1000, after.CPU-before.CPU)
	t.Logf("%d queries ended meanwhile", queries)
	appends, syncs := after.Stats.Append.Sub(before.Stats.Append), after.Stats.Sync.Sub(before.Stats.Sync)
	t.Logf("of the store: appends p50 %.2f, p99 %.2f ms; syncs p50 %.2f, p99 %.2f ms; delayed by %v, %d blocked, %d sealed", ms(appends.Quantile(0.5)), ms(appends.Quantile(0.99)),
		ms(syncs.Quantile(0.5)), ms(syncs.Quantile(0.99)), after.Stats.Delayed-before.Stats.Delayed, after.Stats.Blocked-before.Stats.Blocked, after.Stats.Sealed-before.Stats.Sealed)
	atMost(t, "pushes beside a query over everything: p99", ms(f.Latency.Quantile(0.99)), "ms", barBesidePush)
}

// structured counts by a field of JSON and of logfmt.
func (b *bars) structured(t *testing.T) {
	p := b.start(t, "structured")
	defer stop(t, p)
	lines := *barsLines / 4
	for _, app := range []string{"json", "logfmt"} {
		r := b.requestsOf(t, app, 1000, lines, func() (Next, []string) {
			s := logs.NewStructured(1, app == "json")
			return s.Next, Texts(s)
		})
		before := usageOf(t, p)
		f, err := Load{Addr: p.Addr, Conns: 4}.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		show(t, app+", 1,000 lines a push", f, 1000, usageOf(t, p).CPU-before.CPU)
	}
	if _, err := p.Seal(true); err != nil {
		t.Fatal(err)
	}
	for _, app := range []string{"json", "logfmt"} {
		for _, filter := range []string{`status="500"`, `status>=500`} {
			q := fmt.Sprintf(`sum(count_over_time({app="%s"} | %s | %s %s))`, app, app, filter, over)
			took := median(t, p, 3, "query", at, same(q), wantValue(float64(lines/logs.StructuredOneOf)))
			atMost(t, fmt.Sprintf("%s, %s, of %d lines", app, filter, lines), took, "ms", barStatus)
		}
	}
}

// visible measures how long it takes from the acknowledgement of a line until a query has
// found it. Each line is of a new stream.
func (b *bars) visible(t *testing.T) {
	p := b.start(t, "visible")
	defer stop(t, p)
	conn, err := Dial(t.Context(), p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	a := Asker{Addr: p.Addr}
	var took []float64
	for i := range 500 {
		d, err := probe(t.Context(), conn, &a, i)
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, ms(d))
	}
	slices.Sort(took)
	t.Logf("found after p50 %.2f, p99 %.2f, at most %.2f ms", took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	atMost(t, "an acknowledged line of a new stream is found", took[len(took)*99/100], "ms", barVisible)
}

// The load takes no other answer for an acknowledgement.
func TestClientRefusesOtherAnswers(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno", "HTTP/1.1 204 No Content\r\n"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			var p [1]byte
			_, _ = c.Read(p[:])
			_, _ = c.Write([]byte(answer))
			_ = c.Close()
		}()
		c, err := Dial(t.Context(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Push([]byte("x")); err == nil {
			t.Errorf("%q is taken for 204", answer)
		}
		c.Close()
		l.Close()
	}
}
