package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/suites/job"
	"github.com/stele-go/stele/suites/logs"
)

const (
	// linesOf is how many lines the pushes of a block have at most.
	linesOf = 1_000_000
	// pushesOf is how many pushes a block has at most.
	pushesOf = 60_000
	// warmLines are pushed before the timer starts, so that the streams are known.
	warmLines = 4000
	// behindLines are pushed before queries are asked beside pushes.
	behindLines = 300_000
	// maxConns is the largest number of connections.
	maxConns = 1 << 10
)

// pushes returns how many pushes of batch lines a block has at most.
func (l suite) pushes(batch int) int64 {
	return max(min(linesOf/int64(batch), pushesOf)/int64(l.scale), 40)
}

// requests returns the pushes of batch lines that all blocks share: twice those of a block, as
// clients take several at once, and those before the timer starts.
func (l suite) requests(b *lab.B, batch int) (*Requests, error) {
	count := int(2*l.pushes(batch)) + warm(batch)
	dir, err := b.Shared(fmt.Sprintf("serve-requests-%d-%d", batch, count), func(dir string) error {
		lines, err := logs.NewLines(uint64(batch), l.from)
		if err != nil {
			return err
		}
		next := Planted(lines.Next, rareWords(int64(count*batch)))
		return WriteRequests(filepath.Join(dir, "requests"), next, Texts(lines), batch, count)
	})
	if err != nil {
		return nil, err
	}
	return OpenRequests(filepath.Join(dir, "requests"))
}

// warm returns how many pushes have warmLines.
func warm(batch int) int { return max(warmLines/batch, 1) }

// A pushing is a server and its clients in a block.
type pushing struct {
	b        *lab.B
	p        *Process
	requests *Requests
	clients  []*Client
	setup    processSetup
}

// startPushing starts a server, connects the clients of the block's experiment, and pushes the first lines.
func (l suite) startPushing(b *lab.B, setup processSetup) (_ *pushing, err error) {
	batch, conns, err := pushParams(b)
	if err != nil {
		return nil, err
	}
	setup.Dir = filepath.Join(b.Dir, "store")
	x := &pushing{b: b, setup: setup}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.close())
		}
	}()
	if x.requests, err = l.requests(b, batch); err != nil {
		return nil, err
	}
	if x.p, err = start(b.Context(), setup); err != nil {
		return nil, err
	}
	load := Load{Addr: x.p.Addr, Conns: 1, Count: warm(batch)}
	if _, err = load.Run(b.Context(), x.requests); err != nil {
		return nil, err
	}
	for range conns {
		c, err := Dial(b.Context(), x.p.Addr)
		if err != nil {
			return nil, err
		}
		x.clients = append(x.clients, c)
	}
	return x, nil
}

func (x *pushing) close() (err error) {
	for _, c := range x.clients {
		err = errors.Join(err, c.Close())
	}
	if x.p != nil {
		err = errors.Join(err, x.p.Stop())
	}
	if x.requests != nil {
		err = errors.Join(err, x.requests.Close())
	}
	return err
}

// run does the block's pushes at a rate, or as fast as they are answered if that is 0, and
// reports what they cost.
func (x *pushing) run(rate float64) error {
	server, err := x.p.Usage()
	if err != nil {
		return err
	}
	self, err := procstat.SelfUsage()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := x.push(rate); err != nil {
		return err
	}
	took := time.Since(begun)
	server2, err := x.p.Usage()
	if err != nil {
		return err
	}
	self2, err := procstat.SelfUsage()
	if err != nil {
		return err
	}
	lines := float64(x.b.N) * float64(x.requests.Batch())
	x.b.Report("lines_per_second", lines/took.Seconds())
	x.b.Report("server_cpu_ns_per_line", float64(server2.CPU-server.CPU)/lines)
	x.b.Report("client_cpu_ns_per_line", float64(self2.User+self2.System-self.User-self.System)/lines)
	x.b.Report("server_peak_rss_bytes", float64(server2.PeakRSS))
	if syncs := server2.Stats.Sync.Sub(server.Stats.Sync).Count(); syncs > 0 && !x.setup.Kill {
		x.b.Report("pushes_per_sync", float64(x.b.N)/float64(syncs))
	}
	return nil
}

