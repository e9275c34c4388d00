package logstore

import (
	"fmt"
	"math"
	"time"
)

// A Rejection is an entry that was refused. Err says why.
type Rejection struct {
	Stream, Entry int   // indexes into the Batch
	Time          int64 // of the entry

	limit int64  // what is allowed
	size  uint32 // bytes of the line
	code  refusal
}

// A refusal is why an entry was refused.
type refusal uint8

const (
	refusedLabels refusal = iota + 1
	refusedLength
	refusedNegative
	refusedLast
	refusedFuture
	refusedExpired
	refusedLate
	refusedStreams
	refusedTenantStreams
	refusedTenantExpired
)

// refusals has the error of each reason.
var refusals = [...]error{
	refusedLabels: ErrLabels, refusedLength: ErrTooLong, refusedNegative: ErrTooOld, refusedLast: ErrFuture,
	refusedFuture: ErrFuture, refusedExpired: ErrExpired, refusedLate: ErrTooOld, refusedStreams: ErrTooManyStreams,
	refusedTenantStreams: ErrTooManyStreams, refusedTenantExpired: ErrExpired,
}

// Err returns the reason, which says what is allowed. It wraps ErrTooOld,
// ErrExpired, ErrFuture, ErrTooLong, ErrTooManyStreams or ErrLabels.
func (r Rejection) Err() error {
	at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }
	why := ""
	switch r.code {
	case refusedLabels:
		why = "no label; want at least one"
	case refusedLength:
		why = fmt.Sprintf("%d bytes; want at most %d (Options.MaxLine)", r.size, r.limit)
	case refusedNegative:
		why = fmt.Sprintf("time %d; want 0 ns or more", r.Time)
	case refusedLast:
		why = fmt.Sprintf("time %d; want less", r.Time)
	case refusedFuture:
		why = fmt.Sprintf("time %s; want %s or earlier (Options.FutureWindow)", at(r.Time), at(r.limit))
	case refusedExpired:
		why = fmt.Sprintf("time %s; want %s or later (Options.Retention)", at(r.Time), at(r.limit))
	case refusedLate:
		why = fmt.Sprintf("time %s; want %s or later, by the newest entry of the stream (Options.LateWindow)", at(r.Time), at(r.limit))
	case refusedStreams:
		why = fmt.Sprintf("a new stream; want at most %d that got entries within an hour (Options.MaxStreams)", r.limit)
	case refusedTenantStreams:
		why = fmt.Sprintf("a new stream; want at most %d of the tenant that got entries within an hour (TenantOptions.MaxStreams)", r.limit)
	case refusedTenantExpired:
		why = fmt.Sprintf("time %s; want %s or later (TenantOptions.Retention)", at(r.Time), at(r.limit))
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", refusals[r.code], why)
}

// A RejectedError is the error of a batch of which some entries were refused.
// All others were appended, and are as durable as if there had been no error.
type RejectedError struct {
	Accepted int
	// Rejected lists the entries that were refused, in the order of the batch;
	// the first 16 at least. More counts those behind them that found no place
	// in the share of Options.Memory that is for such lists.
	Rejected []Rejection
	More     int

	codes uint16 // a bit for each refusal of all of them
}

func (e *RejectedError) Error() string {
	if len(e.Rejected) == 0 {
		return "logstore: append: no entry refused"
	}
	first := e.Rejected[0]
	kept := "the others kept"
	if e.Accepted == 0 {
		kept = "none kept"
	}
	n := len(e.Rejected) + e.More
	return fmt.Sprintf("logstore: append: %d of %d entries refused, %s; the first: stream %d, entry %d: %v",
		n, n+e.Accepted, kept, first.Stream, first.Entry, first.Err())
}

// Unwrap returns an error for each reason, for errors.Is: that of the first
// entry which was refused for it.
func (e *RejectedError) Unwrap() (list []error) {
	var seen uint16
	for _, r := range e.Rejected {
		if bit := uint16(1) << r.code; seen&bit == 0 && r.code != 0 {
			seen |= bit
			list = append(list, r.Err())
		}
	}
	for code := range refusals {
		if bit := uint16(1) << code; e.codes&^seen&bit != 0 {
			list = append(list, refusals[code])
		}
	}
	return list
}

// A rejectedSet is the entries of a batch that were refused.
type rejectedSet struct {
	list  []Rejection
	more  int   // that are not in list
	bytes int64 // of list, counted in Store.rejectedBytes
	codes uint16
	// marks has a bit for each entry of the batch up to the last one that was
	// refused.
	marks []uint64
}

// minRejections is how many entries a list may have before it is counted.
const minRejections = 16

const rejectionBytes = 40

// rejectedShare returns how many bytes lists of refused entries may have at a
// time.
func (o *Options) rejectedShare() int64 { return o.share(rejectionShare) }

// reject notes that an entry is refused, the n-th of the batch.
func (w *rejectedSet) reject(s *Store, r Rejection, n int) {
	for len(w.marks) <= n/64 {
		w.marks = append(w.marks, 0)
	}
	w.marks[n/64] |= 1 << (n % 64)
	w.codes |= 1 << r.code
	if len(w.list) == cap(w.list) && !w.grow(s) {
		w.more++
		return
	}
	w.list = append(w.list, r)
}

// grow doubles the list, if there is memory.
func (w *rejectedSet) grow(s *Store) bool {
	if w.more > 0 {
		return false // so that the list has no gap
	}
	n := max(minRejections, 2*cap(w.list))
	bytes := int64(n) * rejectionBytes
	if n > minRejections {
		if s.rejectedBytes.Add(bytes-w.bytes) > s.o.rejectedShare() {
			s.rejectedBytes.Add(w.bytes - bytes)
			return false
		}
		w.bytes = bytes
	}
	w.list = append(make([]Rejection, 0, n), w.list...)
	return true
}

// has reports whether the n-th entry is refused.
func (w *rejectedSet) has(n int) bool { return n/64 < len(w.marks) && w.marks[n/64]>>(n%64)&1 != 0 }

func (w *rejectedSet) len() int { return len(w.list) + w.more }

// err returns the error of a batch of which so many entries were accepted. The
// list is the caller's from now on.
func (w *rejectedSet) err(accepted int) error {
	if w.len() == 0 {
		return nil
	}
	return &RejectedError{Accepted: accepted, Rejected: w.list, More: w.more, codes: w.codes}
}

// release forgets all entries.
func (w *rejectedSet) release(s *Store) {
	if w.bytes > 0 {
		s.rejectedBytes.Add(-w.bytes)
	}
	marks := w.marks[:0]
	if cap(marks) > math.MaxUint16/64 {
		marks = nil
	}
	*w = rejectedSet{marks: marks}
}
