// Package lokipush decodes pushes of Loki's protocol into batches of a log store: protobuf
// and JSON. Lines are not copied: those of a batch are parts of the body.
//
//	d := lokipush.Get(limits, cache, account)
//	err := d.Protobuf(body)     // or d.JSON
//	store.Append(ctx, d.Batch())
//	d.Release()                 // only now may body be used again
//
// The entries of a batch are those of the body in their order, whatever the limits are: one that
// is refused has its place there, see RefusedTime. So the number of an entry in its batch, by
// which a store knows it again, depends on nothing but the body.
package lokipush

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/stele-go/stele/logstore"
)

// Limits bound what a push may bring. A push with more Streams or Entries is refused as a
// whole, the other limits refuse a stream or an entry.
type Limits struct {
	Streams, Entries      int
	Labels                int // of a stream
	LabelName, LabelValue int // bytes
	Metadata              int // of an entry
	MetadataBytes         int // names and values of an entry
}

// An Error reports a body that is no push. Nothing of it may be kept.
type Error struct {
	Offset int // bytes
	What   string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d of the push: %s", e.Offset, e.What) }

// A Decoder holds a decoded push. It is for one goroutine; get one from Get.
type Decoder struct {
	limits  Limits
	cache   *Cache
	memory  ledger
	entries []logstore.Entry
	paid    int // entries whose memory is charged
	offsets []uint64
	streams []span
	batch   logstore.Batch
	refused Refused
	any     bool
	bytes   int64

	// Of the stream that is being decoded.
	set     Set
	setText string // part of the body
	reason  error  // why it is refused; nil if it is not
	from    int    // its first entry
	first   int64  // the time of that
	// Of the entry that is being decoded. pairs has no more than Limits.Metadata and one more.
	pairs     []logstore.Label
	names     int // how many there are
	metaBytes int // of all of them
	// The last metadata, as it lies in the body: neighbours often share it.
	lastRaw  []byte
	lastMeta logstore.Labels
}

// A span is a stream: its entries up to end, which begin where those of the one before end.
type span struct {
	labels logstore.Labels
	end    int
}

var decoders = sync.Pool{New: func() any { return new(Decoder) }}

// Get returns a decoder that takes the labels of streams from cache, and charges account, unless
// that is nil, for the memory of entries.
func Get(limits Limits, cache *Cache, account Account) *Decoder {
	d := decoders.Get().(*Decoder)
	d.limits, d.cache, d.memory = limits, cache, ledger{account: account}
	return d
}

// A pooled decoder keeps memory for so many entries, and for so many streams and pairs.
const (
	keptEntries = 1 << 14
	keptOthers  = 1 << 10
)

// Release gives the decoder back. Its batch must not be used any more.
func (d *Decoder) Release() {
	d.reset()
	d.cache, d.memory = nil, ledger{}
	small := max(cap(d.entries), cap(d.offsets)) <= keptEntries
	if small && max(cap(d.streams), cap(d.batch), cap(d.pairs)) <= keptOthers {
		decoders.Put(d)
	}
}

func (d *Decoder) reset() {
	clear(d.entries)
	clear(d.streams)
	clear(d.batch)
	clear(d.pairs[:cap(d.pairs)])
	d.entries, d.offsets, d.streams, d.batch, d.pairs = d.entries[:0], d.offsets[:0], d.streams[:0], d.batch[:0], d.pairs[:0]
	d.refused.reset()
	d.memory.spare, d.paid = freeBytes, 0
	d.any, d.bytes, d.set, d.setText, d.reason, d.from, d.first, d.names, d.metaBytes = false, 0, Set{}, "", nil, 0, 0, 0, 0
	d.lastRaw, d.lastMeta = nil, logstore.Labels{}
}

// Batch returns the entries. Those that were refused have RefusedTime, and no line; if their
// stream was, it has no labels.
func (d *Decoder) Batch() logstore.Batch {
	d.batch = d.batch[:0]
	from := 0
	for i := range d.streams {
		s := &d.streams[i]
		d.batch = append(d.batch, logstore.Stream{Labels: s.labels, Entries: d.entries[from:s.end:s.end]})
		from = s.end
	}
	return d.batch
}

// Offsets returns the offsets of the entries in their source, nil unless each entry
// has one.
func (d *Decoder) Offsets() []uint64 {
	if len(d.offsets) == 0 || len(d.offsets) != len(d.entries) {
		return nil
	}
	return d.offsets
}

// HasStreams reports whether the push had streams, refused and empty ones included.
func (d *Decoder) HasStreams() bool { return d.any }

// Entries returns how many entries the batch has, with those that were refused.
func (d *Decoder) Entries() int { return len(d.entries) }

// Bytes returns the bytes of the lines of the batch.
func (d *Decoder) Bytes() int64 { return d.bytes }

// Refused returns what was refused. It is valid until Release.
func (d *Decoder) Refused() *Refused { return &d.refused }

// RefusedFrom returns how many entries of the batch from number n on were refused.
func (d *Decoder) RefusedFrom(n int) (count int) {
	for i := range d.entries[min(n, len(d.entries)):] {
		if d.entries[n+i].Time == RefusedTime {
			count++
		}
	}
	return count
}

// fail returns an error at a place of the body.
func (d *Decoder) fail(at int, format string, args ...any) error {
	return &Error{at, fmt.Sprintf(format, args...)}
}

// begin begins a stream by the text of its labels, in the form of kind.
func (d *Decoder) begin(at int, kind form, text []byte) error {
	if len(d.streams) == d.limits.Streams {
		return d.fail(at, "more than %d streams; send several pushes", d.limits.Streams)
	}
	if err := d.memory.take(streamBytes + int64(min(len(text), logstore.MaxLabelBytes))); err != nil {
		return err
	}
	d.any, d.setText, d.from, d.first = true, view(text), len(d.entries), 0
	if d.set, d.reason = d.cache.get(kind, text, &d.limits); d.reason != nil {
		d.set = Set{}
	}
	return nil
}

// end ends the current stream.
func (d *Decoder) end() {
	n := len(d.entries) - d.from
	if d.reason != nil && (n > 0 || d.reason != errNoLabels) {
		d.refused.stream(n, d.first, d.setText, d.reason)
	}
	if n > 0 {
		d.streams = append(d.streams, span{d.set.Labels, len(d.entries)})
	}
}

// add adds an entry of the current stream. raw is how its metadata lie in the body, nil if
// not in one piece.
func (d *Decoder) add(at int, time int64, line, raw []byte) error {
	if len(d.entries) == d.limits.Entries {
		return d.fail(at, "more than %d entries; send several pushes", d.limits.Entries)
	}
	if len(d.entries) == d.paid {
		if err := d.grow(); err != nil {
			return err
		}
	}
	time = max(time, RefusedTime+1)
	if d.reason != nil {
		if len(d.entries) == d.from {
			d.first = time
		}
		d.entries = append(d.entries, logstore.Entry{Time: RefusedTime})
		return nil
	}
	meta, err := d.metadata(line, raw)
	switch {
	case errors.Is(err, errMemory):
		return err
	case err != nil:
		d.refused.entry(time, d.setText, err)
		d.entries = append(d.entries, logstore.Entry{Time: RefusedTime})
		return nil
	}
	d.entries = append(d.entries, logstore.Entry{Time: time, Line: line, Metadata: meta})
	d.bytes += int64(len(line))
	return nil
}

// grow makes room for entries, and charges for them.
func (d *Decoder) grow() error {
	next := min(max(2*d.paid, firstEntries), max(d.limits.Entries, firstEntries))
	if err := d.memory.take(int64(next-d.paid) * EntryBytes); err != nil {
		return err
	}
	if next > cap(d.entries) {
		d.entries = slices.Grow(d.entries, next-len(d.entries))
	}
	d.paid = next
	return nil
}

// view returns b as a string, valid as long as the body.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// nanoseconds returns a time in nanoseconds, or the nearest that there is: the store
// refuses both ends.
func nanoseconds(seconds, nanos int64) int64 {
	const most = math.MaxInt64 / 1_000_000_000
	switch {
	case seconds > most-10:
		return math.MaxInt64
	case seconds < -most+10:
		return math.MinInt64
	}
	return seconds*1_000_000_000 + nanos
}
