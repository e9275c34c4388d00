package logstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Goroutines that add the same streams, whose numbers are far apart, get the
// same rows, and readers find them at once.
func TestMemStreams(t *testing.T) {
	const adders, streams = 4, 1000
	var m memStreams
	list := make([]*stream, streams)
	rnd := rand.New(rand.NewPCG(1, 2))
	numbers := rnd.Perm(20 * streams)
	for i := range list {
		list[i] = &stream{number: uint32(numbers[i])}
	}
	var taken atomic.Int64
	var group sync.WaitGroup
	got := make([][]*memStream, adders)
	for g := range adders {
		group.Go(func() {
			for i, st := range list {
				h, n := m.add(st)
				taken.Add(n)
				got[g] = append(got[g], h)
				if m.Get(st.number) != h || h.of != st {
					t.Errorf("stream %d was added and is not found", st.number)
				}
				if i%100 == 0 {
					seen := map[*stream]bool{}
					for n, h := range m.All() {
						// One that is being added may not be found by its number yet.
						if by := m.Get(n); n != h.of.number || seen[h.of] || by != nil && by != h {
							t.Errorf("stream %d is not in order", n)
						}
						seen[h.of] = true
					}
					if len(seen) <= i {
						t.Errorf("%d streams where %d were added", len(seen), i+1)
					}
				}
			}
		})
	}
	group.Wait()
	parts := map[uint32]bool{}
	for i, st := range list {
		parts[st.number/partNumbers] = true
		for g := range adders {
			if got[g][i] != got[0][i] {
				t.Fatalf("stream %d has rows twice", st.number)
			}
		}
	}
	if want := streams*memStreamBytes + int64(len(parts))*memPartBytes; m.Len() != streams || taken.Load() != want {
		t.Errorf("%d streams take %d bytes; want %d", m.Len(), taken.Load(), want)
	}
	for n := range uint32(25 * streams) {
		if (m.Get(n) != nil) != (int(n) < 20*streams && slices.Contains(numbers[:streams], int(n))) {
			t.Fatalf("stream %d is found: %v", n, m.Get(n) != nil)
		}
	}
}

// places returns the position and the place of each line in memory.
func places(t *testing.T, s *Store) map[string][2]uint64 {
	t.Helper()
	got := map[string][2]uint64{}
	for _, m := range s.mems {
		for _, h := range m.streams.All() {
			for _, r := range h.between(nil, 0, math.MaxInt64) {
				id := [2]uint64{m.base + uint64(r.pos), uint64(r.place)}
				got[h.of.labels.Get("app")+" "+string(m.line(r))] = id
			}
		}
	}
	return got
}

// An entry's place is its rank among those of its stream in the record, however
// often the batch names the stream, and the same after replay.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	now := s.o.now().UnixNano()
	entries := func(lines ...string) (list []Entry) {
		for i, line := range lines {
			list = append(list, Entry{Time: now - int64(i), Line: []byte(line)})
		}
		return list
	}
	known, other := MustLabels("app", "known"), MustLabels("app", "new")
	mustAppend(t, s, Batch{{known, entries("k0")}})
	mustAppend(t, s, Batch{
		{known, entries("k0'", "k1'")},
		{other, entries("n0")},
		{known, entries("k2'")},
		{other, entries("n1", "n2")},
	})
	err := s.Append(t.Context(), Batch{{known, entries("a")}, {known, []Entry{{Time: -1}}}, {known, entries("b")}})
	if r, ok := errors.AsType[*RejectedError](err); !ok || r.Accepted != 2 {
		t.Fatal(err)
	}
	first, _ := s.log.Bounds()
	first++ // behind the term
	want := map[string][2]uint64{
		"known k0": {first, 0}, "known k0'": {first + 1, 0}, "known k1'": {first + 1, 1}, "known k2'": {first + 1, 2},
		"new n0": {first + 1, 0}, "new n1": {first + 1, 1}, "new n2": {first + 1, 2},
		"known a": {first + 2, 0}, "known b": {first + 2, 1},
	}
	check := func(s *Store) {
		t.Helper()
		got := places(t, s)
		for line, id := range want {
			if got[line] != id {
				t.Errorf("%s is %v; want %v", line, got[line], id)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d lines, want %d", len(got), len(want))
		}
	}
	check(s)
	again := openTest(t, copyStore(t, dir), small())
	<-again.Ready()
	check(again)
}

