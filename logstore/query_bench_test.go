package logstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// benchLines returns how many lines the store of BenchmarkQuery has:
// STELE_LINES, or few enough to append in seconds.
func benchLines() int {
	if n, err := strconv.Atoi(os.Getenv("STELE_LINES")); err == nil {
		return n
	}
	return 1_000_000
}

// appendLines appends lines of about 140 bytes to 400 streams of very different
// sizes, and seals all but the last lines.
func appendLines(b *testing.B, s *Store, n int) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var labels []Labels
	for app := range 8 {
		for host := range 20 {
			for _, level := range []string{"INFO", "WARN", "ERROR"}[:2+host%2] {
				labels = append(labels, MustLabels("app", fmt.Sprint("app", app), "host", fmt.Sprint("host", host), "level", level))
			}
		}
	}
	at := int64(1_700_000_000_000_000_000)
	var line []byte
	for done := 0; done < n; {
		batch := make(Batch, 0, 20)
		for range 20 {
			st := Stream{Labels: labels[min(rnd.IntN(len(labels)), rnd.IntN(len(labels)))]}
			for range 50 {
				at += rnd.Int64N(2_000_000)
				line = fmt.Appendf(line[:0], "%d INFO dfs.DataNode$PacketResponder: Received block blk_%d of size %d from /10.251.%d.%d in %d ms user=%d status=ok",
					at/1e6, rnd.Uint64N(1<<40), rnd.IntN(1<<26), rnd.IntN(256), rnd.IntN(256), rnd.IntN(1000), rnd.IntN(500))
				if done++; done%(n/10) == 7 {
					line = append(line, " xylophone"...)
				}
				st.Entries = append(st.Entries, Entry{Time: at, Line: append([]byte(nil), line...)})
			}
			batch = append(batch, st)
		}
		mustAppend(b, s, batch)
		if done*100/n == 99 {
			if err := s.Seal(context.Background()); err != nil {
				b.Fatal(err)
			}
			n = min(n, done+n/100)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	o := Options{MinFree: 1, LateWindow: -1, FutureWindow: -1}
	s := openTest(b, b.TempDir(), o)
	appendLines(b, s, benchLines())
	one := Selector{{Name: "app", Value: "app0"}, {Name: "host", Value: "host1"}, {Name: "level", Value: "INFO"}}
	find := func(q Query) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for _, err := range s.Query(context.Background(), q) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
			}
			b.ReportMetric(float64(n)/float64(b.N), "entries/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(1, n)), "ns/entry")
		}
	}
	count := func(q Query, step time.Duration) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Count(context.Background(), q, step); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	for _, state := range []string{"", "sealed/"} {
		if state != "" {
			if err := s.Seal(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(state+"find=rare-word", find(Query{Filter: Contains(" xylophone")}))
		b.Run(state+"find=rare-word-last-100", find(Query{Filter: Word("xylophone"), Order: Backward, Limit: 100}))
		b.Run(state+"find=nothing", find(Query{Filter: Word("glockenspiel")}))
		b.Run(state+"find=common-word-last-100", find(Query{Filter: Contains("status=ok"), Order: Backward, Limit: 100}))
		b.Run(state+"find=last-100-of-all", find(Query{Order: Backward, Limit: 100}))
		b.Run(state+"find=first-100-of-all", find(Query{Limit: 100}))
		b.Run(state+"find=last-100-of-a-stream", find(Query{Selector: one, Order: Backward, Limit: 100}))
		b.Run(state+"find=a-stream", find(Query{Selector: one}))
		b.Run(state+"find=all", find(Query{}))
		b.Run(state+"count=total", count(Query{}, 0))
		b.Run(state+"count=by-minute", count(Query{}, time.Minute))
		b.Run(state+"count=common-word", count(Query{Filter: Contains("status=ok")}, 0))
		b.Run(state+"series", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Series(context.Background(), nil, 0, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
