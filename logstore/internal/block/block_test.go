package block

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

type row struct {
	time       int64
	line, meta string
}

// encode returns the block of the rows.
func encode(t testing.TB, rows []row) []byte {
	t.Helper()
	return encodeBy(t, new(Encoder), rows)
}

// encodeBy is encode with an Encoder that may have been used before.
func encodeBy(t testing.TB, e *Encoder, rows []row) []byte {
	t.Helper()
	e.Reset()
	raw := 0
	for _, r := range rows {
		e.Add(r.time, []byte(r.line), []byte(r.meta))
		raw += len(r.line) + len(r.meta)
	}
	if e.Rows() != len(rows) || e.Raw() != raw {
		t.Errorf("the Encoder has %d rows of %d bytes, not %d of %d", e.Rows(), e.Raw(), len(rows), raw)
	}
	p, err := e.Append([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(p, []byte("before")) {
		t.Fatal("Append did not append")
	}
	return p[len("before"):]
}

// decode reads the block with d.
func decode(d *Decoder, p []byte) ([]row, error) {
	times, err := d.Decode(p, nil)
	if err != nil {
		return nil, err
	}
	rows := make([]row, d.Rows())
	for i := range rows {
		rows[i] = row{times[i], string(d.Line(i)), string(d.Meta(i))}
	}
	return rows, nil
}

// same compares rows, and reports the first that differs.
func same(got, want []row) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, not %d", len(got), len(want))
	}
	for i, r := range got {
		if r != want[i] {
			return fmt.Errorf("row %d is %.200v, not %.200v", i, r, want[i])
		}
	}
	return nil
}

// logRows returns lines like those of logs.
func logRows(n int, seed uint64) []row {
	rng := rand.New(rand.NewPCG(seed, 1))
	rows := make([]row, n)
	at := int64(1_700_000_000_000_000_000)
	for i := range rows {
		at += rng.Int64N(20_000_000)
		rows[i] = row{at, fmt.Sprintf("level=info host=web-%02d method=GET path=/api/v2/items/%d status=200 duration=%dms request=%016x",
			rng.IntN(20), rng.IntN(100_000), rng.IntN(500), rng.Uint64()), ""}
	}
	return rows
}

// shapes returns blocks of every kind.
func shapes() map[string][]row {
	rng := rand.New(rand.NewPCG(5, 6))
	noise := func(n int) string {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		return string(p)
	}
	repeat := func(n int, f func(i int) row) []row {
		rows := make([]row, n)
		for i := range rows {
			rows[i] = f(i)
		}
		return rows
	}
	return map[string][]row{
		"one empty row":  {{}},
		"one row":        {{1, "line", ""}},
		"one with meta":  {{math.MaxInt64, "line", "meta"}},
		"last has meta":  {{1, "a", ""}, {2, "b", ""}, {3, "c", "m"}},
		"first has meta": {{1, "a", "m"}, {2, "b", ""}, {3, "c", ""}},
		"meta is 0xff":   {{1, "a", ""}, {2, "b", "\xff\xff"}, {3, "c", "m"}},
		"only meta":      {{1, "", "k=v"}, {1, "", ""}},
		"0xff in a line": {{1, "a\xffb", ""}, {2, "\xff", ""}, {3, "", ""}},
		"newlines":       {{1, "a\nb\n", ""}, {2, "\n", ""}},
		"empty lines":    repeat(100_000, func(i int) row { return row{int64(i), "", ""} }),
		"MaxRows":        repeat(MaxRows, func(int) row { return row{7, "", ""} }),
		"MaxRaw":         {{1, strings.Repeat("x", MaxRaw-3), "abc"}},
		"MaxRaw, noise":  {{1, noise(MaxRaw), ""}},
		"binary":         repeat(500, func(i int) row { return row{int64(i * i), noise(i), noise(i % 7)} }),
		"logs":           logRows(2_000, 1),
		"long":           {{1, "a", ""}, {2, strings.Repeat("0123456789", 100_000), ""}, {3, "b", ""}},
		"of all times": repeat(5_000, func(i int) row {
			return row{int64(rng.Uint64() >> (1 + i%63)), "x", ""}
		}),
	}
}

func TestRoundTrip(t *testing.T) {
	var d Decoder // one for all: a block must not affect the next
	for name, want := range shapes() {
		p := encode(t, want)
		got, err := decode(&d, p)
		if err == nil {
			err = same(got, want)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		raw := 0
		for _, r := range want {
			raw += len(r.line) + len(r.meta)
		}
		// Random bytes are stored uncompressed.
		if limit := headerSize + maxTimesHeader + 10*len(want) + raw + len(want) + len(want)*4; len(p) > limit {
			t.Errorf("%s: %d bytes of at most %d", name, len(p), limit)
		}
		if name == "logs" && len(p) > raw/4 {
			t.Errorf("%d bytes of lines became %d", raw, len(p))
		}
	}
}

// After Reset an Encoder makes the same block as a new one.
func TestEncoderReset(t *testing.T) {
	var e Encoder
	for name, rows := range shapes() {
		if !bytes.Equal(encodeBy(t, &e, rows), encode(t, rows)) {
			t.Errorf("%s: what was encoded before shows", name)
		}
	}
}

func TestEncoderRefuses(t *testing.T) {
	var e Encoder
	if _, err := e.Append(nil); err == nil {
		t.Error("a block of no row was made")
	}
	e.Add(1, make([]byte, MaxRaw), []byte{1})
	if p, err := e.Append([]byte("x")); err == nil || string(p) != "x" {
		t.Errorf("a block of more than MaxRaw gave %d bytes and the error %v", len(p), err)
	}
	e.Reset()
	for range MaxRows + 1 {
		e.Add(1, nil, nil)
	}
	if _, err := e.Append(nil); err == nil {
		t.Error("a block of more than MaxRows was made")
	}
}

func TestDecoderWithoutBlock(t *testing.T) {
	var d Decoder
	check := func(when string) {
		t.Helper()
		if _, err := d.Times(); err == nil {
			t.Errorf("%s: there are times", when)
		}
		if err := d.Lines(); err == nil {
			t.Errorf("%s: there are lines", when)
		}
		if d.Rows() != 0 {
			t.Errorf("%s: %d rows", when, d.Rows())
		}
	}
	check("before Open")
	if _, err := decode(&d, encode(t, logRows(10, 1))); err != nil {
		t.Fatal(err)
	}
	if v, ok := errors.AsType[*VersionError](d.Open([]byte{3, 0}, nil)); !ok || v.Version != 3 {
		t.Errorf("opening a block of version 3 gave %v", v)
	}
	check("after a block of another version")
	if err := d.Open([]byte("\x00 no block"), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("opening what is no block gave %v", err)
	}
	check("after an Open that failed")
}

// Appending to the line of one row does not change the next.
func TestLinesDoNotOverlap(t *testing.T) {
	var d Decoder
	if _, err := decode(&d, encode(t, []row{{1, "ab", "m"}, {2, "cd", "n"}})); err != nil {
		t.Fatal(err)
	}
	_ = append(append(d.Line(0), "xyz"...), append(d.Meta(0), "xyz"...)...)
	if got := string(d.Line(1)) + string(d.Meta(1)); got != "cdn" {
		t.Errorf("the second row became %q", got)
	}
}
