package logstore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
)

// The streams of a segment that is far away are selected, and their labels listed, in a
// handful of reads, however many label frames they are in.
func TestLabelsInAnotherPlace(t *testing.T) {
	o, far := anyTime(), newFarPlace()
	o.wrapPlace, o.Memory, o.Level = far.instead(t), 256<<20, durability.Kill
	dir := t.TempDir()
	s := openTest(t, dir, o)
	const streams, each = 20_000, 2
	for i := 0; i < each*streams; i += 1000 {
		var b Batch
		for j := range 1000 {
			l := MustLabels("app", fmt.Sprint("app", (i+j)%streams))
			b = append(b, Stream{l, []Entry{{Time: int64(i+j) * 1e6, Line: fmt.Appendf(nil, "line %d", i*7919+j)}}})
		}
		mustAppend(t, s, b)
	}
	mustDo(t, s.Compact(t.Context()))
	mustDo(t, s.Close())
	for _, c := range []struct {
		selector Selector
		streams  int
	}{
		{nil, streams},
		{Selector{{Name: "app", Op: Matches, Value: "app77.*"}}, 111},
		{Selector{{Name: "app", Op: Matches, Value: "app.*7"}}, streams / 10},
		{Selector{{Name: "app", Op: NotEqual, Value: "app77"}}, streams - 1},
		{Selector{{Name: "app", Op: Equal, Value: "app77"}}, 1},
	} {
		for _, ask := range []struct {
			name  string
			most  int64 // reads behind that of the card
			count func(q Query) (int, error)
		}{
			{"a word", 4, func(q Query) (n int, err error) {
				q.Filter = Word("absent")
				for _, err := range s.Query(t.Context(), q) {
					return 0, err
				}
				return c.streams, nil
			}},
			{"Series", 2, func(q Query) (int, error) {
				list, err := s.Series(t.Context(), q)
				return len(list), err
			}},
			{"LabelValues", 3, func(q Query) (int, error) {
				list, err := s.LabelValues(t.Context(), "app", q)
				return len(list), err
			}},
			{"Count", 6, func(q Query) (int, error) {
				list, err := s.Count(t.Context(), q, 1<<62)
				return len(list), err
			}},
		} {
			s = openTest(t, dir, o)
			before := far.reads.Load()
			n, err := ask.count(Query{Selector: c.selector, To: 1 << 62})
			reads := far.reads.Load() - before
			t.Logf("%v: %s: %d reads", c.selector, ask.name, reads)
			if n != c.streams || err != nil || reads > ask.most {
				t.Errorf("%v: %s: %d streams, %v, %d reads; want %d, in at most %d", c.selector, ask.name, n, err, reads, c.streams, ask.most)
			}
			mustDo(t, s.Close())
		}
	}
}

// Workers that need parts beside each other share a read: of two groups, one of a tenant
// each, as of one.
func TestWordOfTenantsInAnotherPlace(t *testing.T) {
	o, far := anyTime(), newFarPlace()
	o.wrapPlace, o.Level, o.Workers = far.instead(t), durability.Kill, 4
	dir := t.TempDir()
	s := openTest(t, dir, o)
	for _, tenant := range []string{"blue", "red"} {
		for i := range 40 {
			var b Batch
			for j := range 1000 { // so that each tenant has several groups
				l := MustLabels("app", fmt.Sprint("app", i*1000+j))
				b = append(b, Stream{l, []Entry{{Time: int64(i), Line: []byte(strings.Repeat("word ", 4))}}})
			}
			if _, err := s.AppendWith(t.Context(), b, AppendOptions{Tenant: tenant}); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustDo(t, s.Compact(t.Context()))
	mustDo(t, s.Close())
	for range 5 { // workers take turns as they come
		s = openTest(t, dir, o)
		before := far.reads.Load()
		for r, err := range s.Query(t.Context(), Query{Tenant: "red", To: 1 << 62, Filter: Word("absent")}) {
			t.Fatal(r, err)
		}
		if reads := far.reads.Load() - before; reads > 2 {
			t.Errorf("%d reads behind that of the card; want one of groups and one of filters", reads)
		}
		mustDo(t, s.Close())
	}
}

// Queries that read the same labels at once all get them, in the memory that caches have.
func TestLabelsInAnotherPlaceAtOnce(t *testing.T) {
	o, far := anyTime(), newFarPlace()
	o.wrapPlace, o.Level, o.Memory, o.Workers = far.instead(t), durability.Kill, minMemory, 8
	dir := t.TempDir()
	s := openTest(t, dir, o)
	const streams = 30_000
	want := 0
	for i := 0; i < streams; i += 1000 {
		var b Batch
		for j := range 1000 {
			pod := fmt.Sprintf("%09x", int64(i+j)*7_919_317%(1<<36))
			if pod[0] == '0' {
				want++
			}
			b = append(b, Stream{MustLabels("pod", pod), []Entry{{Time: int64(i), Line: []byte("line")}}})
		}
		mustAppend(t, s, b)
	}
	mustDo(t, s.Seal(t.Context()))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			q := Query{Selector: Selector{{Name: "pod", Op: Matches, Value: "0.*"}}, To: 1 << 62}
			n := 0
			for _, err := range s.Query(t.Context(), q) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			q.Limit = 100
			list, err := s.Series(t.Context(), q)
			if len(list) != q.Limit || !errors.Is(err, ErrMore) || n != want {
				t.Errorf("%d series, %v, %d entries; want %d, ErrMore and %d", len(list), err, n, q.Limit, want)
			}
		})
	}
	all.Wait()
	if share := s.Stats().Memory[cacheShare]; share.Used > share.Limit {
		t.Errorf("%s: %d bytes of %d", share.Name, share.Used, share.Limit)
	}
}
