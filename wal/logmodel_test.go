package wal_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/testseed"
	"github.com/stele-go/stele/wal"
)

var modelSeed = flag.Uint64("model-seed", 0, "seed of the first log that is held against its model, which is the name of the test; 0: that of testseed.Of")

// A model is the expected content of a log: a slice, and the position of its
// first record.
type model struct {
	first wal.Position
	recs  []string
}

func (m *model) next() wal.Position { return m.first + wal.Position(len(m.recs)) }

// After any sequence of operations a log has the records of its model.
func TestLogAgainstModel(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a reader holds its segment until it is collected, and a directory with an open file cannot be removed there")
	}
	seed := *modelSeed
	if seed == 0 {
		seed = testseed.Of(t)
	}
	for i := range uint64(12) {
		t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			t.Parallel()
			againstModel(t, rand.New(rand.NewPCG(seed+i, 0)), i)
		})
	}
}

func againstModel(t *testing.T, rng *rand.Rand, i uint64) {
	o := wal.Options{SegmentSize: 64 << 10, MaxBatch: 8 << 10, LazyVerify: i%2 == 0, Spares: int(i % 3)}
	o.Level = durability.Level(i % 3)
	if o.Level == durability.Power {
		o.Sync = []wal.Mechanism{wal.SyncFdatasync, wal.SyncDsync, wal.SyncDirect}[i/3%3]
	}
	dir := t.TempDir()
	l, err := wal.Open(dir, o)
	if err != nil && o.Sync != wal.SyncFdatasync {
		t.Skip(err)
	}
	check(t, err)
	defer func() { l.Close() }()
	m := model{first: 1}
	record := func() []byte {
		rec := make([]byte, rng.IntN(1<<rng.IntN(14)))
		for i := range rec {
			rec[i] = byte(rng.Uint32())
		}
		m.recs = append(m.recs, string(rec))
		return rec
	}
	var r *wal.Reader
	var at wal.Position
	for range 400 {
		next := m.next()
		switch n := rng.IntN(40); {
		case n < 20:
			pos, err := l.Append(t.Context(), record())
			if err != nil || pos != next {
				t.Fatalf("append: %d, %v; want %d", pos, err, next)
			}
		case n < 24:
			var recs [][]byte
			for range 1 + rng.IntN(20) {
				recs = append(recs, record())
			}
			pos, err := l.AppendBatch(t.Context(), recs)
			if err != nil || pos != next {
				t.Fatalf("batch: %d, %v; want %d", pos, err, next)
			}
		case n < 28:
			var ps []*wal.Pending
			for range 1 + rng.IntN(20) {
				ps = append(ps, l.AppendAsync(record()))
			}
			for i, p := range ps {
				if pos, err := p.Wait(t.Context()); err != nil || pos != next+wal.Position(i) {
					t.Fatalf("async: %d, %v; want %d", pos, err, next+wal.Position(i))
				}
			}
		case n < 30:
			pos := m.first + wal.Position(rng.IntN(len(m.recs)+1))
			if rng.IntN(3) > 0 { // mostly short
				pos = m.first + (pos-m.first)/8
			}
			check(t, l.TruncateBefore(pos))
			m.recs, m.first = m.recs[pos-m.first:], pos
		case n < 31:
			check(t, l.Close())
			o.SegmentSize = int64(64<<10 + rng.IntN(4)*4096)
			l, err = wal.Open(dir, o)
			check(t, err)
			r = nil
		case n < 33:
			check(t, l.Sync())
		case n < 35:
			from := m.first + wal.Position(rng.IntN(len(m.recs)+1))
			same(t, read(t, l, from), m.recs[from-m.first:])
		case n < 37 || r == nil:
			if r != nil {
				check(t, r.Close())
			}
			at = m.first + wal.Position(rng.IntN(len(m.recs)+1))
			r, err = l.Reader(at)
			check(t, err)
		default:
			for range rng.IntN(50) {
				rec, err := r.Next()
				if err == io.EOF && at == m.next() {
					break
				}
				if errors.Is(err, wal.ErrTruncated) && at < m.first {
					check(t, r.Close())
					r = nil
					break
				}
				if err != nil || rec.Position != at {
					t.Fatalf("read: %d, %v; want %d of %d to %d", rec.Position, err, at, m.first, m.next())
				}
				if at >= m.first && string(rec.Data) != m.recs[at-m.first] {
					t.Fatalf("record %d is not as it was written", at)
				}
				at++
			}
		}
		if first, next := l.Bounds(); first != m.first || next != m.next() {
			t.Fatalf("bounds %d, %d; want %d, %d", first, next, m.first, m.next())
		}
	}
	same(t, read(t, l, 0), m.recs)
}
