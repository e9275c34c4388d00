package mpsc_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/stele-go/stele/mpsc"
)

// A Queue not made by New returns errors, and does not block.
func TestZeroQueue(t *testing.T) {
	ctx := context.Background()
	var q mpsc.Queue[int]
	for name, call := range map[string]func() error{
		"Push":     func() error { return q.Push(ctx, 1) },
		"TryPush":  func() error { return q.TryPush(1) },
		"Pop":      func() error { _, err := q.Pop(ctx); return err },
		"PopBatch": func() error { _, err := q.PopBatch(ctx, make([]int, 1), 0); return err },
	} {
		if err := call(); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v; want an error that wraps fs.ErrInvalid", name, err)
		}
	}
	if _, ok := q.TryPop(); ok || q.Len() != 0 || q.Cap() != 0 {
		t.Errorf("TryPop %v, Len %d, Cap %d", ok, q.Len(), q.Cap())
	}
	q.Close()
	if err := q.Push(ctx, 1); !errors.Is(err, mpsc.ErrClosed) {
		t.Errorf("Push after Close: %v", err)
	}
	if _, err := q.Pop(ctx); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("Pop after Close: %v", err)
	}
}
