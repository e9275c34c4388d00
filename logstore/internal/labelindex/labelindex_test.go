package labelindex

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// decode parses labels written as a=1,b=2.
func decode(enc string) (labels []Label) {
	for part := range strings.SplitSeq(enc, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			labels = append(labels, Label{name, value})
		}
	}
	return labels
}

func numbersOf(b *roaring.Bitmap) []uint32 { return b.ToArray() }

func TestAddFindLabels(t *testing.T) {
	x := New(decode)
	if _, ok := x.Find(0, "a=1"); ok {
		t.Error("an empty index finds a stream")
	}
	buf := []byte("a=1,b=2")
	n, isNew := x.Add(0, string(buf))
	if n != 0 || !isNew {
		t.Fatalf("first stream: number %d, new %v", n, isNew)
	}
	if n, isNew := x.Add(0, "a=1,b=2"); n != 0 || isNew {
		t.Errorf("the same again: number %d, new %v", n, isNew)
	}
	if n, isNew := x.Add(0, ""); n != 1 || !isNew {
		t.Errorf("the stream without labels: number %d, new %v", n, isNew)
	}
	if n, ok := x.Find(0, "a=1,b=2"); n != 0 || !ok {
		t.Errorf("Find: %d, %v", n, ok)
	}
	if enc, ok := x.Labels(0); enc != "a=1,b=2" || !ok {
		t.Errorf("Labels: %q, %v", enc, ok)
	}
	if _, ok := x.Labels(99_999); ok {
		t.Error("a number that no stream has has labels")
	}
	if x.Len() != 2 {
		t.Errorf("Len is %d", x.Len())
	}
}

