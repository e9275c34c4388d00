package logstore

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// withCursors returns what a query finds, and the cursors.
func withCursors(t testing.TB, s *Store, q Query) (list []archived, cursors []Cursor) {
	t.Helper()
	q.Cursors = true
	for f, err := range s.Query(context.Background(), q) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
		c := f.Cursor()
		if c.Time != f.Time || c.Labels != f.Labels || c == (Cursor{}) {
			t.Fatalf("the cursor of %v %d is %v", f.Labels, f.Time, c)
		}
		cursors = append(cursors, c)
	}
	return list, cursors
}

// checkOrder fails unless the cursors are in the order of the query, each once.
func checkOrder(t testing.TB, q Query, cursors []Cursor) {
	t.Helper()
	for i := 1; i < len(cursors); i++ {
		d := cursors[i-1].Compare(cursors[i])
		if q.Order == Backward {
			d = -d
		}
		if d >= 0 || cursors[i].Compare(cursors[i]) != 0 {
			t.Fatalf("%v comes before %v", cursors[i-1], cursors[i])
		}
	}
}

// change does to a store, at random, what must change no cursor.
func change(t testing.TB, rnd *rand.Rand, s *Store) {
	t.Helper()
	var err error
	switch rnd.IntN(12) {
	case 0:
		err = s.Seal(context.Background())
	case 1:
		err = s.Compact(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Pages behind cursors are together exactly what one query finds, whatever
// their sizes, and whatever is sealed and compacted in between.
func TestCursorPages(t *testing.T) {
	seed := testseed.Of(t)
	for round := range uint64(8) {
		t.Run(fmt.Sprintf("seed=%d", seed+round), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed+round, 31))
			a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
			clock := int64(1_700_000_000_000_000_000)
			tick := []int64{0, 0, 1, 1e9}[rnd.IntN(4)]
			for range 8 {
				for range 1 + rnd.IntN(6) {
					a.add(t, randomBatch(rnd, &clock, tick))
				}
				if rnd.IntN(3) == 0 {
					if err := a.Seal(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				q := a.randomQuery(rnd)
				want := a.find(q)
				limit := cmpOr(q.Limit, math.MaxInt)
				var got []archived
				var cursors []Cursor
				for page := q; ; {
					page.Limit = min(1+rnd.IntN(1+len(want)/3), limit-len(got))
					if page.Limit == 0 {
						break
					}
					list, c := withCursors(t, a.Store, page)
					if len(list) == 0 {
						break
					}
					got, cursors = append(got, list...), append(cursors, c...)
					page.After = c[len(c)-1]
					change(t, rnd, a.Store)
				}
				sameFound(t, fmt.Sprintf("%v [%d, %d) order %d limit %d", q.Selector, q.From, q.To, q.Order, q.Limit), got, want)
				checkOrder(t, q, cursors)
			}
		})
	}
}

func cmpOr(n, or int) int {
	if n == 0 {
		return or
	}
	return n
}

// A cursor stays what it is when its entry is sealed and compacted, and when the
// store is opened again.
func TestCursorStays(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testseed.Of(t), 33))
	dir := t.TempDir()
	a := &archive{Store: openTest(t, dir, anyTime())}
	clock := int64(1_700_000_000_000_000_000)
	var before []Cursor
	for i, step := range []func(context.Context) error{nil, a.Seal, a.Seal, a.Compact, nil} {
		if step != nil {
			if err := step(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if i == 4 {
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			a.Store = openTest(t, dir, anyTime())
			<-a.Ready()
		}
		list, cursors := withCursors(t, a.Store, Query{})
		sameFound(t, "all", list, a.find(Query{}))
		checkOrder(t, Query{}, cursors)
		now := map[Cursor]bool{}
		for _, c := range cursors {
			now[c] = true
		}
		for _, c := range before {
			if !now[c] {
				t.Fatalf("step %d: %v is gone", i, c)
			}
		}
		if before = cursors; i < 3 {
			for range 6 {
				a.add(t, randomBatch(rnd, &clock, int64(i%2)))
			}
			_, before = withCursors(t, a.Store, Query{})
		}
	}
}

// A query behind a cursor goes on in the segment that its memtable is sealed
// into, and where it was parked.
func TestCursorHandedOver(t *testing.T) {
	seed := testseed.Of(t)
	for round := range uint64(12) {
		rnd := rand.New(rand.NewPCG(seed+round, 32))
		a := &archive{Store: openTest(t, t.TempDir(), anyTime())}
		if round%3 > 0 {
			a.reads.minBytes, a.reads.maxBytes = 2<<10, 2<<10
		}
		clock := int64(1_700_000_000_000_000_000)
		for range 12 {
			a.add(t, randomBatch(rnd, &clock, int64(round%2)))
		}
		q := Query{Order: Order(rnd.IntN(2))}
		want, cursors := withCursors(t, a.Store, q)
		at := rnd.IntN(len(want))
		q.After = cursors[at]
		stop := rnd.IntN(len(want) - at)
		var got []archived
		for f, err := range a.Query(context.Background(), q) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Cursor() != (Cursor{}) {
				t.Fatal("a cursor that was not asked for")
			}
			got = append(got, archived{0, f.Labels, Entry{f.Time, slices.Clone(f.Line), f.Metadata}})
			if len(got) == stop {
				a.reads.parkAll()
				if err := a.Seal(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		}
		sameFound(t, fmt.Sprintf("behind %v, order %d", q.After, q.Order), got, want[at+1:])
	}
}

// Where the positions of blocks are damaged, no entry is lost, and pages are
// still exact while the segment stays.
func TestCursorDamagedPositions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testseed.Of(t), 34))
	a, _ := randomArchive(t, rnd, 60, 0, 0)
	if err := a.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	damagePositions(t, a.Store)
	for _, order := range []Order{Forward, Backward} {
		q := Query{Order: order}
		want := a.find(q)
		list, cursors := withCursors(t, a.Store, q)
		sameFound(t, "all", list, want)
		checkOrder(t, q, cursors)
		if first, last := cursors[0], cursors[len(cursors)-1]; first.Position != last.Position {
			t.Fatal("the positions are intact")
		}
		for range 20 {
			at := rnd.IntN(len(want))
			q.After = cursors[at]
			sameFound(t, fmt.Sprint("behind ", q.After), query(t, a.Store, q), want[at+1:])
		}
	}
}

