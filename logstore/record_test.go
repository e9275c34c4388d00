package logstore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// checked validates a batch as a store does that knows no stream and accepts
// every entry.
func checked(t testing.TB, b Batch, most int) *appendState {
	t.Helper()
	return checkedWith(t, b, most, recordHead{version: recordVersion})
}

func checkedWith(t testing.TB, b Batch, most int, h recordHead) *appendState {
	t.Helper()
	o, err := Options{LateWindow: -1, FutureWindow: -1, MaxLine: maxLine}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{o: o, recordSize: most}
	s.labels = newTestLabels()
	s.streams.labels = s.labels
	s.census = newCensus(o.MaxStreams)
	w := newAppendState()
	w.head, w.now, w.half = h, time.Now(), 1
	w.tenant = s.tenants.find("")
	if h.source != "" {
		w.names.Offset = h.offset - uint64(b.entries()-1)
	}
	w.validate(t.Context(), s, b)
	return w
}

func noStream([]byte) *stream { return nil }

// records returns the records of a batch.
func records(t testing.TB, b Batch, most int) [][]byte {
	t.Helper()
	return recordsWith(t, b, most, recordHead{version: recordVersion})
}

// recordsWith returns the records of a batch, which have the head.
func recordsWith(t testing.TB, b Batch, most int, h recordHead) [][]byte {
	t.Helper()
	w := checkedWith(t, b, most, h)
	if w.rejected.len() > 0 {
		t.Fatal(w.rejected.list[0].Err())
	}
	return encodeAll(t, w, b)
}

// encodeAll encodes the records of a validated batch.
func encodeAll(t testing.TB, w *appendState, b Batch) [][]byte {
	t.Helper()
	var list [][]byte
	for _, p := range w.records {
		rec := w.encodeRecord(nil, b, p)
		if len(rec) != p.size {
			t.Fatalf("a record has %d bytes, %d were reserved", len(rec), p.size)
		}
		list = append(list, rec)
	}
	return list
}

// batchOf decodes records.
func batchOf(t testing.TB, recs ...[]byte) Batch {
	t.Helper()
	var b Batch
	for _, rec := range recs {
		var set rowSet
		if err := set.parse(rec, noStream); err != nil {
			t.Fatal(err)
		}
		for _, p := range set.streams {
			st := Stream{Labels: p.labels}
			raw := int64(0)
			for _, r := range set.rows[p.first:p.last] {
				e := Entry{Time: r.time, Line: rec[r.off:][:r.lineLen()]}
				if r.hasMeta() {
					e.Metadata = Labels{string(metaAfter(rec[int(r.off)+r.lineLen():]))}
				}
				raw += int64(len(e.Line) + len(e.Metadata.enc))
				st.Entries = append(st.Entries, e)
			}
			if raw != p.raw {
				t.Fatalf("%d bytes of lines and metadata, the part says %d", raw, p.raw)
			}
			b = append(b, st)
		}
	}
	return b
}

func sameEntries(a, b []Entry) bool {
	return slices.EqualFunc(a, b, func(x, y Entry) bool {
		return x.Time == y.Time && bytes.Equal(x.Line, y.Line) && x.Metadata == y.Metadata
	})
}

// The examples of the comments, and one with everything that a head can have.
func TestRecordExamples(t *testing.T) {
	const at = "\x80\xa4\xa7\xda\x06" // 2027-01-15 08:00:00 UTC
	const streams = "\x01\x08\x03app\x03api\x02\xe8\x07\x0aGET /\x13\x04ok"
	b := Batch{{MustLabels("app", "api"), []Entry{{Time: 1000, Line: []byte("GET /")}, {Time: 990, Line: []byte("ok")}}}}
	const seconds = 1_800_000_000
	for _, c := range []struct {
		name string
		head recordHead
		want string
	}{
		{"version 1", recordHead{version: 1}, "\x01" + streams},
		{"version 2", recordHead{version: 2, accepted: seconds}, "\x02\x00\x00" + at + streams},
		{"a key", recordHead{version: 2, accepted: seconds, key: [16]byte([]byte("0123456789abcdef"))},
			"\x02\x00\x020123456789abcdef\x02" + at + streams},
		{"all", recordHead{version: 2, accepted: seconds, tenant: "ten", key: [16]byte([]byte("0123456789abcdef")), source: "/var/log/a", offset: 300},
			"\x02\x00\x07\x03ten0123456789abcdef\x0a/var/log/a\xac\x02\x02" + at + streams},
	} {
		rec := recordsWith(t, b, recordSize, c.head)
		if len(rec) != 1 || string(rec[0]) != c.want {
			t.Errorf("%s: %x, not %x", c.name, rec, c.want)
			continue
		}
		var set rowSet
		if err := set.parse(rec[0], noStream); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := c.head
		if want.hasKey() {
			want.handled = 2
		}
		if set.head != want {
			t.Errorf("%s: the head comes back as %+v", c.name, set.head)
		}
	}
}

