package logstore

import "github.com/stele-go/stele/logstore/internal/segment2"

// An Entry is a line and its time.
type Entry struct {
	// Time is in nanoseconds since the Unix epoch (time.UnixNano), from 0 to
	// math.MaxInt64-1.
	Time int64
	// Line is any bytes, at most Options.MaxLine.
	Line []byte
	// Metadata belongs to the entry and does not identify its stream: a trace
	// ID, for example. It is mostly empty.
	Metadata Labels
}

// A Stream is entries that share their labels.
type Stream struct {
	Labels  Labels
	Entries []Entry
}

// A Batch is appended in one call. Several of its streams may have the same
// labels.
type Batch []Stream

// A Result is an entry that a query found, and the labels of its stream. Line
// is valid until the next step of the iteration.
type Result struct {
	Labels Labels
	Entry
	id segment2.ID // zero: not known
}
