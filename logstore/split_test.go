package logstore

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/durability"
)

// blockRaw is the target size of blocks in these tests.
const blockRaw = 256 << 10

func TestBlocksOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		m := newMemtable(1, testPool(0), func(int64) {})
		streams := 1 + rng.IntN(60)
		rows := 0
		for n := range uint32(streams) {
			size := rng.IntN(1 << rng.IntN(21))
			var list []memRow
			raw := int64(0)
			for raw < int64(size) {
				line := rng.IntN(2000)
				list = append(list, memRow{time: int64(rng.IntN(1000)), size: uint32(line) << 1})
				raw += int64(line)
			}
			if len(list) > 0 {
				m.insert(m.stream(&stream{number: n, labels: Labels{fmt.Sprintf("%03d", n)}}), list, raw)
				rows += len(list)
			}
		}
		plan := planSeal(m, blockRaw)
		got := 0
		small := 0
		seqs := map[uint32]uint64{}
		for _, b := range plan.blocks {
			raw, last := 0, -1
			for r := range plan.runs(b) {
				if int(r.ordinal) <= last || r.seq != seqs[r.ordinal] {
					t.Fatalf("run %d of stream %d behind one of stream %d, want run %d", r.seq, r.ordinal, last, seqs[r.ordinal])
				}
				last = int(r.ordinal)
				seqs[r.ordinal]++
				if !slices.IsSortedFunc(r.rows, compareRows) {
					t.Fatal("rows are not in order")
				}
				for _, row := range r.rows {
					raw += row.lineLen()
				}
				got += len(r.rows)
			}
			if raw < blockRaw/2-2000 {
				small++
			}
			if raw > blockRaw+2000 {
				t.Errorf("a block of %d bytes", raw)
			}
		}
		if got != rows || small > 1 {
			t.Errorf("%d rows of %d, %d small blocks", got, rows, small)
		}
	}
}

// What a block cannot hold is divided: metadata larger than the lines, and
// empty lines.
func TestBlocksOfExtremes(t *testing.T) {
	big := MustLabels("v", strings.Repeat("m", 60<<10))
	s := openTest(t, t.TempDir(), Options{MaxLine: maxLine, MinFree: 1, Level: durability.Kill, logSegmentSize: 16 << 20})
	s.sealAt = math.MaxInt64
	sealed := int64(0)
	for _, c := range []struct {
		name    string
		streams int
		rows    int
		entry   Entry
	}{
		{"large metadata", 1, 280, Entry{Line: []byte("x"), Metadata: big}},
		{"large metadata of small streams", 40, 2, Entry{Metadata: big}},
		{"empty lines", 1, blockRaw/4 + 100, Entry{}},
		{"empty lines of many streams", 20, 6000, Entry{}},
		{"long lines", 2, 2, Entry{Line: bytes.Repeat([]byte("y"), maxLine), Metadata: big}},
	} {
		for n := range c.streams {
			st := Stream{Labels: MustLabels("n", fmt.Sprint(n)), Entries: slices.Repeat([]Entry{c.entry}, c.rows)}
			mustAppend(t, s, Batch{st})
		}
		rows := 0
		plan := planSeal(s.active.Load(), blockRaw)
		for _, b := range plan.blocks {
			var all, raw int
			for r := range plan.runs(b) {
				all += len(r.rows)
				for _, row := range r.rows {
					raw += row.lineLen() + len(s.active.Load().meta(row))
				}
			}
			if rows += all; weight(all, int64(raw)) > blockRaw+int64(len(c.entry.Line)+len(c.entry.Metadata.enc)) {
				t.Errorf("%s: a block of %d rows, %d bytes", c.name, all, raw)
			}
		}
		if want := c.streams * c.rows; rows != want {
			t.Errorf("%s: %d rows, not %d", c.name, rows, want)
		}
		if err := s.Compact(context.Background()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		sealed += int64(rows)
		if n := s.Stats().SealedEntries; n != sealed {
			t.Errorf("%s: %d entries are in segments, not %d", c.name, n, sealed)
		}
	}
}
