package logstore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
)

// The benchmarks of a whole store, by its exported names alone: so they can be compared
// with any revision that has these names.
//
//	go run ./tools/beforeafter -base REVISION -with logstore/bench_store_test.go -bench Store ./logstore
//
// A store to query takes seconds to make. It is made once for each benchmark, or once for
// all processes of one revision in STELE_BENCH_SHARED, which beforeafter sets.

// benchLines is how many lines a prepared store has, in 400 streams.
const benchLines = 1_000_000

var benchOptions = logstore.Options{MinFree: 1, LateWindow: -1, FutureWindow: -1}

// benchRoot returns the directory of prepared stores. b is a benchmark with all that use
// them below it.
func benchRoot(b *testing.B) string {
	if shared := os.Getenv("STELE_BENCH_SHARED"); shared != "" {
		return shared
	}
	return b.TempDir()
}

// prepared returns the directory of a store that fill makes, unless it is there already.
func prepared(b *testing.B, root, name string, fill func(dir string)) string {
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	fill(dir + ".part")
	if err := os.Rename(dir+".part", dir); err != nil {
		b.Fatal(err)
	}
	return dir
}

func openBench(b *testing.B, dir string, o logstore.Options) *logstore.Store {
	s, err := logstore.Open(dir, o)
	if err != nil {
		b.Fatal(err)
	}
	<-s.Ready()
	return s
}

