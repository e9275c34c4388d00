package logstore

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/semaphore"
)

// Queries of 300 streams of the same hour end in the least memory that a query
// has, while a consumer beside them has stopped for ever: the first entry of all
// needs a block of each stream.
func TestScanEndsInLeastMemory(t *testing.T) {
	a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
	const streams, each = 300, 16
	for half := range 2 {
		var b Batch
		for i := range streams {
			st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
			for j := range each {
				at := time.Duration(half*each+j)*time.Hour/(2*each) + time.Duration(i)
				st.Entries = append(st.Entries, Entry{Time: int64(at), Line: fmt.Appendf(nil, "%d/%d %s", i, j, bytes.Repeat([]byte("word "), 40))})
			}
			b = append(b, st)
		}
		a.add(t, b)
		if half == 0 {
			if err := a.Seal(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	const least = 16 << 10
	a.reads.minBytes, a.reads.maxBytes, a.reads.reserve = least, least, 0
	a.reads.memory = semaphore.New(2 * least)
	stalled, resume, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for range a.Query(context.Background(), Query{}) {
			close(stalled)
			<-resume
			return
		}
	}()
	<-stalled
	nothing := Func(func([]byte, Labels) bool { return false })
	for _, q := range []Query{{}, {Order: Backward}, {Limit: streams * each}, {Filter: nothing}, {Filter: nothing, Limit: 10, Order: Backward}} {
		sameFound(t, fmt.Sprintf("order %d limit %d filter %v", q.Order, q.Limit, q.Filter != nil), query(t, a.Store, q), a.find(q))
	}
	got, err := a.Aggregate(context.Background(), Query{Filter: Contains("word")}, Aggregation{})
	close(resume)
	if err != nil {
		t.Fatal(err)
	}
	sameCount(t, "all", got, aggregated(a.count(Query{}, 0), Aggregation{}), true)
	<-ended
	if free := a.reads.memory.Free(); free != 2*least {
		t.Errorf("%d bytes are free at the end; want %d", free, 2*least)
	}
}

// Entries of many streams with few times are read about once for each of these, in the
// least memory too: all of one time are held before one of them is yielded.
func TestEqualTimesInLeastMemory(t *testing.T) {
	const streams, times, each, least = 200, 4, 5, 8 << 10
	for _, sealed := range []bool{false, true} {
		a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
		var b Batch
		for i := range streams {
			st := Stream{Labels: MustLabels("n", fmt.Sprint(i))}
			for j := range times * each {
				st.Entries = append(st.Entries, Entry{Time: int64(1 + j/each), Line: fmt.Appendf(nil, "%d/%d %0100d", i, j, i)})
			}
			b = append(b, st)
		}
		a.add(t, b)
		if sealed {
			if err := a.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		a.reads.minBytes, a.reads.maxBytes, a.reads.reserve = least, least, 0
		a.reads.memory = semaphore.New(least)
		for _, q := range []Query{{}, {Order: Backward}, {Filter: Contains("1")}} {
			var stats QueryStats
			q.Stats = &stats
			sameFound(t, fmt.Sprintf("sealed %t, order %d", sealed, q.Order), query(t, a.Store, q), a.find(q))
			if most := int64(streams * times * each * (times + 1)); stats.Lines > most {
				t.Errorf("sealed %t, order %d: %d lines were looked at; want at most %d", sealed, q.Order, stats.Lines, most)
			}
			// Once a time; and some once more, as the workers take this memory from each other.
			if most := 2 * times * stats.Blocks.Read; stats.Rereads > most {
				t.Errorf("sealed %t, order %d: %d rereads of %d blocks; want at most %d", sealed, q.Order, stats.Rereads, stats.Blocks.Read, most)
			}
		}
		if free := a.reads.memory.Free(); free != least {
			t.Errorf("%d bytes are free at the end; want %d", free, least)
		}
	}
}
