package logstore_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"testing"

	"github.com/stele-go/stele/logstore"
)

// A Store not made by Open returns errors, and does not block.
func TestZeroValues(t *testing.T) {
	ctx := context.Background()
	var s logstore.Store
	var in logstore.SegmentInspection
	last := func(seq iter.Seq2[logstore.Result, error]) (err error) {
		for _, err = range seq {
		}
		return err
	}
	for name, call := range map[string]func() error{
		"Append":                  func() error { return s.Append(ctx, logstore.Batch{{}}) },
		"Seal":                    func() error { return s.Seal(ctx) },
		"Compact":                 func() error { return s.Compact(ctx) },
		"Query":                   func() error { return last(s.Query(ctx, logstore.Query{})) },
		"Tail":                    func() error { return last(s.Tail(ctx, logstore.Query{})) },
		"Count":                   func() error { _, err := s.Count(ctx, logstore.Query{}, 0); return err },
		"Labels":                  func() error { _, err := s.Labels(ctx, logstore.Query{}); return err },
		"LabelValues":             func() error { _, err := s.LabelValues(ctx, "app", logstore.Query{}); return err },
		"Series":                  func() error { _, err := s.Series(ctx, logstore.Query{}); return err },
		"Tenants":                 func() error { _, err := s.Tenants(ctx, "", 1); return err },
		"Stats":                   func() error { return s.Stats().Failed },
		"Snapshot":                func() error { _, err := s.Snapshot(ctx, "snapshot"); return err },
		"Close":                   s.Close,
		"SegmentInspection.Close": in.Close,
	} {
		if err := call(); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v; want an error that wraps fs.ErrInvalid", name, err)
		}
	}
	<-s.Ready()
	for range in.EachStream() {
		t.Error("an inspection of nothing has a stream")
	}
	for range in.EachBlock() {
		t.Error("an inspection of nothing has a block")
	}
}
