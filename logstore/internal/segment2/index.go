package segment2

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/template"
)

// An Info describes a segment.
type Info struct {
	Version uint32 // of the layout

	// The segment holds the positions (After, Upto] of the log. If a segment
	// has all positions of another, the one with the higher Generation counts,
	// and the other is a leftover.
	After, Upto uint64
	Generation  uint32
	Created     int64 // ns since 1970

	// Log identifies the log that the positions are of, Term the life of the
	// store in which Upto was written, TermBefore that of After. Deletes at
	// positions below Applied have been applied. All are 0 in version 1.
	Log                       [16]byte
	Term, TermBefore, Applied uint64

	MinTime, MaxTime int64 // of all entries; 0 if there are none
	Rows, Raw        int64 // entries, and bytes of their lines and metadata
	Streams, Blocks  int
	Size             int64 // bytes of the file
}

// An Index answers what a query asks of a segment, without decoding its blocks.
// Many goroutines may use it at once.
//
// The streams of a segment are numbered from 0 by tenant and labels: a stream
// is its ordinal. Blocks are numbered from 0 too, and are in groups of
// consecutive blocks: a query opens only the groups whose zones it needs.
//
// Damage is a *CorruptError. Where it leaves a part of a result intact, the
// method returns that part with the error; if CorruptError.Rebuilt is set the
// result is complete. Other errors are those of the source or of the context,
// and come with no result. Results are shared with other callers, which must
// not change them. Strings share memory with others of the segment: a caller
// that keeps few of them for long clones them.
type Index interface {
	Info() Info

	// MaySelect reports whether the segment may have streams of the tenant that
	// meet all conditions. It reads nothing, and returns true where it cannot
	// tell.
	MaySelect(tenant string, conditions []Condition) bool

	// Zones returns the zone of each group, by number. A Cache has them as
	// ZonesPart, of type ZoneList.
	Zones(ctx context.Context) ([]Zone, error)

	// Group returns the blocks of a group.
	Group(ctx context.Context, group int) (*Group, error)

	// Runs returns the runs of all blocks of a group, by block and row.
	Runs(ctx context.Context, group int) (Runs, error)

	// Select returns the ordinals of the streams of the tenant that meet all
	// conditions; nil means all streams of the segment, and never comes with an
	// error. The bitmap is the caller's.
	Select(ctx context.Context, tenant string, conditions []Condition) (*roaring.Bitmap, error)

	// Names returns the names of the labels that streams of the tenant have, in
	// order. ok is false if only the labels of all these streams would tell.
	Names(ctx context.Context, tenant string) (names []string, ok bool, err error)

	// Values returns the values of a name, as Names returns the names.
	Values(ctx context.Context, tenant, name string) (values []string, ok bool, err error)

	// Tenants returns what the segment has of each tenant, in the order of ordinals.
	Tenants(ctx context.Context) ([]TenantTotals, error)

	// Find returns the ordinal of the stream with these labels.
	Find(ctx context.Context, tenant, labels string) (ordinal uint32, ok bool, err error)

	// Streams returns the totals of the streams with the ordinals from
	// part*PartStreams on, PartStreams of them or those that there are.
	Streams(ctx context.Context, part int) (*Part, error)

	// ChunkOf returns the number of the chunk with the labels of a stream.
	ChunkOf(ctx context.Context, ordinal uint32) (chunk int, err error)

	// Content tells chunks with different labels apart without decoding them, as
	// most segments have chunks that others have too. ordinal is of a stream of the
	// chunk.
	Content(ctx context.Context, ordinal uint32) (Content, error)

	// Labels returns the labels of the streams of a chunk.
	Labels(ctx context.Context, chunk int) (*Chunk, error)

	// InOrder returns the index for a caller that asks for Content, Labels and
	// Streams of these streams, nil meaning all, between two ordinals, in their
	// order. If the segment is far away, parts that lie together are one read, with
	// the context, and the next read is under way meanwhile: until the caller, one
	// goroutine, calls stop. If it is near, InOrder returns the index itself, and no
	// stop.
	InOrder(ctx context.Context, streams *roaring.Bitmap, low, high uint32) (x Index, stop func())

	// Filters makes the filters of groups ready to be tested. It reads nothing
	// from a Viewer, and else ranges of at most MaxRead bytes, which it holds
	// until Release. A cache keeps them, with the filters of the groups beside.
	Filters(ctx context.Context, groups ...*Group) (Filters, error)

	// ReadFrame reads a block of a group with its runs, one range of the file,
	// and verifies the checksums. After an error, unless CorruptError.Rebuilt is
	// set, f has no block.
	ReadFrame(ctx context.Context, f *Frame, g *Group, block int) error

	// IDs appends the identity of each row of a block that ReadFrame has read.
	IDs(ctx context.Context, dst []ID, f *Frame) ([]ID, error)

	// Dictionary returns the templates that a block refers to: number is its
	// Frame.Dictionary or Block.Dictionary. It returns nil for 0, of a block that needs
	// none. An error that is no damage may be a *template.VersionError.
	Dictionary(ctx context.Context, number uint16) (*template.Dictionary, error)

	// Tables returns which templates the blocks of a group have.
	Tables(ctx context.Context, group int) (*Tables, error)
}

