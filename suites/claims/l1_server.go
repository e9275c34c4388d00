package claims

import (
	"bytes"
	"container/list"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/logstore/timeindex"
	"github.com/stele-go/stele/mpsc"
	"github.com/stele-go/stele/suites/headers"
	"github.com/stele-go/stele/suites/internal/datafile"
)

// An l1Switch is one of the seven changes.
type l1Switch int

const (
	l1Ring     l1Switch = iota // a batch ring; off: a lock
	l1Layout                   // the layout of L4; off: gob, one encoder for the stream
	l1Levels                   // the three buffer levels of L10; off: one buffer
	l1Mapped                   // segments are mapped; off: read(2)
	l1Tree                     // a B+ tree over time; off: a list of segments
	l1Ahead                    // readahead that follows the pattern; off: the kernel's
	l1Cached                   // the two-level cache of L9; off: a plain LRU
	l1Switches                 // their number
)

func (s l1Switch) String() string {
	return [l1Switches]string{"batch ring", "own layout", "three buffer levels", "mapped segments", "B+ tree time index",
		"adaptive readahead", "two-level metadata cache"}[s]
}

// An l1Set has the switches that are on.
type l1Set uint

const l1Everything = l1Set(1<<l1Switches - 1)

func (o l1Set) has(s l1Switch) bool      { return o&(1<<s) != 0 }
func (o l1Set) with(s l1Switch) l1Set    { return o | 1<<s }
func (o l1Set) without(s l1Switch) l1Set { return o &^ (1 << s) }

// The sealed segments of L1: each has a second of every series. In front is an index of its
// blocks, the metadata, then a block for each series.
const (
	l1Series    = 15
	l1Block     = datafile.PageSize
	l1Segment   = (1 + l1Series) * l1Block
	l1Segments  = 1024
	l1Entry     = 200 // bytes, the time in front
	l1PerBlock  = 20  // entries, 50 ms apart
	l1Apart     = 50  // ms
	l1WindowMS  = 500 // of a query
	l1Expected  = l1WindowMS / l1Apart
	l1Metadata  = l1Segments / 10 // segments whose metadata is in the cache
	l1BatchMost = l1Clients
)

// l1Fill returns a function that fills memory with segments, one after the other.
func l1Fill() func(p []byte) {
	at := 0
	return func(p []byte) {
		for ; len(p) >= l1Segment; p = p[l1Segment:] {
			for s := range l1Series {
				binary.BigEndian.PutUint32(p[4*s:], uint32((1+s)*l1Block))
				block := p[(1+s)*l1Block:][:l1Block]
				for e := range l1PerBlock {
					entry := block[e*l1Entry:][:l1Entry]
					copy(entry, headers.Head(l1Entry))
					binary.BigEndian.PutUint64(entry, uint64(at*1000+e*l1Apart))
				}
			}
			at++
		}
	}
}

// An l1Server keeps lines and answers queries. on says how.
type l1Server struct {
	on       l1Set
	segments *datafile.File
	data     []byte // the mapping, with l1Mapped
	count    int    // segments
	lists    []timeindex.Item
	tree     *timeindex.Tree

	cacheMu sync.Mutex
	cache   l9Cache

	aheadMu sync.Mutex
	lastEnd int64
	window  int64

	mu     sync.Mutex // guards encode and the order of sink.add
	encode func(rec *l4Record) ([]byte, error)
	sink   l1Sink
	queue  *mpsc.Queue[l1Request]
	ended  sync.WaitGroup
}

// An l1Request is a line in the ring. done takes its outcome.
type l1Request struct {
	rec  *l4Record
	done chan error
}

func openL1(b *lab.B, on l1Set, level durability.Level, segments int64) (s *l1Server, err error) {
	s = &l1Server{on: on}
	if s.segments, err = datafile.Open(b, "l1-segments", segments*l1Segment, l1Fill()); err != nil {
		return nil, err
	}
	if err := s.openReads(); err != nil {
		return nil, errors.Join(err, s.segments.Close())
	}
	f, err := os.Create(filepath.Join(b.Dir, "wal"))
	if err != nil {
		return nil, errors.Join(err, s.segments.Close())
	}
	if s.sink = newL1Buffer(f, level); on.has(l1Levels) {
		s.sink = newL1Levels(f, level)
	}
	if s.encode = l1Gob(); on.has(l1Layout) {
		s.encode = l1Own()
	}
	if on.has(l1Ring) {
		s.queue = mpsc.New[l1Request](1 << 10)
		s.ended.Go(s.drain)
	}
	return s, nil
}

func (s *l1Server) openReads() (err error) {
	s.count = int(s.segments.Size / l1Segment)
	if err := s.segments.Warm(); err != nil {
		return err
	}
	if s.on.has(l1Ahead) {
		if err := sys.Fadvise(s.segments.File, 0, 0, sys.AdviseRandom); err != nil {
			return err
		}
	}
	if s.on.has(l1Mapped) {
		if s.data, err = sys.Mmap(s.segments.File, int(s.segments.Size), false); err != nil {
			return err
		}
	}
	var items []timeindex.Item
	for i := range s.count {
		s.lists = append(s.lists, timeindex.Item{Segment: uint64(i), Min: int64(i) * 1000, Max: int64(i)*1000 + 999})
		for series := range uint32(l1Series) {
			items = append(items, timeindex.Item{Stream: series, Ordinal: series, Segment: uint64(i), Min: int64(i) * 1000, Max: int64(i)*1000 + 999})
		}
	}
	if s.on.has(l1Tree) {
		s.tree = new(timeindex.Tree).With(items, nil)
	}
	if s.cache = newL9LRU(l1Metadata); s.on.has(l1Cached) {
		s.cache = &l9Hybrid{ // the published shares of the two levels
			&l9LFU{most: l1Metadata / 6, at: map[int]*l9Counted{}},
			&l9LRU{most: l1Metadata - l1Metadata/6, at: map[int]*list.Element{}}, map[int]int64{},
		}
	}
	return nil
}

