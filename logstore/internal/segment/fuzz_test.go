package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment/segmenttest"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Hostile bytes never cause a panic, nor more memory than their size allows;
// they end in errors.
func FuzzSegment(f *testing.F) {
	few := someEntries(rand.New(rand.NewPCG(1, 1)), 12, 3)
	intact := pack(f, few, segment2.Info{Upto: 5}, 100, 3)
	f.Add(intact)
	f.Add(intact[:len(intact)-1])
	f.Add([]byte(headerMagic))
	var out bytes.Buffer
	w := segmenttest.NewWriterWithSalt(&out, 1)
	runs := []segmenttest.Run{{Labels: "\x01a\x01a", Rows: 3, MinTime: 1, MaxTime: 5, Raw: 7}, {Labels: "\x01a\x01b", Rows: 1}}
	if err := w.AddBlock([]byte("block"), []byte("filter"), runs); err != nil {
		f.Fatal(err)
	}
	if _, err := w.Finish(segment2.Info{Upto: 3}); err != nil {
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
			s, _, err = Scan(t.Context(), inView(p), size, segment2.Info{})
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
	if _, _, err := segment2.SalvageSource(t.Context(), &out, s.MergeSource(), segment2.MergeOptions{BlockRaw: 100}); err == nil {
		// A store would delete the source.
		readVersion2(t, out.Bytes())
	}
}

// repair recomputes the checksums of the footer, the tables, and the frames
// that the table of blocks locates.
func repair(p []byte) []byte {
	if len(p) < headerSize+footerSize {
		return p
	}
	size := int64(len(p))
	end := p[size-footerSize:]
	u64 := func(at int) int64 { return int64(binary.LittleEndian.Uint64(end[at:])) }
	binary.LittleEndian.PutUint64(end[56:], uint64(size))
	if blocks, streams := u64(72), u64(80); 0 <= blocks && blocks <= streams && streams <= size-footerSize {
		binary.LittleEndian.PutUint32(end[104:], checksum(p[blocks:streams]))
		binary.LittleEndian.PutUint32(end[108:], checksum(p[streams:size-footerSize]))
	}
	binary.LittleEndian.PutUint32(end[112:], version)
	binary.LittleEndian.PutUint32(end[116:], checksum(end[:footerSize-12]))
	copy(end[120:], footerMagic)
	copy(p, segmenttest.Header(uint64(u64(88))))
	return p
}

// Lists are decoded from any bytes: to runs that cover rows, or to an error.
func FuzzLists(f *testing.F) {
	p, _ := specimen(f)
	s := open(f, p)
	t := s.tables.Load()
	for i := range t.streams {
		f.Add(p[t.streams[i].off:][:t.streams[i].size])
	}
	for i := range t.count {
		e := t.blockEntry(i)
		f.Add(p[e.off+frameHeaderSize:][:e.list])
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if runs, rows, _, err := parseBlockRuns(nil, p, 3); err == nil {
			for _, r := range runs {
				if rows -= int64(r.Rows); r.Block != 3 || r.Rows <= 0 || r.MaxTime < r.MinTime {
					t.Fatalf("%+v", r)
				}
			}
			if len(runs) == 0 || rows != 0 {
				t.Fatalf("%d runs, %d rows too many", len(runs), rows)
			}
		}
		blocks := func(i int64) (blockEntry, bool) { return blockEntry{rows: 10, raw: 100}, 0 <= i && i < 20 }
		if list, err := parseList(nil, p, blocks); err == nil {
			for i, r := range list {
				if r.First < 0 || r.Rows <= 0 || r.First+r.Rows > 10 || r.MaxTime < r.MinTime || i > 0 && r.seq <= list[i-1].seq {
					t.Fatalf("run %d: %+v", i, r)
				}
			}
		}
	})
}