const (
	// PartStreams is the number of streams of a part of the table of streams.
	PartStreams = 512
	// GroupBlocks and GroupRuns bound a group: it ends before the block that
	// would exceed one of them, but has at least one block.
	GroupBlocks = 256
	GroupRuns   = 1 << 14
	// MaxRead is the most bytes that are read at once.
	MaxRead = 8 << 20
)

// A Condition is on the value of one label, "" if it is missing.
type Condition struct {
	Name string
	// Values has the required values, of which the label must have one. If Match
	// is not nil, it decides instead. Match is called for "" and at least once
	// for each value of the name; its result for a value must not change.
	Values []string
	Match  func(value string) bool
	// Key, unless "", names Match: conditions of one Key have Matches with the same
	// results. Then a Cache may keep the streams that were selected.
	Key string
	// Not negates the condition.
	Not bool
}

// Meets reports whether a value meets the condition.
func (c *Condition) Meets(value string) bool {
	if c.Match != nil {
		return c.Match(value) != c.Not
	}
	return slices.Contains(c.Values, value) != c.Not
}

// A Zone bounds what the blocks of a group have.
type Zone struct {
	First, Blocks    int    // the number of the first block, and how many there are
	MinTime, MaxTime int64  // of the entries
	Low, High        uint32 // ordinals of the lowest and the highest stream
	Runs             int
	Rows, Raw        int64
}

// A ZoneList is the zones of a segment.
type ZoneList []Zone

// Weight returns about how many bytes of memory the zones take.
func (l ZoneList) Weight() int64 { return int64(cap(l)) * int64(unsafe.Sizeof(Zone{})) }

// A Group is consecutive blocks of a segment. A block is given to it by its
// number in the segment, from First on.
type Group struct {
	Number int
	First  int // number of the first block
	Blocks []Block

	// checked has a bit for each filter whose checksum has been verified.
	checked []atomic.Uint64
}

// Block returns the entry of a block.
func (g *Group) Block(number int) *Block { return &g.Blocks[number-g.First] }

// Weight returns about how many bytes of memory the group takes.
func (g *Group) Weight() int64 {
	return int64(unsafe.Sizeof(*g)) + int64(cap(g.Blocks))*int64(unsafe.Sizeof(Block{})) + int64(cap(g.checked))*8
}

// A Block is the index entry of a block.
type Block struct {
	Offset           int64 // of its frame
	Bytes            int64 // of the frame
	FilterOffset     int64
	FilterBytes      uint32 // 0: it has no filter, so any line may be in it
	Rows, Runs, Raw  uint32 // Raw: bytes of lines and metadata
	MinTime, MaxTime int64
	Low, High        uint32 // ordinals of its lowest and highest stream

	Codec      uint16 // CodecLines, CodecColumns
	Dictionary uint16 // that the block needs, see Index.Dictionary; 0: none

	list, positions, size uint32 // bytes of the parts of the frame
	sum, filterSum        uint32 // of the block and of the filter
}

// PositionBytes returns how many bytes the positions of the rows take.
func (b *Block) PositionBytes() int64 { return int64(b.positions) }

const (
	// CodecLines and CodecColumns are the codecs of blocks: versions 1 and 2 of package
	// block.
	CodecLines   = 1
	CodecColumns = 2
)

// A Run is consecutive rows of one stream in a block, by time. The runs of a
// stream are ordered by Seq: of two entries with equal times, the one appended
// first is in the run with the lower Seq, or comes first in the same run.
type Run struct {
	Ordinal          uint32
	Block            uint32
	First, Rows      uint32 // rows of the block
	Seq              uint64
	MinTime, MaxTime int64
	Raw              int64
}

// Runs are the runs of a group, by block and row.
type Runs []Run

// Of returns the runs of a block.
func (r Runs) Of(block int) Runs {
	at := func(b uint32) int {
		i, _ := slices.BinarySearchFunc(r, b, func(r Run, b uint32) int { return cmp.Compare(r.Block, b) })
		return i
	}
	from, to := at(uint32(block)), at(uint32(block)+1)
	return r[from:to:to]
}

// Weight returns about how many bytes of memory the runs take.
func (r Runs) Weight() int64 { return int64(cap(r)) * int64(unsafe.Sizeof(Run{})) }

// StreamTotals describes all entries of a stream in a segment. If Rows is 0 the
// stream has one run, in one block, which describes them.
type StreamTotals struct {
	Rows, Raw        int64
	MinTime, MaxTime int64
	Seqs             uint64 // one more than the highest Seq of its runs
}

// A Part is a part of the table of streams.
type Part struct {
	First   uint32 // the ordinal of Streams[0]
	Streams []StreamTotals
}

// Weight returns about how many bytes of memory the part takes.
func (p *Part) Weight() int64 {
	return int64(unsafe.Sizeof(*p)) + int64(cap(p.Streams))*int64(unsafe.Sizeof(StreamTotals{}))
}