// append returns when the line survives what the server promises.
func (s *l1Server) append(rec *l4Record, done chan error) error {
	if s.queue != nil {
		if err := s.queue.Push(context.Background(), l1Request{rec, done}); err != nil {
			return err
		}
		return <-done
	}
	s.mu.Lock()
	end, err := s.add(rec)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.sink.commit(end)
}

func (s *l1Server) add(rec *l4Record) (end int64, err error) {
	payload, err := s.encode(rec)
	if err != nil {
		return 0, err
	}
	return s.sink.add(payload)
}

// drain writes what is in the ring, a batch at a time.
func (s *l1Server) drain() {
	batch := make([]l1Request, l1BatchMost)
	for {
		n, err := s.queue.PopBatch(context.Background(), batch, 0)
		if err != nil {
			return // closed
		}
		var failed error
		last := int64(0)
		for _, r := range batch[:n] {
			end, err := s.add(r.rec)
			failed, last = errors.Join(failed, err), max(last, end)
		}
		failed = errors.Join(failed, s.sink.commit(last))
		for _, r := range batch[:n] {
			r.done <- failed
		}
	}
}

// query counts the entries of a series from from on, in milliseconds, for l1WindowMS.
func (s *l1Server) query(series uint32, from int64, buf []byte) (n int, err error) {
	visit := func(segment uint64) error {
		block, err := s.block(segment, series, buf)
		if err != nil {
			return err
		}
		for e := range l1PerBlock {
			if at := int64(binary.BigEndian.Uint64(block[e*l1Entry:])); at >= from && at < from+l1WindowMS {
				n++
			}
		}
		return nil
	}
	if s.tree != nil {
		for item := range s.tree.Overlapping(series, from, from+l1WindowMS) {
			if err := visit(item.Segment); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	for i := range s.lists {
		if l := &s.lists[i]; l7Matches(l, from, from+l1WindowMS) {
			if err := visit(l.Segment); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// block returns the block of a series in a segment, by the segment's metadata.
func (s *l1Server) block(segment uint64, series uint32, buf []byte) ([]byte, error) {
	s.cacheMu.Lock()
	index, err := s.cache.get(int(segment), func(int) ([]byte, error) {
		page, err := s.read(int64(segment)*l1Segment, make([]byte, l1Block))
		return bytes.Clone(page[:4*l1Series]), err
	})
	s.cacheMu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.read(int64(segment)*l1Segment+int64(binary.BigEndian.Uint32(index[4*series:])), buf)
}

// read returns a block of the segments, in buf or in the mapping.
func (s *l1Server) read(off int64, buf []byte) ([]byte, error) {
	if s.on.has(l1Ahead) {
		if window := s.follow(off); window > 0 {
			if err := sys.Fadvise(s.segments.File, off, window, sys.AdviseWillNeed); err != nil {
				return nil, err
			}
		}
	}
	if s.data != nil {
		return s.data[off : off+l1Block], nil
	}
	_, err := s.segments.ReadAt(buf[:l1Block], off)
	return buf[:l1Block], err
}

// follow returns how much to read ahead: nothing where reads are at random, and twice as much
// with each read that goes on where the last one ended.
func (s *l1Server) follow(off int64) int64 {
	s.aheadMu.Lock()
	defer s.aheadMu.Unlock()
	if off == s.lastEnd {
		s.window = min(max(2*s.window, 32<<10), datafile.MiB)
	} else {
		s.window = 0
	}
	s.lastEnd = off + l1Block
	return min(s.window, s.segments.Size-off)
}

func (s *l1Server) close() error {
	if s.queue != nil {
		s.queue.Close()
		s.ended.Wait()
	}
	s.cache.close()
	var unmapped error
	if s.data != nil {
		unmapped = sys.Munmap(s.data)
	}
	return errors.Join(unmapped, s.sink.close(), s.segments.Close())
}

func l1Own() func(*l4Record) ([]byte, error) {
	var buf []byte
	return func(r *l4Record) ([]byte, error) {
		buf = r.appendTo(buf[:0])
		return buf, nil
	}
}

func l1Gob() func(*l4Record) ([]byte, error) {
	var buf bytes.Buffer
	enc := gob.NewEncoder(&buf)
	return func(r *l4Record) ([]byte, error) {
		buf.Reset()
		err := enc.Encode(r)
		return buf.Bytes(), err
	}
}

// An l1Client makes requests.
type l1Client struct {
	rng  *rand.Rand
	rec  l4Record
	done chan error
	buf  []byte
}

func newL1Client(seed uint64, id int) *l1Client {
	return &l1Client{
		rand.New(rand.NewPCG(seed, uint64(id))), l4Record{Term: uint64(id), Data: headers.Head(l1Entry)}, make(chan error, 1), make([]byte, l1Block),
	}
}

func (c *l1Client) append(s *l1Server) error {
	c.rec.Index++
	return s.append(&c.rec, c.done)
}

// query asks for a window, most often a late one.
func (c *l1Client) query(s *l1Server) error {
	back := min(float64(s.count-2), c.rng.ExpFloat64()*float64(s.count)/10)
	from := int64(float64(s.count-2)*1000-back*1000) + c.rng.Int64N(1000)
	n, err := s.query(c.rng.Uint32N(l1Series), max(0, from), c.buf)
	if err == nil && n != l1Expected {
		err = fmt.Errorf("a query finds %d entries, want %d", n, l1Expected)
	}
	return err
}
