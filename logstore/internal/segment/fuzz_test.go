package segment

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/filter"
)

// Hostile bytes never cause a panic, nor more memory than their size allows;
// they end in errors.
func FuzzSegment(f *testing.F) {
	few := someEntries(rand.New(rand.NewPCG(1, 1)), 12, 3)
	intact := pack(f, few, Info{Upto: 5}, 100, 3)
	f.Add(intact)
	f.Add(intact[:len(intact)-1])
	f.Add([]byte(headerMagic))
	var out bytes.Buffer
	w := newWriter(&out, 1)
	if err := w.AddBlock([]byte("block"), []byte("filter"), []StreamRun{{"a", Run{Rows: 3, MinTime: 1, MaxTime: 5, Raw: 7}}, {"b", Run{First: 3, Rows: 1}}}); err != nil {
		f.Fatal(err)
	}
	if _, err := w.Finish(Info{Upto: 3}); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, p []byte) {
		everything(t, p)
		// Matching checksums lead deeper into the code.
		everything(t, repair(bytes.Clone(p)))
	})
}

// everything calls every function on a segment.
func everything(t *testing.T, p []byte) {
	size := int64(len(p))
	var s *Segment
	var err error
	took := filetest.Allocated(func() {
		if s, err = Open(inMemory(p), size); err != nil {
			s, _, err = Scan(t.Context(), inView(p), size, Info{})
		}
	})
	if most := uint64(1<<20 + 200*size); took > most {
		t.Fatalf("%d bytes of memory for a file of %d", took, size)
	}
	if err != nil {
		return
	}
	for i := range s.Info().Streams {
		s.Stream(i)
		s.Runs(i)
	}
	for i := range s.Info().Blocks {
		s.Block(i)
		s.May(i, filter.Word([]byte("word")))
		s.ReadBlock(nil, i)
	}
	s.Verify(context.Background(), nil)
	var out bytes.Buffer
	sources := []*Segment{s}
	if next, err := Open(inView(p), size); err == nil {
		next.footer.info.After = next.footer.info.Upto
		sources = append(sources, next)
	}
	if _, err := Merge(t.Context(), &out, sources, MergeOptions{BlockRaw: 100}); err == nil {
		// A store would delete the sources.
		merged := open(t, out.Bytes())
		for i := range merged.Info().Streams {
			if _, err := merged.Runs(i); err != nil {
				t.Fatalf("what was merged cannot be read: %v", err)
			}
		}
	}
	out.Reset()
	if _, _, err := Salvage(t.Context(), &out, s, MergeOptions{}); err == nil {
		if _, err := Open(inMemory(out.Bytes()), int64(out.Len())); err != nil {
			t.Fatalf("what was salvaged cannot be opened: %v", err)
		}
	}
}

// repair recomputes the checksums of the footer, the tables, and the frames
// that the table of blocks locates.
func repair(p []byte) []byte {
	if len(p) < headerSize+footerSize {
		return p
	}
	e, _, _ := parseEndUnchecked(p[len(p)-footerSize:])
	size := int64(len(p))
	e.info.Size = size
	if 0 <= e.blocks && e.blocks <= e.streams && e.streams <= size-footerSize {
		e.blocksSum = checksum(p[e.blocks:e.streams])
		e.streamsSum = checksum(p[e.streams : size-footerSize])
	}
	copy(p[size-footerSize:], e.append(nil))
	copy(p, header(e.salt))
	return p
}

func parseEndUnchecked(p []byte) (footer, uint32, bool) {
	q := bytes.Clone(p)
	copy(q[footerSize-8:], footerMagic)
	sum := checksum(q[:footerSize-12])
	for i := range 4 {
		q[footerSize-12+i] = byte(sum >> (8 * i))
	}
	return parseFooter(q)
}

// Lists are decoded from any bytes; what is decoded encodes to the same runs.
func FuzzLists(f *testing.F) {
	f.Add(appendBlockRuns(nil, []blockRun{
		{StreamRun{"app", Run{Rows: 3, MinTime: 5, MaxTime: 9, Raw: 70}}, 2},
		{StreamRun{"apple", Run{First: 3, Rows: 1, MinTime: -5, MaxTime: -5}}, 0},
	}))
	var w listWriter
	f.Add(w.append(w.append(nil, seqRun{Run{Block: 3, Rows: 3}, 0}), seqRun{Run{Block: 1, First: 2, Rows: 1, MinTime: 1, MaxTime: 1}, 4}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if runs, _, _, err := parseBlockRuns(nil, p, 3); err == nil {
			again, _, _, err := parseBlockRuns(nil, appendBlockRuns(nil, runs), 3)
			if err != nil || len(again) != len(runs) {
				t.Fatalf("%v: %+v of %+v", err, again, runs)
			}
			for i := range runs {
				if runs[i] != again[i] {
					t.Fatalf("%+v, and was %+v", again[i], runs[i])
				}
			}
		}
		blocks := func(i int64) (blockEntry, bool) { return blockEntry{rows: 10, raw: 100}, 0 <= i && i < 20 }
		if list, err := parseList(nil, p, blocks); err == nil {
			var w listWriter
			var enc []byte
			for _, r := range list {
				enc = w.append(enc, r)
			}
			again, err := parseList(nil, enc, blocks)
			if err != nil || len(again) != len(list) {
				t.Fatalf("%v: %+v of %+v", err, again, list)
			}
			for i := range list {
				if list[i] != again[i] {
					t.Fatalf("%+v, and was %+v", again[i], list[i])
				}
			}
		}
	})
}
