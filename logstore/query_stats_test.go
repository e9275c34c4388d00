package logstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// statsStore is a store of three segments: app="a" in the first two, a thousand
// ns apart, and app="b" in the last.
func statsStore(t *testing.T) (s *Store, blocks, stored, raw, rows int64) {
	o := anyTime()
	o.Memory = 256 << 20 // so that no block is read twice
	s = openTest(t, t.TempDir(), o)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i, app := range []string{"a", "a", "b"} {
		st := Stream{Labels: MustLabels("app", app)}
		for j := range 400 {
			line := fmt.Appendf(nil, "line%dof%d ", 100_000+j, i)
			for range 650 {
				line = fmt.Appendf(line, "%x ", rnd.Uint32())
			}
			st.Entries = append(st.Entries, Entry{Time: int64(1000*i + j), Line: line})
		}
		mustAppend(t, s, Batch{st})
		if err := s.Seal(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
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
		for i := range g.Blocks {
			blocks, rows = blocks+1, rows+int64(g.Blocks[i].Rows)
			stored, raw = stored+g.Blocks[i].Bytes, raw+int64(g.Blocks[i].Raw)
		}
	}
	if rows != 1200 || blocks < 9 {
		t.Fatalf("%d rows in %d blocks", rows, blocks)
	}
	return s, blocks, stored, raw, rows
}

// The statistics of a query are those of what it must read of a known store.
func TestQueryStats(t *testing.T) {
	s, blocks, stored, raw, rows := statsStore(t)
	of := func(v PartStats) string {
		if v.Considered != v.Time+v.Streams+v.Filter+v.Read+v.Left {
			t.Errorf("the parts of %+v do not add up", v)
		}
		return fmt.Sprintf("%d time %d streams %d filter %d read %d left %d", v.Considered, v.Time, v.Streams, v.Filter, v.Read, v.Left)
	}
	app := Selector{{Name: "app", Value: "b"}}
	for _, c := range []struct {
		name             string
		q                Query
		segments, blocks string
		lines, matched   int64
	}{
		{"all", Query{}, "3 time 0 streams 0 filter 0 read 3 left 0", fmt.Sprintf("%d time 0 streams 0 filter 0 read %[1]d left 0", blocks), rows, rows},
		{"times", Query{From: 1000, To: 1400}, "3 time 2 streams 0 filter 0 read 1 left 0", "", 400, 400},
		{"selector", Query{Selector: app}, "3 time 0 streams 2 filter 0 read 1 left 0", "", 400, 400},
		{"nothing", Query{Selector: Selector{{Name: "app", Value: "c"}}}, "3 time 0 streams 3 filter 0 read 0 left 0", "0 time 0 streams 0 filter 0 read 0 left 0", 0, 0},
		{"word", Query{Filter: Word("line100007of1")}, "3 time 0 streams 0 filter 0 read 3 left 0", fmt.Sprintf("%d time 0 streams 0 filter %d read 1 left 0", blocks, blocks-1), 0, 1},
	} {
		c.q.Stats = new(QueryStats)
		n := int64(len(query(t, s, c.q)))
		st := c.q.Stats
		if got := of(st.Segments); got != c.segments {
			t.Errorf("%s: segments: %s; want %s", c.name, got, c.segments)
		}
		if got := of(st.Blocks); c.blocks != "" && got != c.blocks {
			t.Errorf("%s: blocks: %s; want %s", c.name, got, c.blocks)
		}
		if n != c.matched || st.Matched != c.matched || st.Lines < c.lines || c.lines > 0 && st.Lines != c.lines {
			t.Errorf("%s: %d entries; of %d lines, %d matched; want %d of %d", c.name, n, st.Lines, st.Matched, c.matched, c.lines)
		}
		of(st.Groups)
		of(st.Bytes)
		if by := st.Bytes; by.Considered != raw || (by.Time > 0) != (st.Segments.Time > 0) ||
			(by.Streams > 0) != (st.Segments.Streams > 0) || (by.Filter > 0) != (st.Blocks.Filter > 0) || by.Read < st.RawBytes {
			t.Errorf("%s: bytes %+v; want %d considered", c.name, by, raw)
		}
		if c.name == "all" && (st.StoredBytes != stored || st.RawBytes != raw) {
			t.Errorf("%d bytes and %d raw; want %d and %d", st.StoredBytes, st.RawBytes, stored, raw)
		}
	}
	// A limit leaves parts out, and a consumer that stops has its figures too.
	st := new(QueryStats)
	query(t, s, Query{Order: Backward, Limit: 5, Stats: st})
	of(st.Bytes)
	if of(st.Segments); st.Segments.Left == 0 || st.Bytes.Left == 0 || st.Matched < 5 {
		t.Errorf("with a limit: %+v", st)
	}
	for range s.Query(context.Background(), Query{Stats: st}) {
		break
	}
	if of(st.Blocks); st.Blocks.Read == 0 || st.Matched == 0 {
		t.Errorf("stopped at once: %+v", st)
	}
	// A count knows all from the totals of segments, or reads lines.
	for _, q := range []Query{{Stats: st}, {Stats: st, Filter: Word("line100007of1")}} {
		if _, err := s.Count(context.Background(), q, 0); err != nil {
			t.Fatal(err)
		}
		if of(st.Blocks); q.Filter == nil && st.StoredBytes != 0 || q.Filter != nil && (st.Blocks.Read != 1 || st.Matched != 1) {
			t.Errorf("of a count: %+v", st)
		}
	}
}

// A query or a count that would read too many bytes ends with an error that names
// the limit.
func TestQueryMaxBytes(t *testing.T) {
	s, blocks, _, raw, rows := statsStore(t)
	st := new(QueryStats)
	q := Query{MaxBytes: raw / 3, Filter: Contains("e"), Stats: st}
	check := func(what string, err error) {
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Limit != "Query.MaxBytes" || limit.Value != raw/3 || !strings.Contains(err.Error(), "Query.MaxBytes") {
			t.Errorf("%s: %v", what, err)
		}
		if st.RawBytes <= raw/3 || st.RawBytes > raw/3+8*raw/blocks {
			t.Errorf("%s: %d bytes were read; the limit is %d", what, st.RawBytes, raw/3)
		}
	}
	var last error
	for _, err := range s.Query(context.Background(), q) {
		if last != nil {
			t.Fatal("it goes on after ", last)
		}
		last = err
	}
	check("query", last)
	_, err := s.Count(context.Background(), q, 0)
	check("count", err)
	q.MaxBytes = raw
	if n := int64(len(query(t, s, q))); n != rows {
		t.Errorf("within the limit: %d entries", n)
	}
	// Lines in memory and blocks of which only times are read count too.
	mustAppend(t, s, one(MustLabels("app", "c"), 5000, strings.Repeat("x", 1000)))
	for range s.Query(context.Background(), Query{From: 5000, Stats: st}) {
	}
	if st.RawBytes != 1000 {
		t.Errorf("%d bytes of a line in memory", st.RawBytes)
	}
	last = nil
	for _, err := range s.Query(context.Background(), Query{From: 5000, MaxBytes: 999}) {
		last = err
	}
	if !isLimit(last, "Query.MaxBytes") {
		t.Errorf("a line in memory: %v", last)
	}
	if _, err = s.Aggregate(context.Background(), Query{MaxBytes: 1}, Aggregation{Step: 7}); !isLimit(err, "Query.MaxBytes") {
		t.Errorf("times of blocks: %v", err)
	}
	q.MaxBytes = -1
	for _, err := range s.Query(context.Background(), q) {
		if err == nil || !strings.Contains(err.Error(), "Query.MaxBytes: -1 bytes; want 0 (no limit) or more") {
			t.Error(err)
		}
	}
}
