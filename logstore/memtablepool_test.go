package logstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/arena"
)

// testPool returns a pool for memtables of so many chunks.
func testPool(chunks int64) *memtablePool {
	p := newMemtablePool(chunks * arena.ChunkSize)
	return &p
}

// A record longer than a chunk, the first of its memtable, is kept intact.
func TestLongRecordFirst(t *testing.T) {
	o := small()
	o.Level = durability.Kill
	s := openTest(t, t.TempDir(), o)
	want := map[kept]int{}
	for round := range 2 {
		for g, n := range []int{15, 1, 1} {
			st := Stream{Labels: MustLabels("g", fmt.Sprint(g))}
			for i, line := range lines(n, 100<<10) {
				st.Entries = append(st.Entries, Entry{Time: int64(round*100 + i), Line: line})
				want[kept{st.Labels.enc, int64(round*100 + i), string(line), ""}]++
			}
			mustAppend(t, s, Batch{st})
		}
		sameCounts(t, "in memory", counted(contents(t, s)), want)
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
		sameCounts(t, "sealed", counted(contents(t, s)), want)
	}
}

// Lists reused by other memtables during a query are not those that the query
// reads.
func TestRowsUsedAgain(t *testing.T) {
	o := small()
	o.Level, o.LateWindow = durability.Kill, -1
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "api")
	const rounds, each = 15, 300
	var group sync.WaitGroup
	group.Go(func() {
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range rounds {
			st := Stream{Labels: l}
			for j := range each {
				at := int64(i*each + j)
				if rng.IntN(50) == 0 {
					at = rng.Int64N(at + 1) // late
				}
				st.Entries = append(st.Entries, Entry{Time: at, Line: fmt.Append(nil, at)})
			}
			mustAppend(t, s, Batch{st})
			if i%3 == 2 {
				if err := s.Seal(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		for _, k := range contents(t, s) {
			if fmt.Sprint(k.time) != k.line {
				t.Fatalf("%q at %d", k.line, k.time)
			}
		}
	}
	if n := len(contents(t, s)); n != rounds*each {
		t.Errorf("%d entries", n)
	}
	if s.pool.rows.Bytes() == 0 {
		t.Error("no lists are kept")
	}
}