// A record has no more entries of a stream than there are places.
func TestRecordsOfPlaces(t *testing.T) {
	l, other := MustLabels("app", "api"), MustLabels("app", "other")
	list := func(n int) (list []Entry) {
		for range n {
			list = append(list, Entry{Time: 1})
		}
		return list
	}
	b := Batch{{l, list(maxPlaces - 1)}, {other, list(2)}, {l, list(2)}, {other, list(1)}, {l, list(2*maxPlaces + 1)}}
	w := checked(t, b, recordSize)
	rows := 0
	for i, p := range w.records {
		next := map[Labels]int{}
		for _, part := range w.streams[p.first:p.last] {
			if part.place != next[part.labels] || part.first >= part.last {
				t.Errorf("record %d: %s begins with place %d, want %d", i, part.labels, part.place, next[part.labels])
			}
			next[part.labels] += part.last - part.first
			rows += part.last - part.first
			if n := next[part.labels]; n > maxPlaces {
				t.Errorf("record %d has %d rows of %s", i, n, part.labels)
			}
		}
	}
	if want := 3*maxPlaces + 5; rows != want || len(w.records) != 4 {
		t.Errorf("%d rows in %d records; want %d in 4", rows, len(w.records), want)
	}
	encodeAll(t, w, b)
}

// A failingLog refuses records.
type failingLog struct {
	log
	err error
}

func (l *failingLog) Append(context.Context, []byte) (uint64, error) { return 0, l.err }

// An append that the log refuses leaves empty slots in the memtable. Its streams
// are forgotten with that, as are those that have entries there.
func TestEmptySlots(t *testing.T) {
	s := openTest(t, t.TempDir(), small())
	now := s.o.now().UnixNano()
	l := func(i int) Labels { return MustLabels("app", fmt.Sprint(i)) }
	var b Batch
	for i := range 100 {
		b = append(b, Stream{l(i), []Entry{{Time: now, Line: []byte("x")}}})
	}
	mustAppend(t, s, b[:10])
	good := s.log
	s.log = &failingLog{good, errors.New("refused")}
	if err := s.Append(t.Context(), b); err == nil {
		t.Fatal("the log refused it")
	}
	s.log = good
	mustAppend(t, s, b[20:30])
	m, empty := s.active.Load(), 0
	for _, h := range m.streams.All() {
		if h.totals().rows == 0 {
			empty++
		}
	}
	if m.streams.Len() != 100 || empty != 80 || s.labels.Len() != 100 {
		t.Errorf("%d slots, %d of them empty, of %d streams", m.streams.Len(), empty, s.labels.Len())
	}
	if n := len(contents(t, s)); n != 20 {
		t.Errorf("%d entries", n)
	}
	if series, err := s.Series(t.Context(), Query{}); err != nil || len(series) != 20 {
		t.Errorf("%d streams have entries, %v", len(series), err)
	}
	mustAppend(t, s, b[:10]) // no late entry: refused ones do not count
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, b[40:50])
	until(t, "the others are forgotten", func() bool { return s.labels.Len() == 10 })
	if n := len(contents(t, s)); n != 40 {
		t.Errorf("%d entries", n)
	}
	// The same where nothing else is in the memtable.
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.log = &failingLog{good, errors.New("refused")}
	if err := s.Append(t.Context(), b[60:70]); err == nil {
		t.Fatal("the log refused it")
	}
	s.log = good
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "they are forgotten too", func() bool { return s.labels.Len() == 0 })
}
