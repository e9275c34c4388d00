// Package labelindex numbers streams and finds them by their labels.
//
// A hash table, read without a lock, maps the labels of a stream to its number.
// Posting lists answer conditions on labels: for each name and value they hold
// the numbers of the streams that have it, a few as a sorted list, more as a
// roaring bitmap (Lemire et al., Roaring Bitmaps, 2018).
package labelindex

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// A Label is a name and its value.
type Label struct{ Name, Value string }

// An Index maps streams to numbers. Numbers are dense and begin at 0; those of
// removed streams are reused. It may be used by many goroutines at once. A stream
// is found once any Add has returned its number.
//
// Streams are in spaces, which the caller numbers: streams with the same labels
// in two spaces are two streams, and whatever is asked of a space, the streams of
// others do not matter.
type Index struct {
	decode func(enc string) []Label
	seed   maphash.Seed

	// Written with mu held, read without.
	byLabels hashTable
	byNumber ByNumber[stream]

	mu     sync.RWMutex
	spaces map[uint32]*space // those with streams
	count  int               // streams
	next   uint32            // the lowest number never used
	free   []uint32          // numbers to be reused
	held   int64             // bytes of streams and postings, without the tables
	bytes  atomic.Int64
}

// A space is the streams of one space.
type space struct {
	names map[string]*name
	all   *roaring.Bitmap
}

// A stream is immutable.
type stream struct {
	enc           string
	hash          uint64
	number, space uint32
}

// New returns an empty index. The encoding of its labels identifies a stream;
// decode decodes it. Labels with empty values are ignored.
func New(decode func(enc string) []Label) *Index {
	return &Index{
		decode: decode,
		seed:   maphash.MakeSeed(),
		spaces: map[uint32]*space{},
	}
}

// hash returns the hash of a stream.
func (x *Index) hash(space uint32, enc string) uint64 {
	const odd = 0x9e3779b97f4a7c15 // so that the same labels are far apart
	return maphash.String(x.seed, enc) ^ uint64(space)*odd
}

// Find returns the number of the stream, if it exists. It takes no lock.
func (x *Index) Find(space uint32, enc string) (n uint32, ok bool) {
	s := x.byLabels.find(x.hash(space, enc), space, enc)
	if s == nil {
		return 0, false
	}
	return s.number, true
}

// Add returns the number of the stream with these labels; isNew reports whether
// Add created it. It keeps a copy of enc. There can be 1<<32 - 1 streams.
func (x *Index) Add(space uint32, enc string) (n uint32, isNew bool) {
	hash := x.hash(space, enc)
	if s := x.byLabels.find(hash, space, enc); s != nil {
		return s.number, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.byLabels.find(hash, space, enc); s != nil {
		return s.number, false
	}
	s := &stream{enc: strings.Clone(enc), hash: hash, number: x.allocate(), space: space}
	in := x.in(space)
	for _, l := range x.decode(s.enc) {
		if l.Value == "" {
			continue
		}
		nm := in.names[l.Name]
		if nm == nil {
			nm = newName()
			in.names[l.Name] = nm
			x.held += nameBytes + int64(len(l.Name))
		}
		x.held += nm.add(l.Value, s.number)
	}
	in.all.Add(s.number)
	x.count++
	x.byNumber.Set(s.number, s)
	// Last: a goroutine that finds the stream here relies on the postings.
	x.byLabels.insert(s)
	x.held += streamBytes + int64(len(s.enc))
	x.charge()
	return s.number, true
}

// in returns a space, which it creates if it has no stream. mu is held.
func (x *Index) in(number uint32) *space {
	in := x.spaces[number]
	if in == nil {
		in = &space{map[string]*name{}, roaring.New()}
		x.spaces[number] = in
	}
	return in
}

// Labels returns the encoded labels of a stream. It takes no lock.
func (x *Index) Labels(n uint32) (enc string, ok bool) {
	s := x.byNumber.Get(n)
	if s == nil {
		return "", false
	}
	return s.enc, true
}

// Len returns the number of streams.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.count
}

// LenOf returns the number of streams of a space.
func (x *Index) LenOf(space uint32) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if in := x.spaces[space]; in != nil {
		return int(in.all.GetCardinality())
	}
	return 0
}

// Remove removes streams: Find, Select, Names and Values no longer find them,
// and Add of the same labels creates a new stream. Their numbers are reused: a
// caller that keeps numbers makes sure that they are not removed meanwhile.
func (x *Index) Remove(n ...uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, number := range n {
		s := x.byNumber.Get(number)
		if s == nil {
			continue
		}
		in := x.spaces[s.space]
		in.all.Remove(number)
		x.count--
		x.byLabels.remove(s)
		for _, l := range x.decode(s.enc) {
			nm := in.names[l.Name]
			if nm == nil {
				continue
			}
			freed, last := nm.remove(l.Value, number)
			if x.held -= freed; last {
				delete(in.names, l.Name)
				x.held -= nameBytes + int64(len(l.Name))
			}
		}
		if in.all.IsEmpty() {
			delete(x.spaces, s.space)
		}
		x.byNumber.Set(number, nil)
		x.free = append(x.free, number)
		x.held -= streamBytes + int64(len(s.enc))
	}
	x.charge()
}

// Bytes returns about how many bytes of memory the index takes. It takes no lock.
func (x *Index) Bytes() int64 { return x.bytes.Load() }

// About the bytes of memory of a space, of a stream beside its labels and its slots,
// of a name beside its text, of a value, and of a number in the postings of a value.
const (
	spaceBytes   = 512
	streamBytes  = 32
	nameBytes    = 512
	valueBytes   = 128
	postingBytes = 8
)

// charge sets bytes. mu is held.
func (x *Index) charge() {
	const pointer = 8
	slots := x.byNumber.slotCount() + x.byLabels.slotCount()
	x.bytes.Store(x.held + int64(slots)*pointer + int64(len(x.spaces))*spaceBytes + int64(cap(x.free))*4)
}

// allocate returns a number for a new stream. mu is held.
func (x *Index) allocate() uint32 {
	if last := len(x.free) - 1; last >= 0 {
		n := x.free[last]
		x.free = x.free[:last]
		return n
	}
	x.next++
	return x.next - 1
}
