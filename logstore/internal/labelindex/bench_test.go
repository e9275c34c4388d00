package labelindex

import (
	"fmt"
	"regexp"
	"runtime"
	"testing"
)

const benchStreams = 100_000

// fill adds streams like those of many pods: app (50), level (5), host (200),
// and pod, unique to each stream.
func fill(n int) (*Index, []string) {
	encs := make([]string, n)
	for i := range encs {
		encs[i] = fmt.Sprintf("app=app-%d,host=host-%03d,level=level-%d,pod=app-%d-%08x", i%50, i/7%200, i%5, i%50, uint32(i)*2654435761)
	}
	x := New(decode)
	for _, enc := range encs {
		x.Add(0, enc)
	}
	return x, encs
}

func BenchmarkAdd(b *testing.B) {
	_, encs := fill(benchStreams)
	for b.Loop() {
		var before, after runtime.MemStats
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		x := New(decode)
		for _, enc := range encs {
			x.Add(0, enc)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.StartTimer()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/benchStreams, "B/stream")
		runtime.KeepAlive(x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchStreams, "ns/stream")
}

func BenchmarkFind(b *testing.B) {
	x, encs := fill(benchStreams)
	for _, streams := range []int{400, benchStreams} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, ok := x.Find(0, encs[i%streams]); !ok {
					b.Fatal("not found")
				}
				i += 7
			}
		})
		b.Run(fmt.Sprintf("streams=%d/parallel=true", streams), func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i += 7 {
					if _, ok := x.Find(0, encs[i%streams]); !ok {
						b.Error("not found")
						return
					}
				}
			})
		})
	}
}

func BenchmarkSelect(b *testing.B) {
	x, _ := fill(benchStreams)
	match := func(pattern string) func(string) bool { return regexp.MustCompile("^(?:" + pattern + ")$").MatchString }
	for _, c := range []struct {
		name string
		c    []Condition
	}{
		{"all", nil},
		{"equal", []Condition{{Name: "app", Value: "app-7"}}},
		{"equal-2", []Condition{{Name: "app", Value: "app-7"}, {Name: "host", Value: "host-001"}}},
		{"equal-one-stream", []Condition{{Name: "app", Value: "app-1"}, {Name: "pod", Value: "app-1-9e3779b1"}}},
		{"not", []Condition{{Name: "app", Value: "app-7"}, {Name: "level", Value: "level-3", Not: true}}},
		{"regexp-200-values", []Condition{{Name: "host", Match: match("host-1.*")}}},
		{"regexp-100000-values", []Condition{{Name: "pod", Match: match("app-7-.*")}}},
	} {
		b.Run("select="+c.name, func(b *testing.B) {
			n := uint64(0)
			for b.Loop() {
				n = x.Select(0, c.c...).GetCardinality()
			}
			b.ReportMetric(float64(n), "streams")
		})
	}
	set := x.Select(0, Condition{Name: "app", Value: "app-7"})
	b.Run("values=pod", func(b *testing.B) {
		for b.Loop() {
			x.Values(0, "pod", set)
		}
	})
}
