package logstore

import (
	"context"
	"testing"

	"github.com/stele-go/stele/durability"
)

// Every successful operation is in the histogram of its kind, once.
func TestLatencies(t *testing.T) {
	ctx := context.Background()
	o, clock := small(), newTestClock()
	o.Clock = clock
	s := openTest(t, t.TempDir(), o)
	batch := func(line string) Batch {
		return Batch{{Labels: MustLabels("app", "api"), Entries: []Entry{{Time: clock.at(0), Line: []byte(line)}}}}
	}
	mustAppend(t, s, nil) // not counted
	for range 2 {         // two segments, to be merged
		mustAppend(t, s, batch("one"))
		mustAppend(t, s, batch("two"))
		if err := s.Seal(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(ctx, Batch{{Labels: MustLabels("app", "api"), Entries: []Entry{{Time: -1}}}}); err == nil {
		t.Fatal("an entry without a time is kept")
	}
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Query(ctx, Query{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range s.Query(ctx, Query{}) {
		break
	}
	for range s.Query(ctx, Query{From: 1, To: 2}) { // finds nothing
	}
	for range s.Query(ctx, Query{Limit: -1}) { // fails
	}
	st := s.Stats()
	if st.Append.Count() != 4 || st.Append.OneOf() != 1 || st.Sync.Count() < 4 || st.Seal.Count() != 2 || st.Compaction.Count() != 1 {
		t.Errorf("append %v\nsync %v\nseal %v\nmerge %v", st.Append, st.Sync, st.Seal, st.Compaction)
	}
	if st.Query.Count() != 3 || st.QueryFirst.Count() != 3 || st.QueryFirst.Sum() > st.Query.Sum() {
		t.Errorf("query %v\nits first step %v", st.Query, st.QueryFirst)
	}
}

func TestLatenciesAreSampledBelowPower(t *testing.T) {
	o := small()
	o.Level = durability.Kill
	s := openTest(t, t.TempDir(), o)
	for s.Stats().Append.Count() == 0 {
		mustAppend(t, s, benchBatch(1, 1))
	}
	if n := s.Stats().Append.OneOf(); n != 16 {
		t.Errorf("one of %d; want 16", n)
	}
}

// Writes of the log are counted by how many batches they have.
func TestLogGroups(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	before := s.Stats()
	for i := range 10 {
		mustAppend(t, s, one(MustLabels("a", "b"), int64(i), "line"))
	}
	st := s.Stats()
	var records, groups uint64
	for i := range st.LogGroups {
		n := st.LogGroups[i] - before.LogGroups[i]
		records += n << i
		groups += n
	}
	if records < 10 || groups < 10 || st.LogQueued != 0 {
		t.Errorf("%d records or more in %d groups, %d wait", records, groups, st.LogQueued)
	}
}
