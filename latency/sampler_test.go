package latency

import (
	"testing"
	"time"
)

// Periodic load, here every 64th operation, is sampled at its true rate.
// StartAt counts from a time that the caller has read.
func TestStartAt(t *testing.T) {
	var s Sampler
	s.StartAt(time.Now().Add(-time.Hour)).Stop()
	var h Histogram
	h.StartAt(time.Now().Add(-time.Hour)).Stop()
	if a, b := s.Snapshot(), h.Snapshot(); a.Count() != 1 || a.Min() < time.Hour*9/10 || b.Min() < time.Hour*9/10 {
		t.Errorf("%v, %v", a, b)
	}
	s.OneOf = 1 << 31
	if (s.StartAt(time.Now()) != Timer{}) && s.StartAt(time.Now()) != (Timer{}) && s.StartAt(time.Now()) != (Timer{}) {
		t.Error("all are sampled")
	}
}

func TestSamplerIsUnbiased(t *testing.T) {
	const n = 1 << 20
	s := Sampler{OneOf: 64}
	for i := range n {
		if s.Sample() {
			d := time.Microsecond
			if i%64 == 63 {
				d = time.Millisecond
			}
			s.Record(d)
		}
	}
	got := s.Snapshot()
	// Six standard deviations of the binomial distribution.
	if e := got.Estimate(); e < n*95/100 || e > n*105/100 {
		t.Errorf("estimate %d of %d operations", e, n)
	}
	slow := uint64(0)
	for b, c := range got.Buckets() {
		if b.Low > 2*time.Microsecond {
			slow += c
		}
	}
	if want := uint64(n / 64 / 64); slow < want/2 || slow > want*2 {
		t.Errorf("%d samples of the slow operations; want about %d", slow, want)
	}
	if got.OneOf() != 64 || got.Scaled().Count() != got.Estimate() || got.Scaled().OneOf() != 1 {
		t.Errorf("one of %d, scaled to %d, one of %d", got.OneOf(), got.Scaled().Count(), got.Scaled().OneOf())
	}
	roundTrip(t, got)
}

func TestZeroSamplerRecordsAll(t *testing.T) {
	for _, n := range []uint32{0, 1} {
		s := Sampler{OneOf: n}
		for range 100 {
			s.Start().Stop()
		}
		if got := s.Snapshot(); got.Count() != 100 || got.OneOf() != 1 {
			t.Errorf("OneOf %d: %d of 100, one of %d", n, got.Count(), got.OneOf())
		}
	}
}

func TestTimer(t *testing.T) {
	Timer{}.Stop() // does nothing
	var h Histogram
	func() {
		defer h.Start().Stop()
	}()
	if n := h.Snapshot().Count(); n != 1 {
		t.Errorf("%d durations of one Timer", n)
	}
}
