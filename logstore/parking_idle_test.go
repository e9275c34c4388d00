package logstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

// beside returns a store with 300 sealed streams of the same hour, each with some
// rows, whose queries have least bytes of memory each, most at most, and all together.
func beside(t *testing.T, rows int, least, most, all int64) *archive {
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	var b Batch
	for i := range 300 {
		st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
		for j := range rows {
			at := time.Duration(j)*time.Minute + time.Duration(i)
			st.Entries = append(st.Entries, Entry{Time: int64(at), Line: fmt.Appendf(nil, "%d/%d %0200d", i, j, i)})
		}
		b = append(b, st)
	}
	a.add(t, b)
	if err := a.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := a.reads
	r.minBytes, r.maxBytes, r.reserve, r.sumBytes = least, most, all-most, all
	r.memory = semaphore.New(all)
	return a
}

// An idleIterator has taken one entry of all, and then none.
type idleIterator struct {
	next  func() (Result, error, bool)
	stats QueryStats
	got   []archived
}

func (a *archive) stall(t *testing.T) *idleIterator {
	i := new(idleIterator)
	next, stop := iter.Pull2(a.Query(context.Background(), Query{Stats: &i.stats}))
	t.Cleanup(stop)
	i.next = next
	i.take(t)
	return i
}

func (i *idleIterator) take(t *testing.T) bool {
	f, err, ok := i.next()
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		i.got = append(i.got, archived{0, f.Labels, Entry{f.Time, append([]byte(nil), f.Line...), f.Metadata}})
	}
	return ok
}

// goOn takes the other entries, and checks that the iterator has found what it would
// have found. It returns how often it gave up its memory.
func (i *idleIterator) goOn(t *testing.T, a *archive) int {
	t.Helper()
	for i.take(t) {
	}
	sameFound(t, "an iterator that was idle", i.got, a.find(Query{}))
	return i.stats.Parked
}

// A query that must not wait takes the memory of idle ones, but not of those that have
// just had an entry.
func TestNoWaitBesideIdleIterators(t *testing.T) {
	const least, iterators = 32 << 10, 6
	a := beside(t, 4, least, least, iterators*least)
	a.reads.idleAfter = time.Hour
	var idle []*idleIterator
	for range iterators {
		idle = append(idle, a.stall(t))
	}
	for _, err := range a.Query(t.Context(), Query{NoWait: true}) {
		if !errors.Is(err, ErrBusy) {
			t.Fatalf("beside iterators that are not idle: %v", err)
		}
	}
	a.reads.idleAfter = 0
	sameFound(t, "beside idle iterators", query(t, a.Store, Query{NoWait: true}), a.find(Query{}))
	for _, i := range idle {
		if i.goOn(t, a) == 0 {
			t.Error("an idle iterator kept its memory")
		}
	}
}

// A query whose consumer waits takes the memory beyond the least of an idle one, so
// that it reads no block twice.
func TestLargerGrantBesideIdleIterator(t *testing.T) {
	const least, most = 16 << 10, 8 << 20
	a := beside(t, 40, least, most, 2*most)
	var alone, second QueryStats
	query(t, a.Store, Query{Stats: &alone})
	if alone.Rereads > 0 {
		t.Fatalf("alone: %d blocks were read again: this tests nothing", alone.Rereads)
	}
	a.reads.idleAfter = 0
	idle := a.stall(t)
	if free := a.reads.memory.Free(); free >= 2*most-least {
		t.Fatalf("%d bytes are free beside an iterator: this tests nothing", free)
	}
	sameFound(t, "beside an idle iterator", query(t, a.Store, Query{Stats: &second}), a.find(Query{}))
	if second.Rereads > 0 {
		t.Errorf("%d blocks were read again", second.Rereads)
	}
	if idle.goOn(t, a) == 0 {
		t.Error("the idle iterator kept its memory")
	}
}

// What a count sums up takes the memory of idle iterators.
func TestCountBesideIdleIterators(t *testing.T) {
	const least, iterators = 32 << 10, 4
	a := beside(t, 4, least, least, (iterators+1)*least)
	a.reads.idleAfter = time.Hour
	var idle []*idleIterator
	for range iterators {
		idle = append(idle, a.stall(t))
	}
	if _, err := a.Count(t.Context(), Query{}, 0); !errors.Is(err, ErrBusy) {
		t.Fatalf("beside iterators that are not idle: %v", err)
	}
	a.reads.idleAfter = 0
	if groups, err := a.Count(t.Context(), Query{}, 0); err != nil || len(groups) != 300 {
		t.Errorf("beside idle iterators: %d groups, %v", len(groups), err)
	}
	parked := 0
	for _, i := range idle {
		parked += i.goOn(t, a)
	}
	if parked == 0 {
		t.Error("no idle iterator gave up its memory")
	}
}
