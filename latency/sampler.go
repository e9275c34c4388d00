package latency

import (
	"math/rand/v2"
	"time"
)

// A Sampler is a Histogram for operations too short to time each: it records one
// of OneOf, at random, so that periodic load is sampled fairly. An operation that
// is not sampled costs a random number, 5 to 15 ns, and no reading of the clock.
// Its methods are safe for concurrent use. Do not copy it.
type Sampler struct {
	// OneOf is the average number of operations for one sample. 0 and 1 record
	// all. Do not change it once the Sampler is in use.
	OneOf uint32
	h     Histogram
}

// Start starts to time an operation if it is sampled.
func (s *Sampler) Start() Timer {
	if !s.Sample() {
		return Timer{}
	}
	return s.h.Start()
}

// Sample decides at random whether to record an operation. If it reports true,
// time the operation and call Record. It is for operations that Start and Stop do
// not fit.
func (s *Sampler) Sample() bool { return uint64(rand.Uint32())*uint64(s.OneOf) < 1<<32 }

// Record counts d, the duration of an operation for which Sample reported true.
func (s *Sampler) Record(d time.Duration) { s.h.Record(d) }

// Snapshot returns the durations recorded so far, with OneOf.
func (s *Sampler) Snapshot() Snapshot {
	t := s.h.Snapshot()
	if s.OneOf > 1 {
		t.oneOf = s.OneOf
	}
	return t
}

// A Timer times one operation. Stop of the zero Timer does nothing.
type Timer struct {
	h     *Histogram
	began time.Time
}

// Start starts to time an operation: defer h.Start().Stop() times a function.
func (h *Histogram) Start() Timer { return Timer{h, time.Now()} }

// StartAt is Start of an operation that began at a time that time.Now returned: it saves
// a reading of the clock where the caller has one.
func (h *Histogram) StartAt(began time.Time) Timer { return Timer{h, began} }

// StartAt is Start of an operation that began at a time that time.Now returned.
func (s *Sampler) StartAt(began time.Time) Timer {
	if !s.Sample() {
		return Timer{}
	}
	return s.h.StartAt(began)
}

// Stop records the time since Start.
func (t Timer) Stop() {
	if t.h != nil {
		t.h.Record(time.Since(t.began))
	}
}