func TestSelectTable(t *testing.T) {
	x := New(decode)
	for _, enc := range []string{"app=api,level=error", "app=api,level=info", "app=db", "app=web,level=,zone=z", ""} {
		x.Add(0, enc)
	}
	has := func(sub string) func(string) bool { return func(v string) bool { return strings.Contains(v, sub) } }
	for _, c := range []struct {
		name string
		c    []Condition
		want []uint32
	}{
		{"all", nil, []uint32{0, 1, 2, 3, 4}},
		{"equal", []Condition{{Name: "app", Value: "api"}}, []uint32{0, 1}},
		{"equal to what is not there", []Condition{{Name: "app", Value: "x"}}, nil},
		{"a name that is not there", []Condition{{Name: "x", Value: "y"}}, nil},
		{"not equal", []Condition{{Name: "app", Value: "api", Not: true}}, []uint32{2, 3, 4}},
		{"not equal, a name that is not there", []Condition{{Name: "x", Value: "y", Not: true}}, []uint32{0, 1, 2, 3, 4}},
		{"none", []Condition{{Name: "level"}}, []uint32{2, 3, 4}},
		{"any", []Condition{{Name: "level", Not: true}}, []uint32{0, 1}},
		{"two", []Condition{{Name: "app", Value: "api"}, {Name: "level", Value: "error", Not: true}}, []uint32{1}},
		{"two that exclude each other", []Condition{{Name: "app", Value: "api"}, {Name: "app", Value: "db"}}, nil},
		{"match", []Condition{{Name: "app", Match: has("b")}}, []uint32{2, 3}},
		{"match of everything", []Condition{{Name: "app", Match: has("")}}, []uint32{0, 1, 2, 3, 4}},
		{"not match", []Condition{{Name: "app", Match: has("b"), Not: true}}, []uint32{0, 1, 4}},
		{"match of none", []Condition{{Name: "app", Match: has("q")}}, nil},
		{"match of every value but none", []Condition{{Name: "app", Match: func(v string) bool { return v != "" }}}, []uint32{0, 1, 2, 3}},
	} {
		if got := numbersOf(x.Select(0, c.c...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := x.Names(0, nil); !slices.Equal(got, []string{"app", "level", "zone"}) {
		t.Errorf("names: %v", got)
	}
	if got := x.Names(0, roaring.BitmapOf(2)); !slices.Equal(got, []string{"app"}) {
		t.Errorf("names of one stream: %v", got)
	}
	if got := x.Values(0, "app", nil); !slices.Equal(got, []string{"api", "db", "web"}) {
		t.Errorf("values: %v", got)
	}
	if got := x.Values(0, "app", roaring.BitmapOf(0, 1, 4)); !slices.Equal(got, []string{"api"}) {
		t.Errorf("values of some streams: %v", got)
	}
	if got := x.Values(0, "app", roaring.BitmapOf(4, 77)); len(got) != 0 {
		t.Errorf("values of a stream that has none, and of none: %v", got)
	}
}

// A naive is an index that visits every stream.
type naive map[string]uint32

func (x naive) selects(conditions []Condition) (found []uint32) {
streams:
	for enc, n := range x {
		values := map[string]string{}
		for _, l := range decode(enc) {
			values[l.Name] = l.Value
		}
		for _, c := range conditions {
			ok := values[c.Name] == c.Value
			if c.Match != nil {
				ok = c.Match(values[c.Name])
			}
			if ok == c.Not {
				continue streams
			}
		}
		found = append(found, n)
	}
	slices.Sort(found)
	return found
}

func (x naive) values(name string, set *roaring.Bitmap) (values []string) {
	for enc, n := range x {
		for _, l := range decode(enc) {
			if l.Name == name && l.Value != "" && (set == nil || set.Contains(n)) {
				values = append(values, l.Value)
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// After random adds and removals in several spaces each equals a naive index, and
// no two streams have the same number.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		x, all := New(decode), [3]naive{{}, {}, {}}
		// Few values of one name, some of another, and many of the third: lists
		// and bitmaps, and names that some streams do not have.
		random := func() string {
			enc := fmt.Sprintf("a=%d", rnd.IntN(3))
			if rnd.IntN(3) > 0 {
				enc += fmt.Sprintf(",b=%d", rnd.IntN(40))
			}
			if rnd.IntN(3) > 0 {
				enc += fmt.Sprintf(",c=%d", rnd.IntN(300))
			}
			return enc
		}
		for range 60 {
			space := uint32(rnd.IntN(len(all)))
			want := all[space]
			for range rnd.IntN(100) {
				enc := random()
				n, isNew := x.Add(space, enc)
				if had, ok := want[enc]; ok == isNew || ok && had != n {
					t.Fatalf("seed %d: Add(%s) = %d, %v; it was there: %v, as %d", seed, enc, n, isNew, ok, had)
				}
				want[enc] = n
			}
			var remove []uint32
			for enc, n := range want {
				if rnd.IntN(4) == 0 {
					remove = append(remove, n)
					delete(want, enc)
				}
			}
			x.Remove(append(remove, 1_000_000)...)
			if most := len(all[0]) + len(all[1]) + len(all[2]); x.Len() != most || x.LenOf(space) != len(want) {
				t.Fatalf("seed %d: Len is %d, %d of them in the space; want %d and %d", seed, x.Len(), x.LenOf(space), most, len(want))
			}
			used := map[uint32]bool{}
			for other := range all {
				for _, n := range all[other] {
					used[n] = other != int(space)
				}
			}
			for enc, n := range want {
				if got, ok := x.Find(space, enc); got != n || !ok || used[n] {
					t.Fatalf("seed %d: Find(%s) = %d, %v; want %d, the only one", seed, enc, got, ok, n)
				}
				if got, ok := x.Labels(n); got != enc || !ok {
					t.Fatalf("seed %d: Labels(%d) = %q, %v; want %q", seed, n, got, ok, enc)
				}
				used[n] = true
			}
			for range 20 {
				var conditions []Condition
				for range rnd.IntN(4) {
					c := Condition{Name: string(rune('a' + rnd.IntN(4))), Not: rnd.IntN(2) == 0}
					if c.Value = fmt.Sprint(rnd.IntN(40)); rnd.IntN(4) == 0 {
						c.Value = ""
					}
					if rnd.IntN(2) == 0 {
						digit := fmt.Sprint(rnd.IntN(10))
						c.Match = func(v string) bool { return strings.Contains(v, digit) || digit == "0" && v == "" }
					}
					conditions = append(conditions, c)
				}
				set := x.Select(space, conditions...)
				if got, expect := numbersOf(set), want.selects(conditions); !slices.Equal(got, expect) {
					t.Fatalf("seed %d: Select(%+v) = %v, want %v", seed, conditions, got, expect)
				}
				if rnd.IntN(3) == 0 {
					set = nil
				}
				name := string(rune('a' + rnd.IntN(4)))
				if got, expect := x.Values(space, name, set), want.values(name, set); !slices.Equal(got, expect) {
					t.Fatalf("seed %d: Values(%s, %v) = %v, want %v", seed, name, set, got, expect)
				}
				has := slices.Contains(x.Names(space, set), name)
				if has != (len(want.values(name, set)) > 0) {
					t.Fatalf("seed %d: Names(%v) has %s: %v", seed, set, name, has)
				}
			}
		}
	}
}

// The caller may change the result of Select.
func TestSelectIsOwn(t *testing.T) {
	x := New(decode)
	for i := range 100 {
		x.Add(0, fmt.Sprintf("a=1,b=%d", i))
	}
	for _, c := range [][]Condition{nil, {{Name: "a", Value: "1"}}, {{Name: "a", Not: true}}, {{Name: "b", Value: "1"}}} {
		want := x.Select(0, c...).GetCardinality()
		x.Select(0, c...).Clear()
		if got := x.Select(0, c...).GetCardinality(); got != want {
			t.Errorf("%v: %d streams, after a change of another result %d", c, want, got)
		}
	}
}

func TestRemove(t *testing.T) {
	x := New(decode)
	a, _ := x.Add(0, "a=1,b=1")
	b, _ := x.Add(0, "a=2,b=1")
	x.Remove(a)
	if _, ok := x.Find(0, "a=1,b=1"); ok {
		t.Error("a removed stream is found")
	}
	if _, ok := x.Labels(a); ok {
		t.Error("a removed stream has labels")
	}
	if got := numbersOf(x.Select(0, Condition{Name: "b", Value: "1"})); !slices.Equal(got, []uint32{b}) {
		t.Errorf("selected %v, want %d", got, b)
	}
	if got := x.Values(0, "a", nil); !slices.Equal(got, []string{"2"}) {
		t.Errorf("values of a: %q", got)
	}
	if c, isNew := x.Add(0, "a=1,b=1"); c != a || !isNew {
		t.Errorf("number %d for a new stream, new %v, though %d is free", c, isNew, a)
	}
	x.Remove(a, b)
	if !x.Select(0).IsEmpty() || len(x.Names(0, nil)) > 0 || len(x.spaces) > 0 {
		t.Error("an empty index has streams or names")
	}
}

// Values that no stream has any more take no memory for long.
func TestRemoveManyValues(t *testing.T) {
	x := New(decode)
	for i := range 1000 {
		n, _ := x.Add(0, fmt.Sprintf("a=%d", i))
		if i%100 > 0 {
			x.Remove(n)
		}
	}
	if nm := x.spaces[0].names["a"]; len(nm.values) != 10 || len(nm.list) > 32 {
		t.Errorf("%d values, %d postings; want 10, and few", len(nm.values), len(nm.list))
	}
}

func TestConcurrentAdds(t *testing.T) {
	const adders, streams = 8, 2000
	x := New(decode)
	numbers := make([][]uint32, adders)
	var wg sync.WaitGroup
	for a := range adders {
		wg.Go(func() {
			for i := range streams {
				enc := fmt.Sprintf("a=%d,b=%d", i%7, i)
				n, _ := x.Add(0, enc)
				numbers[a] = append(numbers[a], n)
				if i%50 != 0 {
					continue
				}
				c := Condition{Name: "b", Value: fmt.Sprint(i)}
				if i%100 == 0 {
					c = Condition{Name: "b", Match: func(v string) bool { return v == fmt.Sprint(i) }}
				}
				if got := numbersOf(x.Select(0, c)); !slices.Equal(got, []uint32{n}) {
					t.Errorf("stream %d was added and %v is selected", n, got)
				}
			}
		})
	}
	wg.Wait()
	for a := range adders {
		if !slices.Equal(numbers[a], numbers[0]) {
			t.Fatal("two adders have different numbers for the same streams")
		}
	}
	if x.Len() != streams {
		t.Errorf("%d streams, want %d", x.Len(), streams)
	}
}

// While other streams are added and removed, one that stays is always selected.
func TestConcurrentRemoves(t *testing.T) {
	x := New(decode)
	stay := make([]uint32, 5)
	for i := range stay {
		stay[i], _ = x.Add(0, fmt.Sprintf("a=%d,stays=1", i))
	}
	var stop atomic.Bool
	var readers, writers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() {
			for i := 0; !stop.Load() || i == 0; i++ {
				k := (r + i) % 5
				mine := fmt.Sprint(k)
				set := x.Select(0, Condition{Name: "a", Match: func(v string) bool { return v == mine }})
				if !set.Contains(stay[k]) {
					t.Errorf("stream %d was not selected", stay[k])
				}
				x.Values(0, "b", set)
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for i := range 600 {
				n, _ := x.Add(0, fmt.Sprintf("a=%d,b=%d,w=%d", i%5, i, w))
				if i%3 > 0 {
					x.Remove(n)
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
	if x.Len() != 405 {
		t.Errorf("%d streams are left, want 405", x.Len())
	}
	// Removed numbers are reused.
	for i := range 2000 {
		x.Add(0, fmt.Sprintf("again=%d", i))
	}
	if x.next != 2405 {
		t.Errorf("%d numbers were given out, for 2405 streams", x.next)
	}
}

// Bytes is about what the heap has, for streams with labels of their own and with
// shared ones, and falls as they go.
func TestBytes(t *testing.T) {
	const streams = 50_000
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, c := range []struct {
		name  string
		label func(i int) string
	}{
		{"of its own", func(i int) string { return fmt.Sprintf("pod=%032d", i) }},
		{"five of its own", func(i int) string { return fmt.Sprintf("a=%d,b=%d,c=%d,d=%d,e=%d", i, i, i, i, i) }},
		{"shared", func(i int) string { return fmt.Sprintf("a=%d,b=%d,c=%d", i%40, i/40%40, i/1600) }},
		{"long", func(i int) string { return fmt.Sprintf("pod=%01000d", i) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := live()
			x := New(decode)
			for i := range streams {
				x.Add(0, c.label(i))
			}
			held := live() - before
			t.Logf("%d bytes a stream, %d by Bytes", held/streams, x.Bytes()/streams)
			if got := x.Bytes(); got < held*3/4 || got > held*3/2 {
				t.Errorf("Bytes is %d, and the heap has %d", got, held)
			}
			full := x.Bytes()
			for i := range uint32(streams) {
				x.Remove(i)
			}
			if got := x.Bytes(); got > full/2 || x.held != 0 {
				t.Errorf("%d bytes are left of %d, %d of them of streams", got, full, x.held)
			}
		})
	}
}
