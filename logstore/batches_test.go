package logstore

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// What a seal writes is known at the end of the memtable: what came later may be lost.
func TestSealedNames(t *testing.T) {
	d := newIdempotency(keyWindow, 8<<20)
	note := func(k int, source string, offset, position, base uint64, more bool) {
		h := recordHead{source: source, offset: offset, handled: int(position), more: more}
		if k > 0 {
			h.key = key(k)
		}
		d.note(&h, position, base, time.Duration(position))
	}
	// The memtable of positions 1 to 9, and the one after it.
	note(1, "", 0, 2, 1, true)
	note(2, "f", 20, 3, 1, false)
	note(0, "f", 30, 5, 1, false)
	note(0, "g", 40, 6, 1, false)
	note(1, "", 0, 11, 10, true)
	note(1, "", 0, 12, 10, false)
	note(3, "f", 50, 13, 10, false)
	note(0, "f", 60, 14, 10, false)
	note(0, "h", 70, 15, 10, false)
	at := func(d time.Duration) int64 { return 0 }
	keys := func(after, upto uint64) (list []string) {
		for k, err := range d.keysIn(after, upto, 20, at) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(string(k.Key[:5]), " ", k.Position, " ", k.Handled, " ", k.More))
		}
		slices.Sort(list)
		return list
	}
	sources := func(upto uint64) (list []string) {
		for _, s := range d.sourcesAt(upto) {
			list = append(list, fmt.Sprint(s.Name, " ", s.Offset, " ", s.Position))
		}
		return list
	}
	same := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q; want %q", what, got, want)
		}
	}
	same("keys of the first", keys(0, 9), "key 1 2 2 true", "key 2 3 3 false")
	same("sources of the first", sources(9), "f 30 5", "g 40 6")
	d.sealed(9)
	same("keys of the second", keys(9, 19), "key 1 12 12 false", "key 3 13 13 false")
	same("sources of the second", sources(19), "f 60 14", "g 40 6", "h 70 15")
	if len(d.spanning) != 0 {
		t.Errorf("%v spans what is sealed", d.spanning)
	}
	note(0, "f", 80, 25, 20, false)
	same("sources of the second, later", sources(19), "f 60 14", "g 40 6", "h 70 15")
}

// All keys are written, however many there are.
func TestManySealedKeys(t *testing.T) {
	d := newIdempotency(keyWindow, 8<<20)
	const n = 5*keyChunk + 7
	for i := range n {
		d.note(&recordHead{key: key(i), tenant: fmt.Sprint(i % 3)}, uint64(i)+1, 1, time.Duration(i)*time.Millisecond)
	}
	seen := map[[16]byte]segment2.BatchKey{}
	for k := range d.keysIn(100, n-100, n*time.Millisecond, func(d time.Duration) int64 { return int64(d / time.Millisecond) }) {
		seen[k.Key] = k
	}
	for i := range n {
		k, ok := seen[key(i)]
		pos := uint64(i) + 1
		if ok != (pos > 100 && pos <= n-100) {
			t.Fatalf("key %d: %t", i, ok)
		}
		if ok && (k.Tenant != fmt.Sprint(i%3) || k.Position != pos || k.Came < int64(i) || k.Came > n) {
			t.Fatalf("key %d: %+v", i, k)
		}
	}
}

// Sources stay known when retention has deleted all segments, again and again.
func TestSourcesOutliveRetention(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock, o.Retention = clock, time.Hour
	dir := t.TempDir()
	s := openTest(t, dir, o)
	with(t, s, numbered(clock.at(0), 0, 10, 6), AppendOptions{Source: "f"}, 10, 0)
	with(t, s, numbered(clock.at(0), 10, 10, 6), AppendOptions{Source: "g", Key: key(1)}, 10, 0)
	for round := range 3 {
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 30 { // a clock that jumps ahead is not trusted
			clock.ns.Add(int64(5 * time.Minute))
			s.reading(clock.Now())
			s.catalog.Time()
		}
		until(t, "all is deleted", func() bool {
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s.Stats().Segments == 0
		})
		dir = copyStore(t, dir)
		s = openTest(t, dir, o)
		if n := s.Stats().Sources; n != 2 {
			t.Fatalf("round %d: %d sources are known", round, n)
		}
		with(t, s, numbered(clock.at(0), 0, 10, 6), AppendOptions{Source: "f"}, 0, 10)
		with(t, s, numbered(clock.at(0), 10, 10, 6), AppendOptions{Source: "g"}, 0, 10)
		mustAppend(t, s, one(MustLabels("app", "other"), clock.at(0), "the next segment"))
	}
}

