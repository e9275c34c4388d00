package logstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
)

func TestRowSizes(t *testing.T) {
	last := 0
	for i, n := range rowSizes {
		if n <= last || i > 0 && n > 2*last || last > 4096 && n > last+last/4 {
			t.Errorf("%d rows after %d", n, last)
		}
		last = n
	}
	if last < 4<<20 {
		t.Errorf("no more than %d rows", last)
	}
}

func TestRowPool(t *testing.T) {
	p := &rowPool{max: 1 << 20}
	rng := rand.New(rand.NewPCG(5, 6))
	var out [][]memRow
	for range 2000 {
		if len(out) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(out))
			p.put(out[i])
			out = slices.Delete(out, i, i+1)
			continue
		}
		n := rng.IntN(1 << (1 + rng.IntN(14)))
		list := p.grow([]memRow{{time: 7}}, n)
		if len(list) != 1 || list[0].time != 7 || cap(list) < 1+n {
			t.Fatalf("%d rows with capacity for %d, wanted %d", len(list), cap(list), 1+n)
		}
		out = append(out, list)
	}
	kept := int64(0)
	for class, free := range p.free {
		for _, list := range free {
			if cap(list) != rowSizes[class] || len(list) != 0 {
				t.Fatalf("%d rows with capacity for %d; want %d", len(list), cap(list), rowSizes[class])
			}
			kept += int64(cap(list)) * memRowSize
		}
	}
	if kept != p.kept || kept > p.max || kept == 0 {
		t.Errorf("%d bytes are kept, %d are counted, at most %d", kept, p.kept, p.max)
	}
	var none *rowPool
	none.put(none.grow(nil, 10))
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
	if s.chunks.rows.kept == 0 {
		t.Error("no lists are kept")
	}
}
