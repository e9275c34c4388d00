package latency

import (
	"math/rand/v2"
	"time"
)

// A Sampler is a Histogram for operations that are too short to be timed each
// time: it records one of OneOf, chosen at random, so that load which comes at
// a regular beat is not seen always or never at its beat. What is not chosen
// costs a random number, 5 to 15 ns, and no clock. Any number of goroutines may
// use it at once; it must not be copied.
type Sampler struct {
	// OneOf is how many operations there are to a sample, on average. 0 and 1
	// record all. Do not change it once the Sampler is used.
	OneOf uint32
	h     Histogram
}

// Start begins to time an operation, if it is chosen.
func (s *Sampler) Start() Timer {
	if !s.Chosen() {
		return Timer{}
	}
	return s.h.Start()
}

// Chosen decides for one operation whether it is to be recorded: if so, time
// it and call Record. It is for operations that Start and Stop do not fit.
func (s *Sampler) Chosen() bool { return uint64(rand.Uint32())*uint64(s.OneOf) < 1<<32 }

// Record counts d, the duration of an operation that was Chosen.
func (s *Sampler) Record(d time.Duration) { s.h.Record(d) }

// Snapshot returns what has been recorded, and knows that it is one of OneOf.
func (s *Sampler) Snapshot() Snapshot {
	t := s.h.Snapshot()
	if s.OneOf > 1 {
		t.oneOf = s.OneOf
	}
	return t
}

// A Timer times one operation. The zero Timer does not.
type Timer struct {
	h     *Histogram
	began time.Time
}

// Start begins to time an operation: defer h.Start().Stop() times a function.
func (h *Histogram) Start() Timer { return Timer{h, time.Now()} }

// Stop records the time since Start.
func (t Timer) Stop() {
	if t.h != nil {
		t.h.Record(time.Since(t.began))
	}
}