// A retry does not bring back deleted entries: their keys stay known when segments that
// have nothing else left are removed, again and again.
func TestKeysOutliveDeletions(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	whole := numbered(clock.at(0), 0, 10, 6)
	with(t, s, whole, AppendOptions{Tenant: "t", Key: key(1)}, 10, 0)
	for round := range 3 {
		retry := func() {
			t.Helper()
			with(t, s, whole, AppendOptions{Tenant: "t", Key: key(1)}, 0, 10)
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tenant := range []string{"", "t"} {
			if _, err := s.Delete(t.Context(), Deletion{Tenant: tenant, To: math.MaxInt64}); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "all is deleted", func() bool {
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s.Stats().Segments == 0
		})
		retry()
		dir = copyStore(t, dir)
		s = openTest(t, dir, o)
		retry()
		if n := len(contents(t, s)); n != 0 {
			t.Fatalf("round %d: %d entries are back", round, n)
		}
		mustAppend(t, s, one(MustLabels("app", "other"), clock.at(0), "the next segment"))
	}
}

// A record that moves a key does not hide what a later one, or one beside it, says of
// the batch.
func TestMovedKeys(t *testing.T) {
	was := segment2.BatchKey{Key: key(1), Tenant: "t", Position: 2, Handled: 10, More: true}
	find := func(d *idempotency) keptBatch {
		tenant, _ := d.tenants.find("t")
		b, ok := d.keys.find(keyID{key(1), tenant}, 1)
		if !ok {
			t.Fatal("the key is not known")
		}
		return b
	}
	for _, beside := range []bool{false, true} {
		d, replayed := newIdempotency(keyWindow, 8<<20), newIdempotency(keyWindow, 8<<20)
		h := recordHead{key: key(1), tenant: "t", handled: 10, more: true}
		d.note(&h, 2, 1, 1)
		want := keptBatch{9, 10, true}
		if beside {
			h.handled, h.more = 20, false
			d.note(&h, 8, 1, 1)
			replayed.note(&h, 8, 1, 1)
			want = keptBatch{8, 20, false}
		}
		d.moveKey(&was, 9)
		replayed.replayMovedKey(&was, 9, 1)
		if got := find(d); got != want {
			t.Errorf("beside %t: %v; want %v", beside, got, want)
		}
		if got := find(replayed); got != want {
			t.Errorf("beside %t: after replay %v; want %v", beside, got, want)
		}
		h.handled, h.more = 30, false
		d.note(&h, 11, 1, 1)
		if got := find(d); got != (keptBatch{11, 30, false}) {
			t.Errorf("beside %t: later %v", beside, got)
		}
	}
}

// A key that is sealed while the clock is set back for a moment is known after the next
// Open, whether or not earlier segments tell the time.
func TestKeysSealedByAClockSetBack(t *testing.T) {
	for _, earlier := range []bool{false, true} {
		clock := newTestClock()
		o := small()
		o.Clock = clock
		dir := t.TempDir()
		s := openTest(t, dir, o)
		seal := func() {
			if err := s.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if earlier {
			mustAppend(t, s, one(MustLabels("app", "a"), clock.Now().UnixNano(), "before"))
			seal()
		}
		b := one(MustLabels("app", "a"), clock.Now().UnixNano(), "with a key")
		with(t, s, b, AppendOptions{Key: key(1)}, 1, 0)
		clock.wrong.Store(int64(-24 * time.Hour))
		seal()
		clock.wrong.Store(0)
		mustAppend(t, s, one(MustLabels("app", "a"), clock.Now().UnixNano(), "after"))
		seal()
		s = openTest(t, copyStore(t, dir), o)
		with(t, s, b, AppendOptions{Key: key(1)}, 0, 1)
	}
}

// While nothing tells the time, no key is too old: the clock may be ahead.
func TestKeysOfUnknownTime(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	clock.wrong.Store(int64(-24 * time.Hour))
	s.catalog.Time()
	clock.wrong.Store(0) // what is sealed now tells no time
	b := one(MustLabels("app", "a"), clock.Now().UnixNano(), "with a key")
	with(t, s, b, AppendOptions{Key: key(1)}, 1, 0)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.wrong.Store(int64(60 * 24 * time.Hour))
	s = openTest(t, copyStore(t, dir), o)
	with(t, s, b, AppendOptions{Key: key(1)}, 0, 1)
	if s.catalog.IsTimeKnown() {
		t.Error("the time is known")
	}
}

// A compaction keeps the keys that are young enough, and no others.
func TestCompactionDropsOldKeys(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	for i := range 8 {
		with(t, s, numbered(clock.at(0), 10*i, 10, 6), AppendOptions{Key: key(i), Source: "f", Offset: uint64(10 * i)}, 10, 0)
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.ns.Add(int64(2 * time.Minute))
		s.catalog.Time()
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got [][16]byte
	sources := 0
	segs := s.catalog.Snapshot()
	for seg := range segs.Segments() {
		for k, err := range seg.BatchKeys(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, k.Key)
		}
		for o, err := range seg.BatchSources(t.Context()) {
			if sources++; err != nil || o.Name != "f" || o.Offset != 79 {
				t.Errorf("%+v, %v", o, err)
			}
		}
	}
	segs.Release()
	if len(got) == 0 || len(got) > 6 || got[len(got)-1] != key(7) || sources != 1 {
		t.Errorf("%d keys and %d sources are left", len(got), sources)
	}
	s = openTest(t, copyStore(t, dir), o)
	for i := range 8 { // one or two are at the end of the window
		_, ok := s.idempotency.keys.find(keyID{key: key(i)}, clock.Elapsed())
		if i < 2 && ok || i > 3 && !ok {
			t.Errorf("key %d: %t", i, ok)
		}
	}
	wantNumbers(t, s, 80)
}

// Names whose bytes are damaged are told and lost; the rest stays.
func TestDamagedNames(t *testing.T) {
	clock := newTestClock()
	o := small()
	o.Clock = clock
	dir := t.TempDir()
	s := openTest(t, dir, o)
	with(t, s, numbered(clock.at(0), 0, 10, 6), AppendOptions{Key: key(1), Source: "f"}, 10, 0)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	with(t, s, numbered(clock.at(0), 10, 10, 6), AppendOptions{Key: key(2), Source: "f", Offset: 10}, 10, 0)
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	segs := s.catalog.Snapshot()
	var newest string
	for seg := range segs.Segments() {
		newest = seg.Path()
	}
	segs.Release()
	s.Close()
	k := key(2)
	for _, names := range [][]byte{k[:], {1, 1, 0, 0, 0, 1, 'f'}} {
		p, err := os.ReadFile(newest)
		if err != nil || bytes.Count(p, names) != 1 {
			t.Fatalf("%q is %d times in the segment: %v", names, bytes.Count(p, names), err)
		}
		flip(t, newest, int64(bytes.Index(p, names)))
	}
	s = openTest(t, dir, o)
	if !slices.ContainsFunc(s.Report().Events, func(e Event) bool { return e.Kind == EventDamage && e.File == newest }) {
		t.Errorf("nothing is told: %v", s.Report().Events)
	}
	with(t, s, numbered(clock.at(0), 0, 10, 6), AppendOptions{Key: key(1)}, 0, 10)
	with(t, s, numbered(clock.at(0), 0, 10, 6), AppendOptions{Source: "f"}, 0, 10)
	if _, ok := s.idempotency.keys.find(keyID{key: key(2)}, clock.Elapsed()); ok {
		t.Error("a damaged key is known")
	}
	until(t, "the segment is salvaged", func() bool { return s.Stats().Quarantined == 1 })
	wantNumbers(t, s, 20)
}

// Names of different tenants are different, and stay so over seals.
func TestNamesOfTenants(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, small())
	now := time.Now().UnixNano()
	for round := range 3 {
		for i, tenant := range []string{"", "a", "b"} {
			kept := 1
			if round > 0 {
				kept = 0
			}
			b := one(MustLabels("app", "api"), now, fmt.Sprintf("%06d", i))
			with(t, s, b, AppendOptions{Tenant: tenant, Key: key(1)}, kept, 1-kept)
			b = one(MustLabels("app", "web"), now, fmt.Sprintf("%06d", 10+i))
			with(t, s, b, AppendOptions{Tenant: tenant, Source: "f", Offset: uint64(i)}, kept, 1-kept)
		}
		if err := s.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, copyStore(t, dir), small())
	}
	if st := s.Stats(); st.Keys != 3 || st.Sources != 3 {
		t.Errorf("%d keys and %d sources", st.Keys, st.Sources)
	}
}
