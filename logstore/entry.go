package logstore

// An Entry is a line and when it was written.
type Entry struct {
	// Time is in nanoseconds since the beginning of 1970, UTC (time.UnixNano),
	// and not negative; math.MaxInt64 is none, but the end of all times.
	Time int64
	// Line is any bytes; at most Options.MaxLine.
	Line []byte
	// Metadata belongs to the entry and names no stream: a trace id, for
	// example. It is mostly empty.
	Metadata Labels
}

// A Stream is entries with the same labels.
type Stream struct {
	Labels  Labels
	Entries []Entry
}

// A Batch is what is appended at once. Several of its streams may have the same
// labels.
type Batch []Stream

// A Result is an entry that a query has found, and the labels of its stream.
// Line is valid until the next step of the iteration.
type Result struct {
	Labels Labels
	Entry
}