// push does the block's pushes.
func (x *pushing) push(rate float64) error {
	most := int64(x.requests.Count())
	due := ticks{rate: rate}
	took := make([]*run.Histogram, len(x.clients))
	err := x.b.Parallel(len(x.clients), func(w *lab.Worker) error {
		r := x.requests.reader()
		r.run = max(1, min(r.run, x.b.N/int64(4*len(x.clients))))
		took[w.ID] = run.NewHistogram()
		for w.Loop() {
			request, err := r.take(most)
			if err != nil {
				return err
			}
			if request == nil {
				return fmt.Errorf("serve: no requests are left of %d", most)
			}
			from := due.wait()
			if err := x.clients[w.ID].Push(request); err != nil {
				return err
			}
			took[w.ID].Record(max(1, int64(time.Since(from))))
		}
		return nil
	})
	all := run.NewHistogram()
	for _, h := range took {
		if h != nil {
			all.Merge(h)
		}
	}
	x.b.SetLatency(all)
	return err
}

// runPush is a block of push.
func (l suite) runPush(b *lab.B, _ job.Site, setup processSetup) (err error) {
	x, err := l.startPushing(b, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	if err := x.run(0); err != nil || setup.Empty {
		return err
	}
	return reportVisible(b, x)
}

// visibleProbes is how many lines are looked for as soon as they are acknowledged.
const visibleProbes = 400

// reportVisible reports how long it takes from the acknowledgement of a line of a new stream
// until a query has found it.
func reportVisible(b *lab.B, x *pushing) error {
	a, clock := Asker{Addr: x.p.Addr}, job.NewTimer()
	for i := range min(visibleProbes, int(b.N)) {
		took, err := probe(b.Context(), x.clients[0], &a, i)
		if err != nil {
			return err
		}
		clock.Hist.Record(max(1, int64(took)))
	}
	clock.Report(b, "visible")
	return nil
}

// probe pushes a line of a new stream, and returns how long a query for it took, which must find it.
func probe(ctx context.Context, c *Client, a *Asker, i int) (time.Duration, error) {
	stream := fmt.Sprintf(`{app="probe", n="%d"}`, i)
	e := Encoder{Labels: []string{stream}}
	now := time.Now().UnixNano()
	request := e.Request(func(l *logs.Line) { *l = logs.Line{Time: now, Line: fmt.Appendf(nil, "probe %d", i)} }, 1)
	if err := c.Push(request); err != nil {
		return 0, err
	}
	answer, err := a.Ask(ctx, "query_range", "query", stream, "limit", "1")
	if err != nil {
		return 0, err
	}
	if answer.Lines() != 1 {
		return 0, fmt.Errorf("serve: a query after the acknowledgement has not found line %d", i)
	}
	return answer.Took, nil
}

// runPushAt is a block of push-rate.
func (l suite) runPushAt(b *lab.B, _ job.Site, setup processSetup) (err error) {
	rate, err := job.Int(b, "rate", 1, 1_000_000)
	if err != nil {
		return err
	}
	x, err := l.startPushing(b, setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	if b.Params["queries"] == queriesNone {
		return x.run(float64(rate))
	}
	if err := l.fill(b, x.p); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(b.Context())
	var asked atomic.Int64
	ended := make(chan error, 1)
	go func() { ended <- askAll(ctx, x.p.Addr, &asked) }()
	err = x.run(float64(rate))
	cancel()
	if err = errors.Join(err, <-ended); err == nil {
		b.Report("queries", float64(asked.Load()))
	}
	return err
}

// fill pushes what queries beside pushes read.
func (l suite) fill(b *lab.B, p *Process) error {
	r, err := l.requests(b, 1000)
	if err != nil {
		return err
	}
	defer r.Close() // nothing is written
	r.Skip(r.Count() / 2)
	_, err = Load{Addr: p.Addr, Conns: 4, Count: max(behindLines/1000/int(l.scale), 1)}.Run(b.Context(), r)
	return err
}

// askAll asks a query that reads every line, again and again until ctx is done.
func askAll(ctx context.Context, addr string, asked *atomic.Int64) error {
	a := Asker{Addr: addr}
	for ctx.Err() == nil {
		if _, err := a.Ask(ctx, "query", append([]string{"query", everyLine}, at...)...); err == nil {
			asked.Add(1)
		} else if ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// everyLine is a query that has to look at every line.
const everyLine = "sum(count_over_time({app=~`.+`} |~ `\\d+\\.\\d+\\.\\d+\\.\\d+` " + over + "))"
