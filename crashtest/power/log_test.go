package power

import (
	"bytes"
	"testing"
)

const testSize = 1 << 20

func exampleLog() []byte {
	b := append(appendHeader(nil, kindWrite, 4096, 3), "abc"...)
	b = appendHeader(b, kindFlush, 0, 0)
	return appendHeader(b, kindZero, 512, 1024)
}

func TestParseLog(t *testing.T) {
	b := exampleLog()
	records, err := parseLog(b, testSize)
	if err != nil {
		t.Fatal(err)
	}
	want := []record{
		{kind: kindWrite, off: 4096, len: 3, data: []byte("abc"), end: 27},
		{kind: kindFlush, end: 51},
		{kind: kindZero, off: 512, len: 1024, end: 75},
	}
	if len(records) != len(want) {
		t.Fatalf("%d records, want %d", len(records), len(want))
	}
	for i, r := range records {
		w := want[i]
		if r.kind != w.kind || r.off != w.off || r.len != w.len || r.end != w.end || !bytes.Equal(r.data, w.data) {
			t.Errorf("record %d is %+v, want %+v", i, r, w)
		}
	}
	// Cut anywhere, the log has the records that end before.
	for n := range b {
		got, err := parseLog(b[:n], testSize)
		if err != nil {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
		whole := 0
		for _, w := range want {
			if w.end <= int64(n) {
				whole++
			}
		}
		if len(got) != whole {
			t.Errorf("the first %d bytes: %d records, want %d", n, len(got), whole)
		}
	}
}

func TestParseLogRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"kind 0":        appendHeader(nil, 0, 0, 0),
		"kind 9":        appendHeader(nil, 9, 0, 0),
		"behind":        appendHeader(nil, kindZero, testSize+1, 0),
		"over the end":  appendHeader(nil, kindZero, testSize-1, 2),
		"negative":      appendHeader(nil, kindZero, -1, 2),
		"negative size": appendHeader(nil, kindWrite, 0, -1),
	} {
		if records, err := parseLog(b, testSize); err == nil {
			t.Errorf("%s: no error, but %+v", name, records)
		}
	}
}

func FuzzParseLog(f *testing.F) {
	f.Add(exampleLog())
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := parseLog(b, testSize)
		if err != nil {
			return
		}
		// What was parsed, written again, is what was read.
		var again []byte
		for _, r := range records {
			again = append(appendHeader(again, r.kind, r.off, r.len), r.data...)
			if r.end != int64(len(again)) {
				t.Fatalf("record %+v does not end at %d", r, len(again))
			}
		}
		if !bytes.HasPrefix(b, again) {
			t.Fatal("the records are not those of the log")
		}
	})
}