func closeBench(b *testing.B, s *logstore.Store) {
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// A lineSource makes lines of about 140 bytes in 400 streams of very different sizes.
type lineSource struct {
	rnd    *rand.Rand
	labels []logstore.Labels
	at     int64
	count  int
}

func newLineSource() *lineSource {
	l := &lineSource{rnd: rand.New(rand.NewPCG(1, 1)), at: 1_700_000_000_000_000_000}
	for app := range 8 {
		for host := range 20 {
			for _, level := range []string{"INFO", "WARN", "ERROR"}[:2+host%2] {
				l.labels = append(l.labels, logstore.MustLabels("app", fmt.Sprint("app", app), "host", fmt.Sprint("host", host), "level", level))
			}
		}
	}
	return l
}

// batch returns 1,000 lines of 20 streams. One line in 100,000 has the word xylophone.
func (l *lineSource) batch() logstore.Batch {
	batch := make(logstore.Batch, 0, 20)
	for range 20 {
		st := logstore.Stream{Labels: l.labels[min(l.rnd.IntN(len(l.labels)), l.rnd.IntN(len(l.labels)))]}
		for range 50 {
			l.at += l.rnd.Int64N(2_000_000)
			line := fmt.Appendf(nil, "%d INFO dfs.DataNode$PacketResponder: Received block blk_%d of size %d from /10.251.%d.%d in %d ms user=%d status=ok",
				l.at/1e6, l.rnd.Uint64N(1<<40), l.rnd.IntN(1<<26), l.rnd.IntN(256), l.rnd.IntN(256), l.rnd.IntN(1000), l.rnd.IntN(500))
			if l.count++; l.count%100_000 == 7 {
				line = append(line, " xylophone"...)
			}
			st.Entries = append(st.Entries, logstore.Entry{Time: l.at, Line: line})
		}
		batch = append(batch, st)
	}
	return batch
}

// appendBatches appends n lines, a multiple of 1,000.
func appendBatches(b *testing.B, s *logstore.Store, l *lineSource, n int) {
	for range n / 1000 {
		if err := s.Append(context.Background(), l.batch()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchStoreDir returns the directory of a store of benchLines lines that all are in one
// segment or, in the state mixed, but for the last hundredth.
func benchStoreDir(b *testing.B, root, state string) string {
	return prepared(b, root, state, func(dir string) {
		s, l := openBench(b, dir, benchOptions), newLineSource()
		appendBatches(b, s, l, benchLines/100*99)
		if state == "sealed" {
			appendBatches(b, s, l, benchLines/100)
		}
		if err := s.Compact(context.Background()); err != nil {
			b.Fatal(err)
		}
		if state == "mixed" {
			appendBatches(b, s, l, benchLines/100)
		}
		closeBench(b, s)
	})
}

func benchStore(b *testing.B, root, state string) *logstore.Store {
	s := openBench(b, benchStoreDir(b, root, state), benchOptions)
	b.Cleanup(func() { closeBench(b, s) })
	return s
}

var benchStates = []string{"mixed", "sealed"}

func BenchmarkStoreQuery(b *testing.B) {
	root := benchRoot(b)
	one := logstore.Selector{{Name: "app", Value: "app0"}, {Name: "host", Value: "host1"}, {Name: "level", Value: "INFO"}}
	for _, state := range benchStates {
		for _, c := range []struct {
			name string
			q    logstore.Query
		}{
			{"rare-word", logstore.Query{Filter: logstore.Contains(" xylophone")}},
			{"rare-word-last-100", logstore.Query{Filter: logstore.Word("xylophone"), Order: logstore.Backward, Limit: 100}},
			{"nothing", logstore.Query{Filter: logstore.Word("glockenspiel")}},
			{"common-word-last-100", logstore.Query{Filter: logstore.Contains("status=ok"), Order: logstore.Backward, Limit: 100}},
			{"last-100-of-all", logstore.Query{Order: logstore.Backward, Limit: 100}},
			{"first-100-of-all", logstore.Query{Limit: 100}},
			{"last-100-of-a-stream", logstore.Query{Selector: one, Order: logstore.Backward, Limit: 100}},
			{"a-stream", logstore.Query{Selector: one}},
			{"all", logstore.Query{}},
		} {
			b.Run("state="+state+"/find="+c.name, func(b *testing.B) {
				s := benchStore(b, root, state)
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					for _, err := range s.Query(context.Background(), c.q) {
						if err != nil {
							b.Fatal(err)
						}
						n++
					}
				}
				b.ReportMetric(float64(n)/float64(b.N), "entries/op")
			})
		}
	}
}

func BenchmarkStoreCount(b *testing.B) {
	root := benchRoot(b)
	for _, state := range benchStates {
		for _, c := range []struct {
			name string
			q    logstore.Query
			step time.Duration
		}{
			{"total", logstore.Query{}, 0},
			{"by-minute", logstore.Query{}, time.Minute},
			{"common-word", logstore.Query{Filter: logstore.Contains("status=ok")}, 0},
			{"word-in-500-lines", logstore.Query{Filter: logstore.Contains(" user=42 ")}, 0},
		} {
			b.Run("state="+state+"/count="+c.name, func(b *testing.B) {
				s := benchStore(b, root, state)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Count(context.Background(), c.q, c.step); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkStoreAggregate(b *testing.B) {
	root := benchRoot(b)
	for _, state := range benchStates {
		for _, c := range []struct {
			name string
			q    logstore.Query
			a    logstore.Aggregation
		}{
			{"total", logstore.Query{}, logstore.Aggregation{}},
			{"total-by-minute", logstore.Query{}, logstore.Aggregation{Step: time.Minute}},
			{"app", logstore.Query{}, logstore.Aggregation{By: []string{"app"}}},
			{"app-by-minute", logstore.Query{}, logstore.Aggregation{By: []string{"app"}, Step: time.Minute}},
			{"app-common-word", logstore.Query{Filter: logstore.Contains("status=ok")}, logstore.Aggregation{By: []string{"app"}}},
		} {
			b.Run("state="+state+"/aggregate="+c.name, func(b *testing.B) {
				s := benchStore(b, root, state)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Aggregate(context.Background(), c.q, c.a); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkStoreSeries(b *testing.B) {
	root := benchRoot(b)
	for _, state := range benchStates {
		b.Run("state="+state, func(b *testing.B) {
			s := benchStore(b, root, state)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Series(context.Background(), logstore.Query{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStoreLabelValues(b *testing.B) {
	root := benchRoot(b)
	for _, state := range benchStates {
		b.Run("state="+state, func(b *testing.B) {
			s := benchStore(b, root, state)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.LabelValues(context.Background(), "app", logstore.Query{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStoreOpen measures a store from Open until it has replayed its log, and Close.
func BenchmarkStoreOpen(b *testing.B) {
	root := benchRoot(b)
	for _, state := range benchStates {
		b.Run("state="+state, func(b *testing.B) {
			dir := benchStoreDir(b, root, state)
			b.ReportAllocs()
			for b.Loop() {
				closeBench(b, openBench(b, dir, benchOptions))
			}
		})
	}
}

// BenchmarkStoreAppend measures an append. ns/line is of all appenders together.
func BenchmarkStoreAppend(b *testing.B) {
	for _, c := range []struct {
		level            durability.Level
		appenders, lines int
		names            string
	}{
		{durability.Kill, 1, 1, ""}, {durability.Kill, 1, 100, ""}, {durability.Kill, 1, 1000, ""},
		{durability.Kill, 64, 1, ""}, {durability.Kill, 64, 1000, ""},
		{durability.Power, 1, 1, ""}, {durability.Power, 64, 1, ""}, {durability.Power, 4, 1000, ""},
		{durability.Kill, 1, 100, "/key"}, {durability.Kill, 1, 1000, "/key"}, {durability.Kill, 1, 1000, "/source"},
		{durability.Power, 4, 1000, "/key"},
	} {
		b.Run(fmt.Sprintf("level=%s/appenders=%d/lines=%d%s", c.level, c.appenders, c.lines, c.names), func(b *testing.B) {
			s := openBench(b, b.TempDir(), benchOptions)
			defer closeBench(b, s)
			batches := make([]logstore.Batch, c.appenders)
			for i := range batches {
				batches[i] = hostBatch(i, c.lines)
			}
			b.ReportAllocs()
			b.ResetTimer()
			cpu := cpuTime()
			var all sync.WaitGroup
			for i, batch := range batches {
				all.Go(func() {
					for n := range share(b.N, c.appenders, i) {
						stamp(batch)
						if _, err := s.AppendWith(context.Background(), batch, benchNames(c.names, i, n, c.lines)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.lines), "ns/line")
			reportCPU(b, cpu, b.N*c.lines)
			groups := uint64(0)
			for _, n := range s.Stats().LogGroups {
				groups += n
			}
			b.ReportMetric(float64(b.N)/float64(groups), "appends/write")
		})
	}
}

// benchNames returns the names of the n-th batch of an appender.
func benchNames(kind string, appender, n, lines int) (o logstore.AppendOptions) {
	switch kind {
	case "/key":
		binary.LittleEndian.PutUint64(o.Key[:], uint64(n)+1)
		o.Key[15] = byte(appender)
	case "/source":
		o.Source, o.Offset = "/var/log/of/a/host", uint64(n*lines)
	}
	return o
}

// share returns how many of n the i-th of k gets.
func share(n, k, i int) int { return (n + i) / k }

// stamp gives all lines the current time.
func stamp(batch logstore.Batch) {
	now := time.Now().UnixNano()
	for i := range batch {
		for j := range batch[i].Entries {
			batch[i].Entries[j].Time = now
		}
	}
}

// hostBatch returns n lines of one host, in at most 20 streams.
func hostBatch(host, n int) logstore.Batch {
	var batch logstore.Batch
	for i := range min(n, 20) {
		st := logstore.Stream{Labels: logstore.MustLabels("app", fmt.Sprint("app", i), "host", fmt.Sprint(host), "level", "info")}
		for j := range n / min(n, 20) {
			st.Entries = append(st.Entries, logstore.Entry{Line: fmt.Appendf(nil,
				"2026-05-17T12:00:%02d.%06dZ INFO request %d of client 10.0.%d.%d took %d us, %d bytes from the cache of the second level",
				j%60, j*977%1000000, j*7919, i, j%256, j*31%5000, j*131%100000)})
		}
		batch = append(batch, st)
	}
	return batch
}

// BenchmarkStoreSeal measures the seal of a memtable of about 48 MiB.
func BenchmarkStoreSeal(b *testing.B) {
	o := benchOptions
	o.Memory, o.SegmentSpan = 1<<30, 1 // a memtable does not fill, and nothing is compacted
	s, l := openBench(b, b.TempDir(), o), newLineSource()
	defer closeBench(b, s)
	for b.Loop() {
		b.StopTimer()
		for s.Stats().MemoryUsed < 48<<20 {
			appendBatches(b, s, l, 1000)
		}
		b.StartTimer()
		if err := s.Seal(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStoreMerge measures the compaction of 8 segments of 50,000 lines into one, and
// the Open before it.
func BenchmarkStoreMerge(b *testing.B) {
	o := benchOptions
	o.Memory, o.BackgroundRate = 32<<20, -1
	from := prepared(b, benchRoot(b), "eight", func(dir string) {
		apart := o
		apart.SegmentSpan = 1
		s, l := openBench(b, dir, apart), newLineSource()
		for range 8 {
			appendBatches(b, s, l, 50_000)
			if err := s.Seal(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		closeBench(b, s)
	})
	dir := filepath.Join(b.TempDir(), "store")
	for b.Loop() {
		b.StopTimer()
		linkStore(b, from, dir)
		b.StartTimer()
		s := openBench(b, dir, o)
		if err := s.Compact(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if n := s.Stats().Segments; n != 1 {
			b.Fatalf("%d segments; want 1", n)
		}
		closeBench(b, s)
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// linkStore copies a store that is not open. Segments never change: they are linked.
func linkStore(b *testing.B, from, to string) {
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o777)
		case filepath.Dir(rel) == "segments":
			return os.Link(name, target)
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o666)
	})
	if err != nil {
		b.Fatal(err)
	}
}