// A Chunk is the labels of consecutive streams, as package logstore encodes
// them.
type Chunk struct {
	First  uint32 // the ordinal of Labels[0]
	Labels []string

	hash uint64 // Content.Hash, or 0
}

// Of returns the labels of a stream of the chunk.
func (c *Chunk) Of(ordinal uint32) string { return c.Labels[ordinal-c.First] }

// Weight returns about how many bytes of memory the chunk takes.
func (c *Chunk) Weight() int64 {
	n := int64(unsafe.Sizeof(*c)) + int64(cap(c.Labels))*int64(unsafe.Sizeof(""))
	for _, l := range c.Labels {
		n += int64(len(l))
	}
	return n
}

// A Content describes a chunk, which is not decoded.
type Content struct {
	First, Streams uint32 // the ordinal of the first stream, and how many there are
	// Hash is the same for chunks with the same tenants and labels, of whatever
	// segment, if they were written alike, and different for others but by a chance
	// of 2^-64. It holds in this process. 0: not known.
	Hash uint64
}

// Filters tests the filters of some groups, until Release.
type Filters interface {
	// May reports whether a row of a block of the group may have all of the
	// needles. It returns true, even with an error, where the filter cannot be
	// read or is damaged: so no line is hidden. The checksum of a filter is
	// verified on its first use in g.
	May(g *Group, block int, needles ...filter.Needle) (bool, error)

	// Release frees the memory of the filters.
	Release()
}

// A Frame is a block as it is stored, with its runs. It is valid until the next
// ReadFrame of the same Frame, which uses its memory again. The zero value is
// ready.
type Frame struct {
	Number            int        // of the block
	Runs              []FrameRun // in the order of the rows, which they cover
	Block             []byte     // see package block
	Codec, Dictionary uint16

	buf          []byte
	offset       int64  // of the frame
	positions    []byte // of the rows; nil in version 1
	positionsSum uint32
}

// Reset empties the frame, to be filled with the block of this number. It keeps
// the memory.
func (f *Frame) Reset(number int) { *f = Frame{Number: number, Runs: f.Runs[:0], buf: f.buf} }

// Buffer returns memory of n bytes for the frame's content. It overwrites the
// block that was there.
func (f *Frame) Buffer(n int) []byte {
	f.buf = slices.Grow(f.buf[:0], n)[:n]
	return f.buf
}

// A FrameRun is a run as its block has it.
type FrameRun struct {
	Ordinal     uint32
	First, Rows uint32
	Seq         uint64
}

// Weight returns about how many bytes of memory the frame keeps.
func (f *Frame) Weight() int64 {
	return int64(cap(f.buf)) + int64(cap(f.Runs))*int64(unsafe.Sizeof(FrameRun{}))
}

// An ID identifies an entry within its stream: the position of its record in
// the log, and its rank among the entries of its stream in that record. In a
// segment of version 1, Position is Upto of the segment for all entries, and
// Place counts the rows of the stream by Seq.
type ID struct {
	Position uint64
	Place    uint32
}

// A Cache keeps decoded parts of one segment's index. A nil Cache keeps
// nothing. Many goroutines may use it at once.
type Cache interface {
	// Present returns a part that the cache has, or nil.
	Present(k PartKey) CachedPart

	// Load returns a part that the cache has, or the result of load, which the
	// cache may keep. Concurrent calls for one part may share one load. Results
	// that come with an error are not kept.
	Load(ctx context.Context, k PartKey, load func(context.Context) (CachedPart, error)) (CachedPart, error)
}

// A PartKey names a part of an index.
type PartKey struct {
	Kind   PartKind
	Number uint32
}

// A PartKind is a kind of decoded parts.
type PartKind uint8

const (
	ZonesPart PartKind = iota
	GroupPart
	RunsPart
	StreamsPart
	LabelsPart
	DirectoryPart
	PostingsPart
	PartTablePart // of a section; Number is its type
	LabelFiltersPart
	StreamFilterPart
	PostingsDirectoryPart
	TenantsPart
	ZonePlacesPart
	FiltersPart   // a window; Number is its number, and the logarithm of its bytes in 5 bits
	SelectionPart // Number is a checksum of the conditions
	GroupsPart    // a window of the first parts of groups, as FiltersPart
	GroupRunsPart // of their second parts
	FramesPart    // of label frames
	DictionaryPart
	TablesPart
)

// A CachedPart is a decoded part of an index.
type CachedPart interface {
	Weight() int64 // about its bytes of memory
}

// Present returns a part that a cache, which may be nil, has.
func Present[P CachedPart](c Cache, k PartKey) (part P, ok bool) {
	if c == nil {
		return part, false
	}
	part, ok = c.Present(k).(P)
	return part, ok
}

// Load returns a part from a cache, which may be nil, or from load.
func Load[P CachedPart](ctx context.Context, c Cache, k PartKey, load func(context.Context) (P, error)) (part P, err error) {
	if c == nil {
		return load(ctx)
	}
	p, err := c.Load(ctx, k, func(ctx context.Context) (CachedPart, error) { return load(ctx) })
	part, _ = p.(P)
	return part, err
}
