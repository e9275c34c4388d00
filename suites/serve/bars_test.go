package serve

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/suites/logs"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

var (
	barsLines   = flag.Int("lines", 20_000_000, "TestBars: lines that are pushed by thousands")
	barsSmall   = flag.Int("small", 1_000_000, "TestBars: lines that are pushed one by one")
	barsDir     = flag.String("dir", "", "TestBars: directory of requests and stores, which stay for the next run; else a new ext4 for each run")
	barsProfile = flag.String("serverprofile", "", "TestBars: files NAME-small and so on for profiles of the server")
	barsCorpus  = flag.String("corpus", "", "TestBars: directory of real logs to make the lines from; else they are generated")
)

// The bars of the server, for two processors that the clients share.
const (
	barCPU       = 2.2     // us of the server a line
	barRate      = 450_000 // lines a second
	barPush      = 30.     // ms, p99
	barRSS       = 350.    // MB
	barSmallRate = 42_000  // requests a second
	barSmallPush = 9.      // ms, p99
)

// TestBars compares the server with the bars that it was built for, a line each:
//
//	STELE_LONG=1 go test ./suites/serve -run TestBars -v -timeout 60m
//	STELE_LONG=1 go test ./suites/serve -run TestBars/small -v -args -dir DIR
func TestBars(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes minutes of all processors; set STELE_LONG=1")
	}
	b := openBars(t)
	t.Run("empty", b.empty)
	t.Run("small", b.small)
	t.Run("visible", b.visible)
	t.Run("large", b.large)
	t.Run("structured", b.structured)
}

type bars struct{ made, dir string }

func openBars(t *testing.T) *bars {
	b := &bars{made: t.TempDir(), dir: *barsDir}
	if b.dir != "" {
		if err := os.MkdirAll(b.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		b.made = b.dir
		return b
	}
	p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 16 << 30, Store: b.made})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	b.dir = p.Path
	return b
}

// requests returns requests of lines of suite log, and makes them first if they are missing.
func (b *bars) requests(t *testing.T, batch, lines int) *Requests {
	return b.requestsOf(t, "log", batch, lines, func() (Next, []string) {
		l, err := logs.NewLines(uint64(batch), logs.Source{Corpus: *barsCorpus})
		if err != nil {
			t.Fatal(err)
		}
		return Planted(l.Next, rareWords(int64(lines))), Texts(l)
	})
}

