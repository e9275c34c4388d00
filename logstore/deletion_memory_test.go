package logstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"github.com/stele-go/stele/internal/testseed"
)

// What pending deletions hold is told and bounded, whatever they select by, until they
// are applied. The values that their expressions are known to match count too.
func TestDeletionsMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		match func(i int) Matcher
	}{
		{"expressions", func(i int) Matcher { return Matcher{Name: "pod", Op: Matches, Value: fmt.Sprintf("%d.{20}", i)} }},
		{"classes", func(i int) Matcher { return Matcher{Name: "pod", Op: NotMatches, Value: fmt.Sprintf(`\pL+%d`, i)} }},
		{"values", func(i int) Matcher { return Matcher{Name: "pod", Op: Equal, Value: fmt.Sprint("x", i)} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTest(t, t.TempDir(), small())
			var b Batch
			for i := range 2000 {
				b = append(b, one(MustLabels("pod", fmt.Sprintf("a pod with a rather long name %d", i)), 100, "a line")...)
			}
			mustAppend(t, s, b)
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			ds := &s.deletions
			n, err := 0, error(nil)
			for ; err == nil; n++ {
				_, err = s.Delete(t.Context(), Deletion{Selector: Selector{c.match(n)}, From: 100})
			}
			if n--; !errors.Is(err, ErrDeletions) || n < 30 {
				t.Fatalf("after %d deletions: %v", n, err)
			}
			if n > maxDeletions || ds.held.Load() > ds.most {
				t.Errorf("%d deletions are pending, of %d bytes; want at most %d, %d bytes", n, ds.held.Load(), maxDeletions, ds.most)
			}
			linesOf(t, s, Query{})
			if used := ds.matches.used.Load(); used > ds.matches.limit {
				t.Errorf("values that match hold %d bytes; want at most %d", used, ds.matches.limit)
			} else if remembers := c.name != "values"; remembers != (used > 0) {
				t.Errorf("values that match hold %d bytes", used)
			}
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n, left := len(s.Deletions()), ds.memory(); n != 0 || left != 0 {
				t.Errorf("%d deletions are pending after a compaction, of %d bytes", n, left)
			}
		})
	}
}

// A stream is compared with those deletions of its tenant alone that may select it, and
// what is gone of it is what all of them say.
func TestGoneSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(testseed.Of(t), 5))
	value := func() string { return fmt.Sprint(rng.IntN(3)) }
	names := []string{"a", "b", "c"}
	var all []*deletion
	for i := range 200 {
		d := Deletion{Tenant: []string{"", "t"}[rng.IntN(2)], From: rng.Int64N(20), To: 20 + rng.Int64N(20)}
		for range rng.IntN(3) {
			op, v := MatchOp(rng.IntN(4)), value()
			if v == "0" {
				v = "" // streams without the label have it
			}
			d.Selector = append(d.Selector, Matcher{Name: names[rng.IntN(3)], Op: op, Value: v})
		}
		if len(d.Selector) == 0 {
			continue // it has all
		}
		p := &deletion{Deletion: d}
		var err error
		if p.gone, err = d.compile(); err != nil {
			t.Fatal(err)
		}
		p.placed(uint64(10 + i))
		all = append(all, p)
	}
	sets := goneSets(all)
	for range 300 {
		var pairs []string
		for _, name := range names {
			if rng.IntN(3) > 0 {
				pairs = append(pairs, name, value())
			}
		}
		l := MustLabels(pairs...)
		tenant := []string{"", "t", "another"}[rng.IntN(3)]
		base, from := uint64(rng.IntN(200)), rng.Int64N(40)
		x := &search{view: &view{gone: sets}, tenant: tenant, from: from, to: from + 1 + rng.Int64N(5)}
		var want []uint64
		for _, p := range all {
			if p.Drop.Tenant == tenant && p.Before > base && p.meets(x.from, x.to-1) && p.gone.selector.matches(l) {
				want = append(want, p.Before)
			}
		}
		var got []uint64
		for _, g := range x.goneInMemory(&memtable{base: base}).of(l) {
			got = append(got, g.Before)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%v of %q: gone by %v; want %v", l, tenant, got, want)
		}
	}
}

// The memory of a deletion is about what it says: the compiled expressions, which lie
// behind no interface that tells, are measured on the heap.
func TestDeletionSize(t *testing.T) {
	for _, m := range []Matcher{
		{Name: "pod", Op: Equal, Value: "a value"},
		{Name: "pod", Op: Matches, Value: "12345.{20}"},
		{Name: "pod", Op: Matches, Value: `\pL{300}`}, // of which anchored programs copy the classes
		{Name: "pod", Op: NotMatches, Value: largeProgram(5)},
		{Name: "pod", Op: Matches, Value: strings.ReplaceAll(largeProgram(200), ".{999}", "[^a-z]")},
		{Name: "pod", Op: Equal, Value: strings.Repeat("x", 20<<10)},
	} {
		var list []*deletion
		told, n := int64(0), int64(0)
		before := liveBytes()
		for ; told < 4<<20; n++ {
			d := Deletion{Selector: Selector{m}}
			p := &deletion{Deletion: d.clone()}
			var err error
			if p.gone, err = p.Deletion.compile(); err != nil {
				t.Fatal(err)
			}
			list, told = append(list, p), told+p.memory
		}
		sets := goneSets(list)
		if held := liveBytes() - before; held > told+told/4 || held < told/4 {
			t.Errorf("a deletion of %.40v holds %d bytes; it tells %d", m, held/n, told/n)
		}
		runtime.KeepAlive(sets)
	}
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // pools keep what they have for one
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}