// damagePositions flips a byte of the positions of each block.
func damagePositions(t *testing.T, s *Store) {
	t.Helper()
	v, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer v.release()
	for seg := range v.segs.Segments() {
		g, err := seg.Group(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(seg.Path(), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i := range g.Blocks {
			var head [24]byte // the frame's header has the bytes of the list at 16
			at := g.Blocks[i].Offset
			if _, err := f.ReadAt(head[:], at); err != nil {
				t.Fatal(err)
			}
			at += 40 + int64(binary.LittleEndian.Uint32(head[16:])) + 1
			var b [1]byte
			if _, err := f.ReadAt(b[:], at); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte{b[0] ^ 1}, at); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A cursor is text and JSON, and other texts are refused.
func TestCursorText(t *testing.T) {
	for _, c := range []Cursor{
		{},
		{Time: 5, Labels: MustLabels("app", "api"), Position: 7, Place: 1},
		{Time: math.MaxInt64 - 1, Labels: MustLabels("a:b", "\x00\"}:,\n", "c", "数据库"), Position: math.MaxUint64, Place: math.MaxUint32},
	} {
		got, err := ParseCursor(c.String())
		if err != nil || got != c {
			t.Errorf("%v is read as %v, %v", c, got, err)
		}
		p, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		got = Cursor{}
		if err := json.Unmarshal(p, &got); err != nil || got != c {
			t.Errorf("%s is read as %v, %v", p, got, err)
		}
	}
	for _, text := range []string{"", "1", "2:5:7:1:{}", "1:5:7:1", "1:-5:7:1:{}", "1:9223372036854775807:7:1:{}", "1:5:x:1:{}", "1:5:7:4294967296:{}", "1:5:7:1:{", "1:5:7:1:{}x"} {
		if c, err := ParseCursor(text); !errors.Is(err, ErrCursor) {
			t.Errorf("%q is %v, %v", text, c, err)
		}
	}
}

// A count has no order, and a cursor has a time.
func TestCursorRefused(t *testing.T) {
	s := openTest(t, t.TempDir(), anyTime())
	if _, err := s.Count(context.Background(), Query{After: Cursor{Position: 1}}, 0); err == nil || !strings.Contains(err.Error(), "Query.After") {
		t.Errorf("count: %v", err)
	}
	for _, err := range s.Query(context.Background(), Query{After: Cursor{Time: math.MaxInt64}, Order: Backward}) {
		if err == nil || !strings.Contains(err.Error(), "Query.After.Time: 9223372036854775807; want 0 to 9223372036854775806") {
			t.Error(err)
		}
	}
	for _, err := range s.Query(context.Background(), Query{After: Cursor{Time: -1}}) {
		if err == nil || !strings.Contains(err.Error(), "Query.After.Time: -1; want 0 to 9223372036854775806") {
			t.Errorf("query: %v", err)
		}
	}
}

// Entries of segments that have the same positions have no cursors: pages would lack
// some.
func TestOpenSegmentsWithoutCursors(t *testing.T) {
	l := MustLabels("app", "a")
	var files []string // two of the first store, one of the second
	for i, batches := range []int{2, 1} {
		dir := t.TempDir()
		s := openTest(t, dir, anyTime())
		for range batches {
			mustAppend(t, s, one(l, 5, fmt.Sprint("line of ", i)))
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, segmentPaths(t, dir)...)
	}
	for _, c := range []struct {
		files []string
		ok    bool
	}{{files[:2], true}, {files[2:], true}, {files[1:], false}, {[]string{files[1], files[0]}, false}} {
		s, err := OpenSegments(Options{}, c.files...)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		n := 0
		q := Query{Cursors: true, Limit: 1}
		for again := true; again; {
			again = false
			for r, err := range s.Query(t.Context(), q) {
				if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "see OpenSegments") {
					t.Fatalf("%q: %v", c.files, err)
				}
				if again = err == nil; again {
					q.After, n = r.Cursor(), n+1
				}
			}
		}
		if c.ok && n != len(c.files) {
			t.Errorf("%q: %d entries by pages of one", c.files, n)
		}
		if got := len(query(t, s, Query{})); got != len(c.files) {
			t.Errorf("%q: %d entries", c.files, got)
		}
	}
}