func (b *bars) requestsOf(t *testing.T, kind string, batch, lines int, source func() (Next, []string)) *Requests {
	name := filepath.Join(b.made, fmt.Sprintf("requests-%s-%d-%d", kind, batch, lines))
	if _, err := os.Stat(name); err != nil {
		next, labels := source()
		part := name + ".part"
		if err := os.RemoveAll(part); err != nil {
			t.Fatal(err)
		}
		if err := WriteRequests(part, next, labels, batch, lines/batch); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(part, name); err != nil {
			t.Fatal(err)
		}
	}
	r, err := OpenRequests(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// start starts a server over an empty store.
func (b *bars) start(t *testing.T, name string) *Process {
	dir := filepath.Join(b.dir, "store-"+name)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	setup := processSetup{Dir: dir}
	if *barsProfile != "" {
		setup.Profile = *barsProfile + "-" + name
	}
	p, err := start(t.Context(), setup)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func stop(t *testing.T, p *Process) {
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func usageOf(t *testing.T, p *Process) Usage {
	t.Helper()
	u, err := p.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// empty measures what the clients and net/http take by themselves.
func (b *bars) empty(t *testing.T) {
	r := b.requests(t, 1, *barsSmall)
	p, err := start(t.Context(), processSetup{Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Stop() }()
	before := usageOf(t, p)
	f, err := Load{Addr: p.Addr, Conns: 64, Count: 400_000}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	show(t, "empty handler of net/http", f, 1, usageOf(t, p).CPU-before.CPU)
}

// show logs figures. cpu is the CPU time of the server.
func show(t *testing.T, name string, f Figures, batch int, cpu time.Duration) {
	t.Helper()
	n := float64(f.Requests)
	t.Logf("%s: %.0f requests/s, %.0f lines/s; CPU of the server %.2f us a request, %.2f a line, of the clients %.2f us a request; p50 %.2f, p99 %.2f, p99.9 %.2f, at most %.1f ms",
		name, f.PerSecond(), f.PerSecond()*float64(batch), us(cpu)/n, us(cpu)/n/float64(batch), us(f.CPU)/n,
		ms(f.Latency.Quantile(0.5)), ms(f.Latency.Quantile(0.99)), ms(f.Latency.Quantile(0.999)), ms(f.Latency.Max()))
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }
func us(d time.Duration) float64 { return float64(d) / 1e3 }

func (b *bars) small(t *testing.T) {
	r := b.requests(t, 1, *barsSmall)
	p := b.start(t, "small")
	defer stop(t, p)
	load := Load{Addr: p.Addr, Conns: 64, Count: r.Count() / 10}
	if _, err := load.Run(t.Context(), r); err != nil { // the first lines of all streams
		t.Fatal(err)
	}
	before := usageOf(t, p)
	load.Count = 0
	f, err := load.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	after := usageOf(t, p)
	show(t, "one line a push, 64 connections", f, 1, after.CPU-before.CPU)
	sync := after.Stats.Sync.Sub(before.Stats.Sync)
	t.Logf("%.1f pushes a sync, whose p50 is %.2f and p99 %.2f ms", float64(f.Requests)/float64(sync.Count()), ms(sync.Quantile(0.5)), ms(sync.Quantile(0.99)))
	atLeast(t, "one line a push: requests", f.PerSecond(), "/s", barSmallRate)
	atMost(t, "one line a push: p99", ms(f.Latency.Quantile(0.99)), "ms", barSmallPush)
}

func (b *bars) large(t *testing.T) {
	r := b.requests(t, 1000, *barsLines)
	p := b.start(t, "large")
	defer stop(t, p)
	before := usageOf(t, p)
	f, err := Load{Addr: p.Addr, Conns: 4}.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	pushed := usageOf(t, p)
	show(t, "1,000 lines a push, 4 connections", f, 1000, pushed.CPU-before.CPU)
	after, err := p.Seal(true)
	if err != nil {
		t.Fatal(err)
	}
	lines := float64(f.Requests) * 1000
	if got := after.Stats.Entries; float64(got) != lines {
		t.Errorf("%d lines are in the store, want %.0f", got, lines)
	}
	t.Logf("server CPU %.2f us a line until all is sealed and compacted", us(after.CPU-before.CPU)/lines)
	atMost(t, "1,000 lines a push: server CPU", us(pushed.CPU-before.CPU)/lines, "us/line", barCPU)
	atLeast(t, "1,000 lines a push: rate", f.PerSecond()*1000, "lines/s", barRate)
	atMost(t, "1,000 lines a push: p99", ms(f.Latency.Quantile(0.99)), "ms", barPush)
	t.Run("query", func(t *testing.T) { b.query(t, p) })
	t.Run("beside", func(t *testing.T) { b.beside(t, p) })
	atMost(t, "1,000 lines a push, and queries: peak memory", float64(usageOf(t, p).PeakRSS)/1e6, "MB", barRSS)
}

// bar logs a figure with its bar, and fails the test if it is not met.
func bar(t *testing.T, name string, figure float64, unit string, met bool, limit string) {
	t.Helper()
	verdict := "met"
	if !met {
		verdict = "NOT MET"
		t.Fail()
	}
	t.Logf("%-46s %10.5g %-8s bar %-12s %s", name, figure, unit, limit, verdict)
}

func atMost(t *testing.T, name string, figure float64, unit string, limit float64) {
	t.Helper()
	bar(t, name, figure, unit, figure <= limit, fmt.Sprintf("<= %g", limit))
}

func atLeast(t *testing.T, name string, figure float64, unit string, limit float64) {
	t.Helper()
	bar(t, name, figure, unit, figure >= limit, fmt.Sprintf(">= %g", limit))
}
