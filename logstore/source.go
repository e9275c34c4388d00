package logstore

import "github.com/stele-go/stele/logstore/internal/segment2"

// A source is a part of a view that may have entries of a search. Sources form
// a tree: a segment opens into groups of blocks, a group into blocks, a memtable
// into streams. Blocks and streams are leaves.
//
// Order within the search is that of keys: a key is a time, or its complement in
// a search backward; see search.key. A source is used by one goroutine at a time,
// and is not used again after open or pick, except as these return it.
type source interface {
	// keys returns a key that no entry of the source precedes, and one that none
	// follows.
	keys() (first, last int64)
}

// A branch is a source that must be opened. Its entries are not read.
type branch interface {
	source
	// open returns the sources below that may begin by bound and, if there are
	// later ones, the branch itself with a higher first key. It reads indexes only.
	// It passes damage to fail and returns what is intact.
	open(r *reading, bound int64, fail func(error)) []source
}

// A leaf is a source whose entries can be read.
type leaf interface {
	source
	// raw returns about how many bytes of lines and metadata the leaf has.
	raw() int64
	// counts returns about how many entries the leaf has, of about how many streams.
	counts() (rows, streams int64)
	// rank orders the entries of one stream with equal times that different leaves
	// have: a lower rank was appended earlier. Leaves of one segment share a rank.
	rank() uint64
	// pick leaves the matching entries with keys up to bound in r.picks: withLines,
	// in the order of the search; unordered, span by span; with timesOnly, without reading lines or applying
	// the filter, and those of several spans in no order. rest is nil, or has the
	// entries behind those that were looked at.
	pick(r *reading, bound int64, mode pickMode) (rest leaf, err error)
	// stream returns the encoded labels of a span that has picks, and the rank of the
	// span among those of its stream with the rank of the leaf. A caller that keeps the
	// labels clones them.
	stream(r *reading, span int32) (labels string, seq uint32, err error)
	// ref names the stream of a span that has picks.
	ref(r *reading, span int32) streamRef
	// bytes returns how many bytes of lines and metadata adjacent picks of one span
	// have. Where no line was read, a block divides the bytes of a run evenly.
	bytes(r *reading, picks []pick) (int64, error)
	// behind returns the part of the leaf that follows the entry at last, with what
	// pick returned as rest. Its keys begin at first, and it has about raw bytes.
	behind(last mark, first, raw int64) leaf
	// unread returns the part of the leaf that f was copied from and that was not
	// yielded.
	unread(x *search, f *results) leaf
	// between returns the part of the leaf with keys from first to last, which one
	// pick reads whole.
	between(first, last int64) leaf
	// ids returns a function for the identities of picks.
	ids(r *reading) (func(pick) segment2.ID, error)
	// corrupt returns err as damage of the leaf.
	corrupt(err error) error
}

// An inMemory source reads a memtable. Workers note which one, for handOver.
type inMemory interface {
	source
	memtable() *memtable
	// sealedParts appends the rows that the source stands for, once the memtable is
	// sealed, or reports that these are all that the search selects.
	sealedParts(x *search, to []sealedPart) (parts []sealedPart, all bool)
}

// isReadBy reports whether a source reads the memtable.
func (m *memtable) isReadBy(src source) bool {
	in, ok := src.(inMemory)
	return ok && in.memtable() == m
}

// An inSegment source reads a segment, with this rank.
type inSegment interface {
	source
	segment() (in *searched, rank uint64)
}

// An extent is what a source tells without being read. Sources embed it.
type extent struct {
	first, last int64
	size        int64  // about the bytes of lines and metadata
	order       uint64 // see leaf.rank
}

func (e *extent) keys() (first, last int64) { return e.first, e.last }
func (e *extent) raw() int64                { return e.size }
func (e *extent) rank() uint64              { return e.order }

// A mark is where an entry lies in a leaf, which alone can compare it.
type mark struct {
	time int64
	span uint32
	pos  uint32 // in memory: the position of the record, counted from memtable.base; in a block 0
	row  uint32 // in memory: the offset of the line in its chunk
}

// A task is what a scan does with leaves.
type task interface {
	// visit reads a leaf and leaves its entries with keys up to bound, or what the
	// task makes of them, in out, as much as is allotted. What it did not read
	// goes to out.more. Several workers call it at once.
	visit(r *reading, l leaf, bound int64, of allotment, out *outcome)
	// yields reports whether visit leaves results, which the consumer yields.
	yields() bool
}

// A summarizer is a task that may do with totals in place of entries.
type summarizer interface {
	task
	// whole is offered a part of the index, before it is opened, with the totals of
	// its entries of one stream. It reports whether that is enough. Several workers
	// call it at once. An error is of the labels of the stream, or of the search.
	whole(r *reading, st streamRef, t rowTotals) (bool, error)
	// wholeStreams is whole for entries of several streams of a segment, those with
	// the ordinals from low to high.
	wholeStreams(r *reading, in *searched, low, high uint32, t rowTotals) (bool, error)
	// wholeSegment is whole for a segment, of which in.streams are selected. Errors
	// go to fail.
	wholeSegment(r *reading, in *searched, t rowTotals, fail func(error)) bool
}

// A blockCounter is a summarizer that may do with how many entries of a block the filter
// matches.
type blockCounter interface {
	summarizer
	// takeBlock is offered a block that was not read, of which so many rows match. It
	// reports whether that is enough.
	takeBlock(r *reading, l *blockLeaf, rows int64) bool
}

// A streamRef names a stream without its labels being read: an ordinal of a
// segment, or, if in is nil, encoded labels.
type streamRef struct {
	in      *searched
	ordinal uint32
	labels  string
}

// A pickMode is what leaf.pick reads.
type pickMode uint8

const (
	timesOnly pickMode = iota
	withLines
	unordered // with lines, unless the search has noLines
	// withFields is unordered, but lines of columns need not be read: see fieldReading.
	withFields
)

// A pick is an entry of a leaf: a row of reading.block, or an index into
// reading.rows.
type pick struct {
	time int64
	span int32
	row  int32
}
