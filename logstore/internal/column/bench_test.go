package column

import (
	"slices"
	"testing"
)

// benchNames are those of the samples of which benchmarks make columns of 6,000 values.
var benchNames = []string{"constant", "skewed", "sessions", "random", "decimals", "addresses", "words", "uuids", "paths", "time 2006-01-02 15:04:05.000"}

func benchColumn(name string) (values [][]byte, times []int64) {
	v := samples()[name]
	for len(values) < 6000 {
		for _, s := range v {
			values = append(values, []byte(s))
		}
	}
	times = rowTimes(len(v))
	for len(times) < len(values) {
		times = append(times, times[:len(v)]...)
	}
	return values, times
}

func perValue(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
}

func BenchmarkEncode(b *testing.B) {
	for _, name := range benchNames {
		b.Run(name, func(b *testing.B) {
			values, times := benchColumn(name)
			var e Encoder
			var packed, text []byte
			b.ReportAllocs()
			for b.Loop() {
				e.Reset()
				for i, v := range values {
					e.Add(v, times[i])
				}
				packed, text = e.Append(packed[:0], text[:0])
			}
			perValue(b, len(values))
			b.ReportMetric(float64(len(packed)+len(text))/float64(len(values)), "B/value")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range benchNames {
		values, times := benchColumn(name)
		var e Encoder
		for i, v := range values {
			e.Add(v, times[i])
		}
		packed, text := e.Append(nil, nil)
		var c Column
		open := func(b *testing.B) {
			if err := c.Open(packed, text, len(values), times); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("open/"+name, func(b *testing.B) {
			for b.Loop() {
				open(b)
			}
			perValue(b, len(values))
		})
		b.Run("values/"+name, func(b *testing.B) {
			open(b)
			var out []byte
			for b.Loop() {
				out = out[:0]
				for i := range values {
					out = c.AppendValue(out, i)
				}
			}
			perValue(b, len(values))
		})
		b.Run("match/"+name, func(b *testing.B) {
			open(b)
			hits := make([]uint64, (len(values)+63)/64)
			test := Test{Op: Contains, Text: slices.Clone(values[7][:min(3, len(values[7]))])}
			for b.Loop() {
				c.Match(hits, test)
			}
			perValue(b, len(values))
		})
	}
}
