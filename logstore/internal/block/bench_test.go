package block

import (
	"strconv"
	"testing"
)

func benchRows(b *testing.B, raw int) ([]row, [][]byte) {
	b.Helper()
	rows := logRows(raw/100, 7)
	lines := make([][]byte, len(rows))
	for i, r := range rows {
		lines[i] = []byte(r.line)
	}
	return rows, lines
}

// perLine reports the time that one line takes.
func perLine(b *testing.B, rows, raw int) {
	b.SetBytes(int64(raw))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/line")
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range []int{64 << 10, 256 << 10} {
		b.Run("raw="+strconv.Itoa(size), func(b *testing.B) {
			rows, lines := benchRows(b, size)
			var e Encoder
			var p []byte
			b.ReportAllocs()
			for b.Loop() {
				e.Reset()
				for i, l := range lines {
					e.Add(rows[i].time, l, nil)
				}
				p, _ = e.Append(p[:0])
			}
			perLine(b, len(rows), e.Raw())
			b.ReportMetric(float64(len(p))/float64(len(rows)), "B/line")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	rows, _ := benchRows(b, 256<<10)
	var e Encoder
	p := encodeBy(b, &e, rows)
	var d Decoder
	for _, part := range []struct {
		name string
		read func() error
	}{
		{"times", func() error { _, err := d.Times(); return err }},
		{"lines", func() error { return d.Lines() }},
	} {
		b.Run("part="+part.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Open(p, nil); err != nil {
					b.Fatal(err)
				}
				if err := part.read(); err != nil {
					b.Fatal(err)
				}
			}
			perLine(b, len(rows), e.Raw())
		})
	}
}
