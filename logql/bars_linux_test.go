package logql

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

// TestQueryBars prints how long queries over many lines take. It runs by hand:
//
//	STELE_LONG=1 go test -run TestQueryBars -v -timeout 1h ./logql
//
// STELE_BAR_LINES is how many lines there are, 2,000,000 by default: half of them text of
// many kinds, a quarter JSON and a quarter logfmt. STELE_BAR_DIR is a directory that keeps
// them for the next run, STELE_BAR_ONLY a part of the names of the queries that are asked.
func TestQueryBars(t *testing.T) {
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes minutes, set STELE_LONG to run it")
	}
	lines := 2_000_000
	if n, err := strconv.Atoi(os.Getenv("STELE_BAR_LINES")); err == nil {
		lines = n
	}
	dir := os.Getenv("STELE_BAR_DIR")
	if dir == "" {
		dir = t.TempDir()
	}
	s, err := logstore.Open(dir, logstore.Options{Level: durability.Kill, LateWindow: -1, FutureWindow: -1, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	<-s.Ready()
	makeBarLines(t, s, lines)
	e := NewEngine(s, Options{Limits: Limits{Time: time.Hour, Series: 100_000}})
	span := time.Duration(lines) * barGap
	end := base + int64(span)
	only := os.Getenv("STELE_BAR_ONLY")
	for _, b := range []struct {
		name, query string
		rows        int
	}{
		{"rare word", `{app=~".+"} |= "zanzibarquagga"`, 100},
		{"rare word counted", `sum(count_over_time({app=~".+"} |= "zanzibarquagga" [1m]))`, 0},
		{"count per minute by app", `sum by (app) (count_over_time({app=~".+"}[1m]))`, 0},
		{"rate over 5m by app", `sum by (app) (rate({app=~".+"}[5m]))`, 0},
		{"json text", `sum(count_over_time({kind="json"} | json | status="500" [1m]))`, 0},
		{"json number", `sum(count_over_time({kind="json"} | json | status>=500 [1m]))`, 0},
		{"json number, no errors", `sum(count_over_time({kind="json"} | json | status>=500 | __error__="" [1m]))`, 0},
		{"json by method", `sum by (method) (count_over_time({kind="json"} | json [1m]))`, 0},
		{"logfmt text", `sum(count_over_time({kind="logfmt"} | logfmt | status="500" [1m]))`, 0},
		{"logfmt number", `sum(count_over_time({kind="logfmt"} | logfmt | status>=500 [1m]))`, 0},
		{"logfmt duration", `sum(count_over_time({kind="logfmt"} | logfmt | took>398ms [1m]))`, 0},
		{"logfmt expression", `sum(count_over_time({kind="logfmt"} | logfmt | path=~"/api/.*/worker/99.*" [1m]))`, 0},
		{"logfmt quantile", `quantile_over_time(0.99, {kind="logfmt"} | logfmt | unwrap duration(took) [1m]) by (app)`, 0},
		{"regex with literals", `sum(count_over_time({app=~".+"} |~ "(timeout|refused|denied) *[a-z]*[0-9]+" [1m]))`, 0},
		{"regex of an address", `sum(count_over_time({app=~".+"} |~ "\\d+\\.\\d+\\.\\d+\\.\\d+" [1m]))`, 0},
		{"literals by regex", `sum(count_over_time({app=~".+"} |~ "timeout|refused|denied" [1m]))`, 0},
		{"metadata", `sum by (trace) (count_over_time({kind="logfmt"} | trace="t77" [1m]))`, 0},
		{"count of each stream", `count_over_time({kind="text"}[1m])`, 0},
		{"bytes by app", `sum by (app) (bytes_over_time({app=~".+"}[1m]))`, 0},
		{"last 100", `{app=~".+"}`, 100},
		{"last 100 of a parser", `{kind="json"} | json | status="500"`, 100},
	} {
		if !strings.Contains(b.name, only) {
			continue
		}
		best, bestCPU := time.Duration(0), time.Duration(0)
		var result *Result
		for range 3 {
			runtime.GC()
			began, cpu := time.Now(), cpuTime(t)
			result, err = e.Run(context.Background(), Request{Query: b.query, Start: base, End: end, Step: time.Minute, Limit: b.rows, Explain: true})
			if err != nil {
				t.Errorf("%s: %v", b.name, err)
				break
			}
			if took := time.Since(began); best == 0 || took < best {
				best = took
			}
			if used := cpuTime(t) - cpu; bestCPU == 0 || used < bestCPU {
				bestCPU = used
			}
		}
		if err != nil {
			continue
		}
		values := 0.0
		for _, s := range result.Series {
			for _, p := range s.Points {
				values += p.Value
			}
		}
		fmt.Printf("%-26s %9.2f ms, %9.2f ms of CPU, %6.1f ns of it a line  %d lines, %d series, sum %g; looked at %d, matched %d\n", b.name, float64(best)/1e6,
			float64(bestCPU)/1e6, float64(bestCPU)/float64(lines), len(result.Lines), len(result.Series), values, result.Stats.Store.Lines, result.Stats.Store.Matched)
		if os.Getenv("STELE_BAR_PLANS") != "" {
			fmt.Println(result.Plan.Text)
		}
	}
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// barGap is the time from line to line.
const barGap = 5 * time.Millisecond

var (
	barMethods = []string{"GET", "GET", "GET", "POST", "PUT", "DELETE"}
	barWords   = []string{"connection", "request", "upstream", "session", "worker", "cache", "replica", "shard", "volume", "token"}
	barTexts   = []func(r *rand.Rand, i int) string{
		func(r *rand.Rand, i int) string {
			return fmt.Sprintf("Jun 14 15:%02d:%02d combo sshd(pam_unix)[%d]: authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost=218.188.2.%d", i/60%60, i%60, 10000+r.IntN(20000), r.IntN(256))
		},
		func(r *rand.Rand, i int) string {
			return fmt.Sprintf("10.%d.%d.%d - - [14/Jun/2026:15:%02d:%02d +0000] \"%s /api/v1/%s/%d HTTP/1.1\" 200 %d \"-\" \"Mozilla/5.0 (X11; Linux)\"", r.IntN(256), r.IntN(256), r.IntN(256), i/60%60, i%60, barMethods[r.IntN(6)], barWords[r.IntN(10)], r.IntN(100000), r.IntN(50000))
		},
		func(r *rand.Rand, i int) string {
			return fmt.Sprintf("2026-06-14 15:%02d:%02d,%03d INFO dfs.DataNode$PacketResponder: PacketResponder %d for block blk_%d terminating, %s of %s done", i/60%60, i%60, r.IntN(1000), r.IntN(3), r.Int64(), barWords[r.IntN(10)], barWords[r.IntN(10)])
		},
		func(r *rand.Rand, i int) string {
			if r.IntN(200) == 0 {
				return fmt.Sprintf("E0614 15:%02d:%02d.%06d controller.go:114] %s %d failed: dial tcp: i/o timeout after%d retries of %s", i/60%60, i%60, r.IntN(1e6), barWords[r.IntN(10)], r.IntN(1000), r.IntN(9), barWords[r.IntN(10)])
			}
			return fmt.Sprintf("I0614 15:%02d:%02d.%06d controller.go:114] reconciled %s %d in %dms, generation %d of %s, nothing to do until the next change", i/60%60, i%60, r.IntN(1e6), barWords[r.IntN(10)], r.IntN(1000), r.IntN(500), r.IntN(90), barWords[r.IntN(10)])
		},
	}
)

// barLine returns line i, of the kind of its stream.
func barLine(r *rand.Rand, i, stream int) logstore.Entry {
	e := logstore.Entry{Time: base + int64(i)*int64(barGap)}
	status := 200 + r.IntN(2)*4
	if i/4%1000 == 0 {
		status = 500
	}
	switch stream % 4 {
	case 0:
		e.Line = fmt.Appendf(nil, `{"ts":"2026-06-14T15:%02d:%02d.%03dZ","level":"info","method":"%s","path":"/api/v1/%s/%d","status":%d,"took":%d,"user":"u%d"}`,
			i/60%60, i%60, r.IntN(1000), barMethods[r.IntN(6)], barWords[r.IntN(10)], r.IntN(100000), status, r.IntN(400), r.IntN(100000))
	case 1:
		e.Line = fmt.Appendf(nil, `ts=2026-06-14T15:%02d:%02d.%03dZ level=info method=%s path=/api/v1/%s/%d status=%d took=%dms user=u%d msg="request done"`,
			i/60%60, i%60, r.IntN(1000), barMethods[r.IntN(6)], barWords[r.IntN(10)], r.IntN(100000), status, r.IntN(400), r.IntN(100000))
		if i%8 == 1 {
			e.Metadata = logstore.MustLabels("trace", "t"+strconv.Itoa(r.IntN(5000)))
		}
	default:
		e.Line = []byte(barTexts[r.IntN(len(barTexts))](r, i))
		if i%1_000_003 == 500_002 {
			e.Line = append(e.Line, " zanzibarquagga"...)
		}
	}
	return e
}

// makeBarLines appends lines, unless the store has some.
func makeBarLines(t *testing.T, s *logstore.Store, lines int) {
	ctx := context.Background()
	if groups, err := s.Aggregate(ctx, logstore.Query{}, logstore.Aggregation{}); err == nil && len(groups) > 0 {
		return
	}
	r := rand.New(rand.NewPCG(1, 2))
	streams := make([]logstore.Stream, 40)
	for i := range streams {
		streams[i].Labels = logstore.MustLabels("app", "app"+strconv.Itoa(i/4), "kind", []string{"json", "logfmt", "text", "text"}[i%4], "pod", strconv.Itoa(i))
	}
	began := time.Now()
	for i := range lines {
		k := i%4 + 4*r.IntN(10)
		streams[k].Entries = append(streams[k].Entries, barLine(r, i, k))
		if i%10_000 == 9999 || i == lines-1 {
			if err := s.Append(ctx, streams); err != nil {
				t.Fatal(err)
			}
			for k := range streams {
				streams[k].Entries = nil
			}
		}
	}
	if err := s.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%d lines appended and sealed in %v\n", lines, time.Since(began).Round(time.Second))
}
