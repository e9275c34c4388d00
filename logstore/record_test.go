package logstore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// checked validates a batch as a store does that knows no stream and accepts
// every entry.
func checked(t testing.TB, b Batch, most int) *appendState {
	t.Helper()
	o, err := Options{LateWindow: -1, FutureWindow: -1, MaxLine: maxLine}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{o: o, recordSize: most}
	s.labels = newTestLabels()
	s.streams = streamTable{labels: s.labels, newest: func(uint32) (int64, bool) { return 0, false }}
	w := newAppendState()
	w.validate(s, b)
	return w
}

func noStream([]byte) *stream { return nil }

// records returns the records of a batch.
func records(t testing.TB, b Batch, most int) [][]byte {
	t.Helper()
	w := checked(t, b, most)
	if len(w.rejected) > 0 {
		t.Fatal(w.rejected[0].Err)
	}
	return encodeAll(t, w, b)
}

// encodeAll encodes the records of a validated batch.
func encodeAll(t testing.TB, w *appendState, b Batch) [][]byte {
	t.Helper()
	var list [][]byte
	for _, p := range w.records {
		rec := w.encode(nil, b, w.streams[p.first:p.last])
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

func TestRecordExample(t *testing.T) {
	rec := records(t, Batch{{MustLabels("app", "api"), []Entry{
		{Time: 1000, Line: []byte("GET /")}, {Time: 990, Line: []byte("ok")},
	}}}, recordSize)
	want := "\x01\x01\x08\x03app\x03api\x02\xe8\x07\x0aGET /\x13\x04ok"
	if len(rec) != 1 || string(rec[0]) != want {
		t.Errorf("%x, not %x", rec, want)
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
		"another version":     "\x02\x00",
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
		b := batchOf(t, rec)
		if len(b) == 0 {
			return
		}
		var again Batch
		for _, r := range uncheckedRecords(t, b) {
			again = append(again, batchOf(t, r)...)
		}
		if !slices.EqualFunc(b, again, func(x, y Stream) bool { return x.Labels == y.Labels && sameEntries(x.Entries, y.Entries) }) {
			t.Fatal("what was written of it is another batch")
		}
	})
}

// uncheckedRecords encodes a batch without validation.
func uncheckedRecords(t *testing.T, b Batch) [][]byte {
	w := newAppendState()
	for i, st := range b {
		w.openStream(st.Labels, i, seenStream{})
		for j := range st.Entries {
			w.addRow(&st.Entries[j], j, 1<<30)
		}
		w.closeStream(nil)
	}
	w.closeRecord()
	return encodeAll(t, w, b)
}
