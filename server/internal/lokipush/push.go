// Package lokipush decodes pushes of Loki's protocol into batches of a log store: protobuf
// and JSON. Lines are not copied: those of a batch are parts of the body.
//
//	d := decoders.Get(limits, labels)
//	err := d.Protobuf(body)     // or d.JSON
//	store.Append(ctx, d.Batch())
//	d.Release()                 // only now may body be used again
package lokipush

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// A Refusal is a stream or an entry that was refused before the store has seen it.
type Refusal struct {
	Labels  string // of the stream, as text
	Time    int64  // of the entry; of a stream, that of its first one
	Entries int    // of the stream; 1 for an entry
	Err     error
}

// maxRefusals bounds the list of refusals. Further ones are counted.
const maxRefusals = 64

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
	body    []byte
	entries []logstore.Entry
	offsets []uint64
	streams []span
	batch   logstore.Batch
	refused []Refusal
	more    int // refusals beyond the list
	any     bool
	bytes   int64

	set     Set
	setText string // of the stream that is being decoded: part of the body
	pairs   []logstore.Label
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

// Get returns a decoder that takes the labels of streams from cache.
func Get(limits Limits, cache *Cache) *Decoder {
	d := decoders.Get().(*Decoder)
	d.limits, d.cache = limits, cache
	return d
}

// maxKept bounds the entries for which a pooled decoder keeps memory.
const maxKept = 1 << 14

// Release gives the decoder back. Its batch must not be used any more.
func (d *Decoder) Release() {
	d.reset()
	d.cache = nil
	if cap(d.entries) <= maxKept {
		decoders.Put(d)
	}
}

func (d *Decoder) reset() {
	clear(d.entries)
	clear(d.streams)
	clear(d.batch)
	clear(d.refused)
	clear(d.pairs[:cap(d.pairs)])
	d.entries, d.offsets, d.streams, d.batch, d.refused, d.pairs = d.entries[:0], d.offsets[:0], d.streams[:0], d.batch[:0], d.refused[:0], d.pairs[:0]
	d.body, d.more, d.any, d.bytes, d.set, d.setText = nil, 0, false, 0, Set{}, ""
	d.lastRaw, d.lastMeta = nil, logstore.Labels{}
}

// Batch returns the entries that were not refused.
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

// Entries returns how many entries the batch has, and Bytes those of their lines.
func (d *Decoder) Entries() int { return len(d.entries) }

// Bytes returns the bytes of the lines of the batch.
func (d *Decoder) Bytes() int64 { return d.bytes }

// Refused returns what was refused, and how many refusals there are beyond the list.
func (d *Decoder) Refused() (list []Refusal, more int) { return d.refused, d.more }

// fail returns an error at a place of the body.
func (d *Decoder) fail(at int, format string, args ...any) error {
	return &Error{at, fmt.Sprintf(format, args...)}
}

// refuse notes a refusal of entries of the current stream.
func (d *Decoder) refuse(entries int, time int64, err error) {
	if len(d.refused) == maxRefusals {
		d.more++
		return
	}
	text := d.setText
	if len(text) > 1024 {
		text = text[:1024] + "..."
	}
	d.refused = append(d.refused, Refusal{strings.ToValidUTF8(strings.Clone(text), "\uFFFD"), time, entries, err})
}

// add adds an entry of the current stream. Its metadata are d.pairs; raw is how they lie
// in the body, nil if not in one piece.
func (d *Decoder) add(at int, time int64, line, raw []byte) error {
	if len(d.entries) == d.limits.Entries {
		return d.fail(at, "more than %d entries; send several pushes", d.limits.Entries)
	}
	meta, err := d.metadata(line, raw)
	if err != nil {
		d.refuse(1, time, err)
		d.offsets = d.offsets[:min(len(d.offsets), len(d.entries))]
		return nil
	}
	d.entries = append(d.entries, logstore.Entry{Time: time, Line: line, Metadata: meta})
	d.bytes += int64(len(line))
	return nil
}

// metadata returns the metadata of an entry, with its level if that is to be found.
func (d *Decoder) metadata(line, raw []byte) (logstore.Labels, error) {
	detect := d.cache.detects()
	if len(d.pairs) == 0 && !detect {
		return logstore.Labels{}, nil
	}
	if !detect && raw != nil && len(raw) == len(d.lastRaw) && string(raw) == string(d.lastRaw) {
		return d.lastMeta, nil
	}
	if err := d.checkMetadata(); err != nil {
		return logstore.Labels{}, err
	}
	if detect {
		level := level(&d.set, d.pairs, line)
		if len(d.pairs) == 0 {
			return d.cache.levelAlone(level), nil
		}
		d.pairs = slices.DeleteFunc(d.pairs, func(l logstore.Label) bool { return l.Name == LevelName })
		d.pairs = append(d.pairs, logstore.Label{Name: LevelName, Value: level})
	}
	meta, err := logstore.NewLabels(d.pairs...)
	if err != nil {
		meta, err = logstore.NewLabels(mended(d.pairs)...)
	}
	if err == nil {
		d.lastRaw, d.lastMeta = raw, meta
	}
	return meta, err
}

// mended returns metadata without what a store refuses and Loki takes: of a name that is
// there twice it keeps the last value, and what is not UTF-8 is replaced.
func mended(pairs []logstore.Label) []logstore.Label {
	last := make(map[string]string, len(pairs))
	for _, p := range pairs {
		if p.Name != "" {
			last[strings.ToValidUTF8(p.Name, "\uFFFD")] = strings.ToValidUTF8(p.Value, "\uFFFD")
		}
	}
	list := make([]logstore.Label, 0, len(last))
	for name, value := range last {
		list = append(list, logstore.Label{Name: name, Value: value})
	}
	return list
}

func (d *Decoder) checkMetadata() error {
	size := 0
	for i := range d.pairs {
		size += len(d.pairs[i].Name) + len(d.pairs[i].Value)
	}
	if n := len(d.pairs); n > d.limits.Metadata {
		return fmt.Errorf("the entry has %d names of metadata; want at most %d", n, d.limits.Metadata)
	}
	if size > d.limits.MetadataBytes {
		return fmt.Errorf("the entry has %d bytes of metadata; want at most %d", size, d.limits.MetadataBytes)
	}
	return nil
}

// begin begins a stream by the text of its labels, in the form of kind. Unless ok, it was
// refused, and its entries are to be counted for refuseStream.
func (d *Decoder) begin(at int, kind form, text []byte) (ok bool, reason, err error) {
	if len(d.streams) == d.limits.Streams {
		return false, nil, d.fail(at, "more than %d streams; send several pushes", d.limits.Streams)
	}
	d.any, d.setText = true, view(text)
	if d.set, reason = d.cache.get(kind, text, &d.limits); reason != nil {
		return false, reason, nil
	}
	return true, nil, nil
}

// end ends the current stream.
func (d *Decoder) end() {
	from := 0
	if n := len(d.streams); n > 0 {
		from = d.streams[n-1].end
	}
	if len(d.entries) > from {
		d.streams = append(d.streams, span{d.set.Labels, len(d.entries)})
	}
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