// The records of a large batch say how much of it they handle, refused entries
// included.
func TestRecordsSayWhatIsHandled(t *testing.T) {
	l := MustLabels("app", "api")
	var b Batch
	total := 0
	for i := range 3 {
		st := Stream{Labels: l}
		if i == 1 {
			st.Labels = Labels{} // all refused
		}
		for range 10 + i {
			st.Entries = append(st.Entries, Entry{Line: make([]byte, 30)}, Entry{Time: -1})
			total += 2
		}
		b = append(b, st)
	}
	w := checkedWith(t, b, 200, recordHead{version: recordVersion, key: [16]byte{1}})
	recs := encodeAll(t, w, b)
	if len(recs) < 5 {
		t.Fatalf("%d records", len(recs))
	}
	for i, rec := range recs {
		var set rowSet
		if err := set.parse(rec, noStream); err != nil {
			t.Fatal(err)
		}
		// Rows of each stream of b before the end of the record are 2 apart.
		kept := 0
		for _, p := range w.records[:i+1] {
			kept += p.rows
		}
		want := 2 * kept
		if kept >= 10 {
			want += 2 * 11
		}
		last := i == len(recs)-1
		if last {
			want = total
		}
		// The entries refused behind the last one that is kept are handled too.
		if got := set.head.handled; got != want || set.head.more == last {
			t.Errorf("record %d handles %d of %d entries and goes on %t; want %d", i, got, total, set.head.more, want)
		}
	}
}

func TestState(t *testing.T) {
	const seconds = 1_800_000_000
	rec := encodeState(seconds, term{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77}.item())
	if want := "\x02\x01\x00\x80\xa4\xa7\xda\x06\x01\x08\x00\x11\x22\x33\x44\x55\x66\x77"; string(rec) != want {
		t.Errorf("%x, not %x", rec, want)
	}
	sources := []sourceOffset{{"", "/var/log/syslog", 77, 5}, {"ten", "a", 1 << 60, 1 << 40}}
	keys := []segment2.BatchKey{{Key: key(1), Position: 7, Handled: 3}, {Tenant: "ten", Key: key(2), Position: 1 << 40, Handled: 1 << 20, More: true}}
	list := []stateItem{{stateTerm, make([]byte, 8)}, sourcesItem(sources), {63, nil}, keysItem(keys), {stateOptional, []byte("x")}, {1 << 60, []byte("y")}}
	var set rowSet
	if err := set.parse(encodeState(1, list...), noStream); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(set.state, list, func(a, b stateItem) bool { return a.typ == b.typ && bytes.Equal(a.data, b.data) }) {
		t.Errorf("%v, not %v", set.state, list)
	}
	var got []sourceOffset
	if err := set.state[1].sources(func(s sourceOffset) { got = append(got, s) }); err != nil || !slices.Equal(got, sources) {
		t.Errorf("%v, %v", got, err)
	}
	var gotKeys []segment2.BatchKey
	if err := set.state[3].keys(func(k *segment2.BatchKey) { gotKeys = append(gotKeys, *k) }); err != nil || !slices.Equal(gotKeys, keys) {
		t.Errorf("%v, %v", gotKeys, err)
	}
	for i := range set.state[3].data {
		n := 0
		err := stateItem{stateKeys, set.state[3].data[:i]}.keys(func(*segment2.BatchKey) { n++ })
		if err == nil && !(i == 0 && n == 0 || n == 1) || err != nil && !errors.Is(err, errRecord) {
			t.Errorf("keys cut at %d: %d, %v", i, n, err)
		}
	}
	for i := range set.state[1].data {
		it := stateItem{stateSources, set.state[1].data[:i]}
		n := 0
		if err := it.sources(func(sourceOffset) { n++ }); err == nil && !(i == 0 && n == 0 || n == 1) {
			t.Errorf("sources cut at %d: %d", i, n)
		}
	}
}

// Items that change what later records mean are not skipped.
func TestUnknownState(t *testing.T) {
	s := &Store{}
	for typ, want := range map[uint64]string{
		stateTerm: "a term of 0 bytes", stateRoster: "", stateRosterChange: "", 6: "type 6 (losses)", stateForget: "an invalid number", stateSourcesSince: "since a position", stateDeleteLines: "", stateCancel: "", 11: "type 11,", 63: "type 63,",
		0: "type 0,", stateOptional: "", 1 << 40: "",
	} {
		err := s.applyState([]stateItem{{typ, nil}}, 1)
		if want == "" && err != nil || want != "" && (!errors.Is(err, errRecord) || !strings.Contains(err.Error(), want)) {
			t.Errorf("type %d: %v; want %q", typ, err, want)
		}
	}
}

func TestRecordsKeepAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b Batch
		for range rng.IntN(5) {
			st := Stream{Labels: MustLabels("app", string(rune('a'+rng.IntN(3))), "host", "h")}
			at := rng.Int64N(1 << 40)
			for range rng.IntN(50) {
				at = max(0, at+rng.Int64N(1<<rng.IntN(40))-rng.Int64N(1<<rng.IntN(40)))
				e := Entry{Time: at, Line: make([]byte, rng.IntN(1<<rng.IntN(10)))}
				for i := range e.Line {
					e.Line[i] = byte(rng.Int())
				}
				if rng.IntN(5) == 0 {
					e.Metadata = MustLabels("trace", "0123456789abcdef"[rng.IntN(8):])
				}
				st.Entries = append(st.Entries, e)
			}
			b = append(b, st)
		}
		most := []int{recordSize, 500, 64}[rng.IntN(3)]
		recs := records(t, b, most)
		got := batchOf(t, recs...)
		// The parts of a stream are adjacent.
		i := 0
		for _, st := range b {
			var entries []Entry
			for len(entries) < len(st.Entries) && i < len(got) && got[i].Labels == st.Labels {
				entries = append(entries, got[i].Entries...)
				i++
			}
			if !sameEntries(entries, st.Entries) {
				t.Fatalf("%d entries of %d came back as others", len(entries), len(st.Entries))
			}
		}
		if i != len(got) {
			t.Fatalf("%d streams too many", len(got)-i)
		}
		for _, rec := range recs {
			if len(rec) > most && len(batchOf(t, rec)) > 1 {
				t.Fatalf("a record of %d bytes, with more than one entry, where %d are the most", len(rec), most)
			}
		}
	}
}

func TestLargestRecordFitsTheLog(t *testing.T) {
	long := make([]byte, maxLine)
	value := string(bytes.Repeat([]byte{'v'}, MaxLabelBytes-10))
	rec := records(t, Batch{{MustLabels("l", value), []Entry{{Line: long, Metadata: MustLabels("m", value)}}}}, recordSize)
	if len(rec) != 1 || len(rec[0]) > minLogSegment/4 {
		t.Errorf("%d records, the first of %d bytes", len(rec), len(rec[0]))
	}
}

