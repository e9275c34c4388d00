package logstore

import (
	"errors"
	"testing"
	"unsafe"
)

// Lists of refused entries are bounded by their share of memory; what finds no
// place is counted, and tails do not take it for kept.
func TestRejectionsAreBounded(t *testing.T) {
	if n := unsafe.Sizeof(Rejection{}); n != rejectionBytes {
		t.Errorf("a Rejection has %d bytes, not %d", n, rejectionBytes)
	}
	clock := newTestClock()
	o := small()
	o.Clock, o.MaxLine = clock, 10
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "a")
	fits := int(s.o.rejectedShare() / rejectionBytes)
	batch := func(refused int) Batch {
		st := Stream{Labels: l}
		for range refused {
			st.Entries = append(st.Entries, Entry{Time: -1})
		}
		// Reasons and kept entries behind the end of the list.
		st.Entries = append(st.Entries, Entry{Time: clock.at(0), Line: make([]byte, 11)}, Entry{Time: clock.at(0), Line: []byte("kept")})
		return Batch{st}
	}
	tl := &tail{selected: map[Labels]bool{}, notify: make(chan struct{}, 1)}
	s.reads.tails.add(tl)
	defer s.reads.tails.remove(tl)
	for _, c := range []struct {
		held    int64 // bytes of other lists
		refused int
	}{
		{0, 5}, {0, fits / 4}, {0, 2 * fits}, {s.o.rejectedShare(), 5}, {s.o.rejectedShare(), 100},
	} {
		s.rejectedBytes.Store(c.held)
		err := s.Append(t.Context(), batch(c.refused))
		r, ok := errors.AsType[*RejectedError](err)
		if !ok || r.Accepted != 1 || len(r.Rejected)+r.More != c.refused+1 || len(r.Rejected) < min(minRejections, c.refused+1) || (r.More > 0) != (c.refused > fits || c.refused >= minRejections && c.held > 0) {
			t.Errorf("%+v: %d listed and %d more of %d, %d accepted", c, len(r.Rejected), r.More, c.refused+1, r.Accepted)
		}
		if int64(cap(r.Rejected))*rejectionBytes > s.o.rejectedShare() {
			t.Errorf("%+v: a list of %d", c, cap(r.Rejected))
		}
		if !errors.Is(err, ErrTooOld) || !errors.Is(err, ErrTooLong) || errors.Is(err, ErrFuture) {
			t.Errorf("%+v: %v", c, err)
		}
		for i, x := range r.Rejected {
			if x.Entry != i {
				t.Fatalf("%+v: rejection %d is of entry %d", c, i, x.Entry)
			}
		}
		if held := s.rejectedBytes.Load(); held != c.held {
			t.Errorf("%+v: %d bytes are held", c, held)
		}
		if got := tl.swap(tailBuffer{}); len(got.entries) != 1 || string(got.lines) != "kept" {
			t.Errorf("%+v: a tail has %d entries", c, len(got.entries))
		}
	}
	if n := s.Stats().Rejected; n != uint64(5+fits/4+2*fits+5+100+5) {
		t.Errorf("%d entries are counted as refused", n)
	}
}
