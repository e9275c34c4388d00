package logstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

// BenchmarkAppend measures the cost of a line until it is in memory and in the
// log, and in the long run in a segment. Lines per second are 1e9 over ns/line.
func BenchmarkAppend(b *testing.B) {
	for _, level := range []durability.Level{durability.Power, durability.Kill} {
		for _, c := range []struct{ appenders, batch int }{{1, 1}, {64, 1}, {4, 1000}} {
			b.Run(fmt.Sprintf("level=%s/appenders=%d/lines=%d", level, c.appenders, c.batch), func(b *testing.B) {
				s, err := Open(b.TempDir(), Options{Level: level, LateWindow: -1})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				var host atomic.Int64
				b.SetParallelism(c.appenders)
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					batch := benchBatch(host.Add(1), c.batch)
					for pb.Next() {
						now := time.Now().UnixNano()
						for i := range batch {
							for j := range batch[i].Entries {
								batch[i].Entries[j].Time = now
							}
						}
						if err := s.Append(context.Background(), batch); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.batch), "ns/line")
			})
		}
	}
}

// benchBatch returns n lines of one host, in at most 20 streams.
func benchBatch(host int64, n int) Batch {
	var b Batch
	for i := range min(n, 20) {
		st := Stream{Labels: MustLabels("app", fmt.Sprint("app", i), "host", fmt.Sprint(host), "level", "info")}
		for j := range n / min(n, 20) {
			line := fmt.Appendf(nil, "2026-05-17T12:00:%02d.%06dZ INFO request %d of client 10.0.%d.%d took %d us, %d bytes from the cache of the second level",
				j%60, j*977%1000000, j*7919, i, j%256, j*31%5000, j*131%100000)
			st.Entries = append(st.Entries, Entry{Line: line})
		}
		b = append(b, st)
	}
	return b
}

// BenchmarkParse measures parsing a record, as replay does.
func BenchmarkParse(b *testing.B) {
	batch := benchBatch(1, 1000)
	rec := records(b, batch, recordSize)[0]
	var set rowSet
	for b.Loop() {
		if err := set.parse(rec, noStream); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1000), "ns/line")
}

// BenchmarkHead measures inserting rows into a memtable, in order and late.
func BenchmarkHead(b *testing.B) {
	for _, late := range []int64{0, 50, 100000} {
		b.Run(fmt.Sprintf("behind=%d", late), func(b *testing.B) {
			h := new(memStream)
			rows := make([]memRow, 20)
			at := int64(1 << 30)
			for i := 0; b.Loop(); i++ {
				if i%5000 == 0 {
					h = new(memStream)
				}
				for j := range rows {
					at++
					rows[j] = memRow{time: at - late*int64(i%2)}
				}
				h.add(nil, rows, 0)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/line")
		})
	}
}
