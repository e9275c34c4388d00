package wal_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/stele-go/stele/wal"
)

// A Log, Reader or Pending not made by Open returns errors, and does not block.
func TestZeroValues(t *testing.T) {
	ctx := context.Background()
	var l wal.Log
	var r wal.Reader
	var p wal.Pending
	for name, call := range map[string]func() error{
		"Append":         func() error { _, err := l.Append(ctx, []byte("record")); return err },
		"Append of none": func() error { _, err := l.Append(ctx, nil); return err },
		"AppendBatch":    func() error { _, err := l.AppendBatch(ctx, [][]byte{nil}); return err },
		"AppendAsync":    func() error { _, err := l.AppendAsync(nil).Wait(ctx); return err },
		"Sync":           l.Sync,
		"TruncateBefore": func() error { return l.TruncateBefore(1) },
		"Reader":         func() error { _, err := l.Reader(0); return err },
		"All": func() (err error) {
			for _, err = range l.All(0) {
			}
			return err
		},
		"Close":         l.Close,
		"Reader.Next":   func() error { _, err := r.Next(); return err },
		"Reader.Follow": func() error { _, err := r.Follow(ctx); return err },
		"Reader.Close":  r.Close,
		"Pending.Wait":  func() error { _, err := p.Wait(ctx); return err },
	} {
		for range 2 { // the first changes nothing
			if err := call(); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s: %v; want an error that wraps fs.ErrInvalid", name, err)
			}
		}
	}
	if first, next := l.Bounds(); first != 0 || next != 0 {
		t.Errorf("Bounds: %d, %d", first, next)
	}
	if s := l.Stats(); s.Records != 0 || s.Append.Count() != 0 {
		t.Errorf("Stats: %+v", s)
	}
	if id := l.ID(); id != [16]byte{} {
		t.Errorf("ID: %x", id)
	}
	if got := l.Recovered(); got != (wal.Report{}) {
		t.Errorf("Recovered: %+v", got)
	}
	var in wal.Inspection
	for range in.Segments() {
		t.Error("an Inspection of nothing has a segment")
	}
	for rec, err := range in.Records(0) {
		t.Errorf("an Inspection of nothing has a record: %v, %v", rec, err)
	}
	for rec, err := range in.Salvage(0) {
		t.Errorf("an Inspection of nothing has a record to salvage: %v, %v", rec, err)
	}
}
