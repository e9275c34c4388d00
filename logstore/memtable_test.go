package logstore

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/logstore/internal/arena"
)

func TestHeadKeepsOrder(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var h memStream
		var want []memRow
		memory := int64(0)
		// Appends arrive nearly in the order of their positions.
		positions := rng.Perm(rng.IntN(60))
		slices.SortFunc(positions, func(a, b int) int { return a/4 - b/4 })
		for _, p := range positions {
			pos := uint32(p)
			var rows []memRow
			at := 1000 + rng.Int64N(1<<rng.IntN(12))
			for i := range uint32(1 + rng.IntN(20)) {
				at = max(0, at+rng.Int64N(20)-rng.Int64N(1<<rng.IntN(6)))
				rows = append(rows, memRow{time: at, pos: pos, off: i})
			}
			want = append(want, rows...)
			memory += h.add(nil, rows, 1)
		}
		slices.SortStableFunc(want, compareRows)
		from, to := rng.Int64N(2000), rng.Int64N(4000)
		for _, r := range [][2]int64{{0, math.MaxInt64}, {from, to}, {to, from}} {
			got := h.between(nil, r[0], r[1])
			expected := slices.DeleteFunc(slices.Clone(want), func(x memRow) bool { return x.time < r[0] || x.time >= r[1] })
			if !slices.Equal(got, expected) {
				t.Fatalf("seed %d, %d to %d: %v, not %v", seed, r[0], r[1], got, expected)
			}
		}
		if memory != int64(cap(h.rows)+cap(h.late))*memRowSize {
			t.Fatalf("seed %d: %d bytes counted, %d are there", seed, memory, int64(cap(h.rows)+cap(h.late))*memRowSize)
		}
		if got := h.all(nil); !slices.Equal(got, want) {
			t.Fatalf("seed %d: all: %v, not %v", seed, got, want)
		}
		if len(want) > 0 && (h.min != want[0].time || h.max != want[len(want)-1].time) {
			t.Fatalf("seed %d: from %d to %d", seed, h.min, h.max)
		}
	}
}

// TestFreeze tests the argument in memtable.go: many goroutines take positions
// of a log while memtables are frozen, and each memtable gets exactly the
// positions between its boundaries.
func TestFreeze(t *testing.T) {
	var log sync.Mutex
	var next atomic.Uint64 // acknowledged
	next.Store(1)
	pool := testPool(4)
	none := func(int64) {}
	s := &Store{}
	first := newMemtable(1, pool, none)
	s.active.Store(first)
	s.o.Clock = fixedClock(1)
	s.seals.signal = make(signal, 1)
	s.sealAt = math.MaxInt64
	const appenders, each = 8, 3000
	streams := []*stream{{number: 0}, {number: 1}, {number: 2}}
	var all sync.WaitGroup
	for g := range appenders {
		all.Go(func() {
			st := streams[g%3]
			for i := range each {
				m := s.enter()
				buf, chunk, off := m.arena.Reserve(16)
				rec := fmt.Appendf(buf[:0], "%d/%d", g, i)
				log.Lock()
				pos := next.Load()
				next.Store(pos + 1)
				log.Unlock()
				set := rowSet{rows: []memRow{{time: int64(pos), size: uint32(len(rec)) << 1}}}
				s.insert(m, pos, &set, []recordStream{{stream: st, in: m.stream(st), last: 1, raw: int64(len(rec))}}, rec, arenaRef{chunk, off}, 1)
				m.leave()
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	var frozen []*memtable
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		m := s.active.Load()
		after := newMemtable(0, pool, none)
		m.freeze(after, next.Load)
		s.active.Store(after)
		m.waitDrained()
		frozen = append(frozen, m)
	}
	expected := uint64(1)
	found := map[string]bool{}
	for _, m := range frozen {
		if m.base != expected {
			t.Fatalf("a memtable begins at %d, the one before ended at %d", m.base, expected)
		}
		expected = m.boundary.Load()
		rows := 0
		for _, h := range m.streams.All() {
			for _, r := range h.between(nil, 0, math.MaxInt64) {
				rows++
				found[string(m.line(r))] = true
				if r.place != 0 {
					t.Fatalf("the only entry of a record has place %d", r.place)
				}
				if pos := uint64(r.time); pos < m.base || pos >= expected || m.base+uint64(r.pos) != pos {
					t.Fatalf("position %d (%d) in the memtable from %d to %d", pos, m.base+uint64(r.pos), m.base, expected)
				}
			}
		}
		if uint64(rows) != expected-m.base || m.count.Load() != int64(rows) {
			t.Fatalf("%d entries, %d counted, of %d positions", rows, m.count.Load(), expected-m.base)
		}
	}
	if len(found) != appenders*each {
		t.Errorf("%d of %d lines", len(found), appenders*each)
	}
}

func TestMemoryOfMemtables(t *testing.T) {
	pool := testPool(2)
	var taken int64
	m := newMemtable(1, pool, func(n int64) { taken += n })
	for range 5 {
		m.arena.Reserve(arena.ChunkSize - 10)
	}
	large, _, _ := m.arena.Reserve(3 * arena.ChunkSize)
	if len(large) != 3*arena.ChunkSize {
		t.Errorf("%d bytes", len(large))
	}
	small, chunk, off := m.arena.Reserve(10)
	if chunk == 5 || len(small) != 10 || off != arena.ChunkSize-10 {
		t.Errorf("10 bytes at %d of chunk %d: not what was left of the one before", off, chunk)
	}
	for n := range uint32(1000) {
		m.stream(&stream{number: n})
	}
	if want := 8*arena.ChunkSize + 1000*memStreamBytes + 16*memPartBytes; taken != want || m.bytes.Load() != want {
		t.Errorf("%d bytes counted, %d by the memtable, not %d", taken, m.bytes.Load(), want)
	}
	m.acquire()
	m.release()
	if pool.chunks.Kept() != 0 {
		t.Error("memory was given back that a view has")
	}
	m.release()
	if n := pool.chunks.Kept(); n != 2*arena.ChunkSize {
		t.Errorf("%d bytes of chunks were kept, not those of 2 chunks", n)
	}
}
