package logstore

import (
	"fmt"
	"testing"
)

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
