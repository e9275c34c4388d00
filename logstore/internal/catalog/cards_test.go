package catalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A countingPlace counts what is opened and read.
type countingPlace struct {
	Place
	opens, reads, bytes atomic.Int64
}

func (p *countingPlace) Open(ctx context.Context, name string) (Object, int64, error) {
	p.opens.Add(1)
	o, size, err := p.Place.Open(ctx, name)
	return countingObject{o, p}, size, err
}

type countingObject struct {
	Object
	place *countingPlace
}

func (o countingObject) ReadAt(p []byte, off int64) (int, error) {
	o.place.reads.Add(1)
	o.place.bytes.Add(int64(len(p)))
	return o.Object.ReadAt(p, off)
}

func openCounting(t testing.TB, dir string, o Options) (*Catalog, *countingPlace) {
	t.Helper()
	at, err := OpenDir(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &countingPlace{Place: at}
	s, err := Open(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, p
}

// Open reads a segment once, of version 1 twice, and what a segment may have is
// known then without another read.
func TestOpenReadsCards(t *testing.T) {
	const segments = 20
	for _, c := range []struct {
		name    string
		publish func(testing.TB, *Catalog, uint64, map[string][]row)
		reads   int64
	}{{"version 1", publish1, 2}, {"version 2", publish, 1}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			o, _ := testOptions()
			s := open(t, dir, o)
			for i := range segments {
				c.publish(t, s, 1, rowsOf(1e18+int64(i)*int64(day), 40, "a", fmt.Sprint("s", i)))
			}
			closeCatalog(t, s)
			s, p := openCounting(t, dir, o)
			for range 2 {
				if opens, reads, bytes := p.opens.Load(), p.reads.Load(), p.bytes.Load(); opens != segments || reads != c.reads*segments || bytes > reads<<16 {
					t.Errorf("%d segments: %d opens, %d reads of %d bytes", segments, opens, reads, bytes)
				}
				n := s.Snapshot()
				for seg := range n.Segments() {
					if info := seg.Info(); info.Rows != 80 || info.Streams != 2 || !seg.MaySelect("", nil) || seg.MaySelect("other", nil) {
						t.Errorf("%+v", info)
					}
				}
				n.Release()
			}
		})
	}
}

// Thousands of tiny segments take little memory, and one more comes quickly: the
// number of allocations does not depend on how many there are.
func TestManySegments(t *testing.T) {
	segments := 5000
	if testing.Short() || raceEnabled {
		segments = 500
	}
	dir := manySegments(t, segments, 2)
	o, _ := testOptions()
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	s := open(t, dir, o)
	each := (heap() - before) / int64(segments)
	st := s.Stats()
	t.Logf("%d bytes a segment, of these %d of cards", each, st.CardBytes/st.Segments)
	if st.Segments != int64(segments) || each > 8<<10 || st.CardBytes/st.Segments > 4<<10 {
		t.Errorf("%d bytes a segment; stats: %+v", each, st)
	}
	var added *file
	allocs := testing.AllocsPerRun(10, func() {
		was := s.current.Load()
		added = &file{id: s.ids.Add(1), positions: positions{was.order[len(was.order)-1].positions.upto, 1 << 40, 0}}
		was.apply([]*file{added}, nil)
	})
	if allocs > 20 {
		t.Errorf("%v allocations for another segment", allocs)
	}
}

// The directory is not touched by a segment that cannot be read back.
func TestReadBackFails(t *testing.T) {
	o, _ := testOptions()
	dir := t.TempDir()
	s := open(t, dir, o)
	publish(t, s, 1, rowsOf(1e18, 40, "a"))
	s.files.place = &damagingPlace{s.place}
	err := s.Publish(t.Context(), infoAfter(s, 1), writerOf(rowsOf(1e18, 40, "b")), nil)
	if !isCorrupt(err) {
		t.Errorf("published: %v", err)
	}
	if got := namesIn(t, dir, SegmentDir); len(got) != 1 || s.Upto() != 1 {
		t.Errorf("files %v, Upto %d", got, s.Upto())
	}
	s.files.place = s.place
	publish(t, s, 1, rowsOf(1e18, 40, "b"))
	equalLines(t, "published", served(t, s), sortedLines(rowsOf(1e18, 40, "a", "b")))
}

// A damagingPlace damages the header of what it opens.
type damagingPlace struct{ Place }

func (p *damagingPlace) Open(ctx context.Context, name string) (Object, int64, error) {
	path := p.Path(name)
	b, err := os.ReadFile(path)
	if err == nil {
		b[30] ^= 1
		err = os.WriteFile(filepath.Join(filepath.Dir(path), name), b, 0o644)
	}
	if err != nil {
		return nil, 0, err
	}
	return p.Place.Open(ctx, name)
}

// Cards have a bound: beyond it they are slim, and every segment is read as before.
// What cards take the cache of parts has less.
func TestCardsAreBounded(t *testing.T) {
	const segments = 40
	o, _ := testOptions()
	o.CacheBytes = 128 << 10
	dir := t.TempDir()
	s := open(t, dir, o)
	for i := range segments {
		publish(t, s, 1, rowsOf(1e18+int64(i)*int64(time.Hour), 3, "a", "b"))
	}
	slim := func() (n int, bytes int64) {
		for _, f := range s.current.Load().order {
			if bytes += f.card.Weight() + fileBytes; f.card.Weight() == f.card.Slim().Weight() {
				n++
			}
		}
		return n, bytes
	}
	check := func(least int) {
		t.Helper()
		n, bytes := slim()
		if n < least || n == len(s.current.Load().order) || bytes != s.Stats().CardBytes {
			t.Errorf("%d of %d cards are slim, they have %d bytes, %d by Stats", n, segments, bytes, s.Stats().CardBytes)
		}
		if most := s.parts.most; most != max(o.CacheBytes-bytes, o.CacheBytes/minParts) && most > o.CacheBytes-bytes+o.CacheBytes/64 {
			t.Errorf("the cache may take %d bytes of %d, beside %d of cards", most, o.CacheBytes, bytes)
		}
		if got := served(t, s); len(got) != 6*segments {
			t.Errorf("%d lines; want %d", len(got), 6*segments)
		}
	}
	check(segments / 4)
	closeCatalog(t, s)
	s = open(t, dir, o)
	check(segments / 4)
	if err := s.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(0)
}
