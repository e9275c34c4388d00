//go:build !race

package wal_test

import (
	"fmt"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/wal"
)

// An append allocates nothing, alone or among others, nor does a read. (Under
// the race detector sync.Pool drops items on purpose.)
func TestAllocations(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	rec := make([]byte, 1000)
	batch := [][]byte{rec, rec, rec}
	ctx := t.Context()
	for _, o := range []wal.Options{
		{Sync: wal.SyncFdatasync},
		{Sync: wal.SyncDsync},
		{Sync: wal.SyncDirect},
		{Level: durability.Kill},
		{Level: durability.None},
	} {
		t.Run(fmt.Sprint(o.Level, "/", o.Sync), func(t *testing.T) {
			o.SegmentSize = 16 << 20
			l, err := wal.Open(t.TempDir(), o)
			if err != nil {
				t.Skip(err)
			}
			defer l.Close()
			for name, f := range map[string]func() error{
				"Append":      func() error { _, err := l.Append(ctx, rec); return err },
				"AppendBatch": func() error { _, err := l.AppendBatch(ctx, batch); return err },
				"AppendAsync": func() error { _, err := l.AppendAsync(rec).Wait(ctx); return err },
			} {
				for range 200 { // until buffers have their size
					check(t, f())
				}
				var err error
				if n := testing.AllocsPerRun(100, func() { err = f() }); n != 0 || err != nil {
					t.Errorf("%s: %v allocations, %v", name, n, err)
				}
			}
			r, err := l.Reader(0)
			check(t, err)
			defer r.Close()
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() { _, err = r.Next() }); n != 0 || err != nil {
				t.Errorf("Next: %v allocations, %v", n, err)
			}
		})
	}
}

// So with 64 concurrent appenders.
func TestAllocationsAmongOthers(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	l := open(t, t.TempDir(), wal.Options{SegmentSize: 64 << 20, Level: durability.Kill})
	rec := make([]byte, 100)
	const appenders, each = 64, 200
	var gate sync.WaitGroup
	run := func() {
		gate.Add(1)
		var wg sync.WaitGroup
		for range appenders {
			wg.Go(func() {
				gate.Wait()
				for range each {
					if _, err := l.Append(t.Context(), rec); err != nil {
						t.Error(err)
					}
				}
			})
		}
		gate.Done()
		wg.Wait()
	}
	run()
	// Goroutines and the closures of wait groups allocate a little, appends
	// nothing.
	if n := testing.AllocsPerRun(1, run); n > appenders*each/10 {
		t.Errorf("%v allocations for %d appends", n, appenders*each)
	}
}