func TestParseRefuses(t *testing.T) {
	good := records(t, Batch{{MustLabels("a", "b"), []Entry{{Time: 5, Line: []byte("x"), Metadata: MustLabels("k", "v")}}}}, recordSize)[0]
	for i := range good {
		var set rowSet
		if err := set.parse(good[:i], noStream); !errors.Is(err, errRecord) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	for name, rec := range map[string]string{
		"another version":     "\x03\x00",
		"no kind":             "\x02",
		"another kind":        "\x02\x02\x00\x00\x00",
		"another flag":        "\x02\x00\x10\x00\x00",
		"flags of state":      "\x02\x01\x08\x00\x40\x00",
		"no tenant":           "\x02\x00\x01\x00\x00\x00",
		"a long tenant":       "\x02\x00\x01\x81\x02" + strings.Repeat("t", 257) + "\x00\x00",
		"a key of zeros":      "\x02\x00\x02" + strings.Repeat("\x00", 16) + "\x00\x00\x00",
		"no source":           "\x02\x00\x04\x00\x00\x00\x00\x00",
		"a batch too large":   "\x02\x00\x04\x01s\x00\xff\xff\xff\xff\x0f\x00\x00",
		"accepted too late":   "\x02\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
		"no state":            "\x02\x01\x00\x00",
		"state cut":           "\x02\x01\x00\x00\x40\x02x",
		"too many streams":    "\x01\xff\xff\x03",
		"too many entries":    "\x01\x01\x00\xff\xff\x03\x00\x00",
		"no entries":          "\x01\x01\x00\x00\x00",
		"bytes behind":        string(good) + "x",
		"labels out of order": "\x01\x01\x08\x01b\x01x\x01a\x01y\x01\x05\x00",
		"a line too long":     "\x01\x01\x00\x01\x05\x10x",
		"a time before 1970":  "\x01\x01\x00\x02\x05\x00\x0b\x00",
		"a time out of range": "\x01\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
		"empty metadata":      "\x01\x01\x00\x01\x05\x01\x00",
	} {
		var set rowSet
		if err := set.parse([]byte(rec), noStream); !errors.Is(err, errRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	now := time.Now().UnixNano()
	for _, most := range []int{recordSize, 100} {
		for _, rec := range records(f, Batch{
			{MustLabels("app", "api", "host", "h1"), []Entry{{Time: now, Line: []byte("one")}, {Time: now - 5, Line: nil}}},
			{MustLabels("app", "db"), []Entry{{Time: now, Line: []byte("two"), Metadata: MustLabels("trace", "77")}}},
		}, most) {
			f.Add(rec)
		}
	}
	f.Add([]byte("\x01\x01\x08\x03app\x03api\x01\xe8\x07\x0aGET /"))
	f.Add([]byte("\x02\x00\x0f\x03ten0123456789abcdef\x01s\xac\x02\x02\x00\x01\x08\x03app\x03api\x01\xe8\x07\x0aGET /"))
	f.Add(encodeState(5, newTerm().item(), sourcesItem([]sourceOffset{{"", "a", 1, 2}}), stateItem{77, []byte("x")}))
	f.Add(encodeState(5, keysItem([]segment2.BatchKey{{Tenant: "t", Key: key(1), Position: 300, Handled: 7, More: true}})))
	f.Fuzz(func(t *testing.T, rec []byte) {
		var set rowSet
		if err := set.parse(rec, noStream); err != nil {
			if !errors.Is(err, errRecord) {
				t.Fatal(err)
			}
			return
		}
		if cap(set.rows) > 4*len(rec)+64 || cap(set.streams) > 4*len(rec)+64 {
			t.Fatalf("%d rows and %d parts of %d bytes", cap(set.rows), cap(set.streams), len(rec))
		}
		if len(set.state) > 0 {
			sameState(t, rec, &set)
			return
		}
		b := batchOf(t, rec)
		if len(b) == 0 {
			return
		}
		sameHead(t, set.head)
		var again Batch
		for _, r := range uncheckedRecords(t, b) {
			again = append(again, batchOf(t, r)...)
		}
		if !slices.EqualFunc(b, again, func(x, y Stream) bool { return x.Labels == y.Labels && sameEntries(x.Entries, y.Entries) }) {
			t.Fatal("what was written of it is another batch")
		}
	})
}

// sameState writes the state of a record again, and compares.
func sameState(t *testing.T, rec []byte, set *rowSet) {
	var again rowSet
	if err := again.parse(encodeState(set.head.accepted, set.state...), noStream); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(set.state, again.state, func(a, b stateItem) bool { return a.typ == b.typ && bytes.Equal(a.data, b.data) }) {
		t.Fatalf("the state of %x comes back as %v", rec, again.state)
	}
	for _, it := range set.state {
		var keys, keysTwice []segment2.BatchKey
		if it.keys(func(k *segment2.BatchKey) { keys = append(keys, *k) }) == nil {
			if err := keysItem(keys).keys(func(k *segment2.BatchKey) { keysTwice = append(keysTwice, *k) }); err != nil || !slices.Equal(keys, keysTwice) {
				t.Fatalf("%v comes back as %v, %v", keys, keysTwice, err)
			}
		}
		var list []sourceOffset
		if it.sources(func(s sourceOffset) { list = append(list, s) }) != nil {
			continue
		}
		var twice []sourceOffset
		if err := sourcesItem(list).sources(func(s sourceOffset) { twice = append(twice, s) }); err != nil || !slices.Equal(list, twice) {
			t.Fatalf("%v comes back as %v, %v", list, twice, err)
		}
	}
}

// sameHead writes a head again, and compares.
func sameHead(t *testing.T, h recordHead) {
	p := h.append(nil)
	if len(p) != h.size() || len(p) > h.most() {
		t.Fatalf("%+v takes %d bytes, size %d, most %d", h, len(p), h.size(), h.most())
	}
	r := recordReader{p: p}
	var again recordHead
	if kind, err := r.head(&again); err != nil || kind != kindEntries || again != h || r.off != len(p) {
		t.Fatalf("%+v comes back as %+v, kind %d, %v", h, again, kind, err)
	}
}

// uncheckedRecords encodes a batch without validation.
func uncheckedRecords(t *testing.T, b Batch) [][]byte {
	w := newAppendState()
	w.head.version = recordVersion
	for i, st := range b {
		w.openStream(st.Labels, i, seenStream{})
		for j := range st.Entries {
			w.addRow(&st.Entries[j], j, 1<<30)
		}
		w.closeStream(nil)
	}
	w.closeRecord(0, false)
	return encodeAll(t, w, b)
}
