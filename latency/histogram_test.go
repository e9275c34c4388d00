package latency

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"
)

func record(all []uint64) *Histogram {
	h := new(Histogram)
	for _, v := range all {
		h.Record(time.Duration(v))
	}
	return h
}

// Quantiles are compared with the sorted list of the recorded durations.
func TestQuantileErrorIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		all := durations(r, 1+r.IntN(3000))
		s := record(all).Snapshot()
		slices.Sort(all)
		sum := uint64(0)
		for _, v := range all {
			sum += v
		}
		n := len(all)
		if s.Count() != uint64(n) || s.Sum() != time.Duration(sum) || s.Clamped() != 0 ||
			uint64(s.Min()) != all[0] || uint64(s.Max()) != all[n-1] || uint64(s.Mean()) != sum/uint64(n) {
			t.Fatalf("%v; want %d durations from %d to %d with sum %d", s, n, all[0], all[n-1], sum)
		}
		for _, q := range []float64{-1, 0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1, 2, r.Float64()} {
			place := min(max(int(float64(n)*q+0.9999999999), 1), n) - 1
			got, want := int64(s.Quantile(q)), int64(all[place])
			if d := max(got-want, want-got); d > want/32 {
				t.Fatalf("Quantile(%v) of %d durations = %d; want %d, give or take %d", q, n, got, want, want/32)
			}
		}
		below := uint64(0)
		for b, c := range s.Buckets() {
			below += c
			if i, _ := slices.BinarySearch(all, uint64(b.High)); uint64(i) != below {
				t.Fatalf("%d durations in buckets up to %v; %d are below that", below, b.High, i)
			}
		}
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	var h Histogram
	s := h.Snapshot()
	if !reflect.DeepEqual(s, Snapshot{}) {
		t.Errorf("the snapshot of an empty histogram is %#v", s)
	}
	if s.Count() != 0 || s.Mean() != 0 || s.Min() != 0 || s.Max() != 0 || s.Quantile(0.5) != 0 || s.OneOf() != 1 || s.Estimate() != 0 {
		t.Errorf("an empty snapshot has figures: %v", s)
	}
	for range s.Buckets() {
		t.Error("an empty snapshot has a bucket")
	}
	h.RecordN(time.Second, 0)
	if h.Snapshot().Count() != 0 {
		t.Error("RecordN of no duration counts")
	}
}

func TestWhatIsOutOfRangeIsClamped(t *testing.T) {
	var h Histogram
	h.Record(-time.Second)
	h.Record(top - 1)
	h.RecordN(100*time.Hour, 2)
	s := h.Snapshot()
	if s.Count() != 4 || s.Clamped() != 3 || s.Min() != 0 || s.Max() != 100*time.Hour || s.Sum() != 200*time.Hour+top-1 {
		t.Errorf("%v, clamped %d, sum %v", s, s.Clamped(), s.Sum())
	}
	roundTrip(t, s)
}

func TestMergeIsAssociative(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var parts [3]Snapshot
		for i := range parts {
			parts[i] = record(durations(r, r.IntN(200))).Snapshot()
			parts[i].oneOf = []uint32{0, 0, 16, 64}[r.IntN(4)]
		}
		a, b, c := parts[0], parts[1], parts[2]
		left, right, back := a.Merge(b).Merge(c), a.Merge(b.Merge(c)), c.Merge(b).Merge(a)
		if left.count > 0 && (!reflect.DeepEqual(left, right) || !reflect.DeepEqual(left, back)) {
			t.Fatalf("(a+b)+c = %v, a+(b+c) = %v, (c+b)+a = %v", left, right, back)
		}
		if got, want := left.Estimate(), a.Estimate()+b.Estimate()+c.Estimate(); got != want {
			t.Fatalf("the parts together count %d; want %d", got, want)
		}
	}
	parts := []uint64{5, 70, 900, 70}
	if got, want := record(parts[:1]).Snapshot().Merge(record(parts[1:]).Snapshot()), record(parts).Snapshot(); !reflect.DeepEqual(got, want) {
		t.Errorf("merged %v; recorded at once %v", got, want)
	}
}

func TestSubIsTheInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		before, after := durations(r, r.IntN(500)), durations(r, r.IntN(500))
		h := record(before)
		first := h.Snapshot()
		for _, v := range after {
			h.Record(time.Duration(v))
		}
		second := h.Snapshot()
		got, want := second.Sub(first), record(after).Snapshot()
		if got.count != want.count || got.sum != want.sum || !slices.Equal(got.cells, want.cells) {
			t.Fatalf("the interval is %v; want %v", got, want)
		}
		if want.count > 0 && (got.Min() > want.Min() || got.Max() < want.Max() ||
			want.Min()-got.Min() > want.Min()/16 || got.Max()-want.Max() > want.Max()/16) {
			t.Fatalf("the interval is from %v to %v; want from %v to %v, to the bucket", got.Min(), got.Max(), want.Min(), want.Max())
		}
		if len(after) > 0 && len(before) > 0 {
			// In the other order it is no interval, as after a restart.
			if back := first.Sub(second); !reflect.DeepEqual(back, first) {
				t.Fatalf("Sub of a later snapshot = %v; want %v", back, first)
			}
		}
		roundTrip(t, got)
	}
}

func TestConcurrentRecordsAreAllCounted(t *testing.T) {
	const goroutines, each = 16, 4000
	var h Histogram
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				h.RecordN(time.Duration(g*each+i), 3)
			}
		})
	}
	var last Snapshot
	for last.Count() < goroutines*each*3/2 {
		s := h.Snapshot()
		if s.Count() < last.Count() || s.Sub(last).Count() != s.Count()-last.Count() {
			t.Errorf("after %v came %v", last, s)
			break
		}
		roundTrip(t, s)
		last = s
	}
	wg.Wait()
	const n = int64(goroutines * each)
	if s := h.Snapshot(); s.Count() != uint64(3*n) || s.Sum() != time.Duration(3*n*(n-1)/2) || s.Min() != 0 || s.Max() != time.Duration(n-1) {
		t.Errorf("%v, sum %d; want %d with sum %d, up to %d", s, s.Sum(), 3*n, 3*n*(n-1)/2, n-1)
	}
}

func TestMemory(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("pointers are smaller here")
	}
	if n := unsafe.Sizeof(Histogram{}); n != 64 {
		t.Errorf("an empty histogram has %d bytes; doc.go says 64", n)
	}
	if n := unsafe.Sizeof(shard{}); n != 384 {
		t.Errorf("a shard has %d bytes; doc.go says 384", n)
	}
	if n := unsafe.Sizeof(block{}); n != 128 {
		t.Errorf("a block has %d bytes; doc.go says 128", n)
	}
	h := record([]uint64{7, 1000})
	if n := testing.AllocsPerRun(100, func() { h.Record(7); h.Record(1001) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func roundTrip(t *testing.T, s Snapshot) {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var got Snapshot
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v, of %s", err, b)
	}
	if !reflect.DeepEqual(got, s) {
		t.Fatalf("%s was decoded as %#v; want %#v", b, got, s)
	}
}

// BenchmarkRecord: ns/record is the time that a Record takes its goroutine, for
// several that run at once.
func BenchmarkRecord(b *testing.B) {
	for _, goroutines := range []int{1, 2, 16} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			var h Histogram
			var wg sync.WaitGroup
			begun := time.Now()
			for g := range goroutines {
				wg.Go(func() {
					v := uint64(g)
					for range b.N {
						v = v*6364136223846793005 + 1
						h.Record(time.Duration(100 + v>>48))
					}
				})
			}
			wg.Wait()
			rounds := max(1, float64(goroutines)/float64(runtime.GOMAXPROCS(0)))
			b.ReportMetric(float64(time.Since(begun).Nanoseconds())/float64(b.N)/rounds, "ns/record")
		})
	}
}

func BenchmarkSampler(b *testing.B) {
	for _, n := range []uint32{1, 64} {
		b.Run(fmt.Sprintf("oneof=%d", n), func(b *testing.B) {
			s := Sampler{OneOf: n}
			for b.Loop() {
				s.Start().Stop()
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	h := record(durations(rand.New(rand.NewPCG(1, 1)), 10000))
	b.ReportAllocs()
	for b.Loop() {
		h.Snapshot()
	}
}
