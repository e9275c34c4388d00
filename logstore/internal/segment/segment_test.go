package segment

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

func TestWrittenIsRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, streams, raw, rows int }{
		{0, 1, 100, 10}, {1, 1, 100, 10}, {1000, 1, 1 << 10, 50}, {5000, 300, 4 << 10, 40}, {3000, 3, 1, 1}, {2000, 1000, 1 << 20, 1 << 20},
	} {
		entries := someEntries(r, c.n, c.streams)
		info := segment2.Info{After: 7, Upto: 99, Generation: 3, Created: 1234}
		p := pack(t, entries, info, c.raw, c.rows)
		for _, src := range []segment2.Source{inMemory(p), inView(p)} {
			s, err := Open(src, int64(len(p)))
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			got := mustRead(t, s)
			same(t, got, byStream(entries))
			mustVerify(t, s)
			i := s.Info()
			if i.After != 7 || i.Upto != 99 || i.Generation != 3 || i.Created != 1234 || i.Rows != int64(c.n) || i.Size != int64(len(p)) {
				t.Errorf("%+v", i)
			}
			s.Trim()
			same(t, mustRead(t, s), got)
		}
	}
}

// Each word of each line is in the filter of its block, and most blocks are
// ruled out for a word of one line.
func TestMay(t *testing.T) {
	entries := someEntries(rand.New(rand.NewPCG(3, 4)), 3000, 40)
	p := pack(t, entries, segment2.Info{}, 2<<10, 20)
	for _, src := range []segment2.Source{inMemory(p), inView(p)} {
		s, err := Open(src, int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		mustRead(t, s)
		asked, passed := 0, 0
		eachRow(t, s, func(block int, e entry) {
			if e.line == "" {
				return
			}
			word, _, _ := bytes.Cut([]byte(e.line), []byte(" "))
			if may, err := s.May(block, filter.Word(word), filter.Substring(word)); !may || err != nil {
				t.Fatalf("block %d cannot have %q: %v", block, word, err)
			}
			asked++
			if may, _ := s.May((block+1)%s.Info().Blocks, filter.Word(word)); may {
				passed++
			}
		})
		if asked == 0 || passed > asked/20 {
			t.Errorf("of %d blocks without the word %d are not ruled out", asked, passed)
		}
		if may, err := s.May(0); !may || err != nil {
			t.Errorf("asked for nothing: %v, %v", may, err)
		}
	}
}

func TestMayWithoutAllocating(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	p := pack(t, someEntries(rand.New(rand.NewPCG(3, 4)), 3000, 40), segment2.Info{}, 2<<10, 20)
	needles := []filter.Needle{filter.Word([]byte("nowhere"))}
	for _, src := range []segment2.Source{inMemory(p), inView(p)} {
		s, err := Open(src, int64(len(p)))
		if err != nil {
			t.Fatal(err)
		}
		block := 0
		n := testing.AllocsPerRun(1000, func() {
			if _, err := s.May(block%s.Info().Blocks, needles...); err != nil {
				t.Fatal(err)
			}
			block++
		})
		if n >= 1 { // the pool may be emptied now and then
			t.Errorf("%T: %v allocations", src, n)
		}
	}
}

// A failing is a source with failing reads.
type failing struct {
	segment2.Source
	err  error
	from int64
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, f.err
	}
	return f.Source.ReadAt(p, off)
}

func TestErrorsOfTheSource(t *testing.T) {
	p := pack(t, someEntries(rand.New(rand.NewPCG(5, 6)), 3000, 30), segment2.Info{}, 1<<10, 20)
	disk := errors.New("input/output error")
	if _, err := Open(failing{inMemory(p), disk, 0}, int64(len(p))); !errors.Is(err, disk) || isCorrupt(err) {
		t.Errorf("Open: %v", err)
	}
	s := open(t, p)
	s.src = failing{s.src, disk, 0}
	if _, err := s.Runs(0); !errors.Is(err, disk) || isCorrupt(err) {
		t.Errorf("Runs: %v", err)
	}
	if b, err := s.ReadBlock([]byte("x"), 0); !errors.Is(err, disk) || string(b) != "x" {
		t.Errorf("ReadBlock: %q, %v", b, err)
	}
	if may, err := s.May(0, filter.Word([]byte("nowhere"))); !may || !errors.Is(err, disk) {
		t.Errorf("May: %v, %v", may, err)
	}
	if err := s.Verify(t.Context(), nil); !errors.Is(err, disk) || isCorrupt(err) {
		t.Errorf("Verify: %v", err)
	}
	if _, _, err := Scan(t.Context(), s.src, int64(len(p)), segment2.Info{}); !errors.Is(err, disk) {
		t.Errorf("Scan: %v", err)
	}
	s.Trim()
	if _, err := s.Stream(0); !errors.Is(err, disk) {
		t.Errorf("Stream: %v", err)
	}
	if _, err := s.Block(0); !errors.Is(err, disk) {
		t.Errorf("Block: %v", err)
	}

	// A file shorter than the given size is damaged.
	for _, n := range []int{0, 10, headerSize + footerSize, len(p) / 2, len(p) - 1} {
		for _, src := range []segment2.Source{inMemory(p[:n]), inView(p[:n])} {
			if _, err := Open(src, int64(len(p))); !isCorrupt(err) {
				t.Errorf("%d of %d bytes: %v", n, len(p), err)
			}
			s := open(t, p)
			s.src = src
			s.viewer, _ = src.(segment2.Viewer)
			if err := s.Verify(t.Context(), nil); !isCorrupt(err) {
				t.Errorf("Verify of %d of %d bytes: %v", n, len(p), err)
			}
		}
	}

	s = open(t, p)
	s.Close()
	if _, err := s.Runs(0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Trim may be called at any time, beside readers.
func TestTrimBesideReaders(t *testing.T) {
	p := pack(t, someEntries(rand.New(rand.NewPCG(8, 8)), 2000, 50), segment2.Info{Upto: 1}, 1<<10, 20)
	s := open(t, p)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range 500 {
				if _, err := s.Runs(i % s.Info().Streams); err != nil {
					t.Error(err)
				}
				if may, err := s.May(i%s.Info().Blocks, filter.Word([]byte("word"))); err != nil {
					t.Error(may, err)
				}
				if _, err := s.ReadBlock(nil, i%s.Info().Blocks); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 500 {
		s.Trim()
	}
	readers.Wait()
}
