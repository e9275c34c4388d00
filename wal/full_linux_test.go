package wal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
	"github.com/stele-go/stele/wal"
)

// On a full disk appends fail, and acknowledged records stay; appends succeed
// again once there is space.
func TestDiskFull(t *testing.T) {
	for _, image := range []scratch.Options{
		{FS: "tmpfs", Size: 4 << 20},
		{FS: "ext4", Size: 32 << 20},
	} {
		t.Run(image.FS, func(t *testing.T) {
			image.Store = t.TempDir()
			p, err := scratch.Image(t.Context(), image)
			if err != nil {
				t.Skip(err)
			}
			defer func() { check(t, p.Close()) }()
			ballast := filepath.Join(p.Path, "ballast")
			check(t, fill(ballast, 600<<10))

			dir := filepath.Join(p.Path, "log")
			l, err := wal.Open(dir, wal.Options{SegmentSize: 128 << 10, Sync: wal.SyncFdatasync})
			check(t, err)
			defer l.Close()
			var mu sync.Mutex
			acked := map[wal.Position]string{}
			// appendAll appends n records from each of 8 goroutines, or as many
			// as succeed.
			appendAll := func(n int) (failed int) {
				var wg sync.WaitGroup
				for a := range 8 {
					wg.Go(func() {
						for i := range n {
							rec := fmt.Sprint(a, i, strings.Repeat(".", 8000))
							pos, err := l.Append(t.Context(), []byte(rec))
							mu.Lock()
							if err == nil {
								acked[pos] = rec
								mu.Unlock()
								continue
							}
							failed++
							mu.Unlock()
							if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, wal.ErrUnsure) || !strings.Contains(err.Error(), dir) {
								t.Error(err)
							}
							return
						}
					})
				}
				wg.Wait()
				return failed
			}
			if failed := appendAll(1000); failed != 8 {
				t.Fatal("the disk did not get full")
			}
			if len(acked) < 100 {
				t.Errorf("only %d appends before that", len(acked))
			}
			check(t, l.Sync())
			check(t, os.Remove(ballast))
			recovered(t, l)
			before := len(acked)
			if failed := appendAll(3); failed > 0 || len(acked) != before+24 {
				t.Errorf("%d appends failed though there is space", failed)
			}

			// Full again; a truncation frees space too.
			if failed := appendAll(1000); failed != 8 {
				t.Fatal("the disk did not get full again")
			}
			_, next := l.Bounds()
			half := next / 2
			check(t, l.TruncateBefore(half))
			recovered(t, l)
			check(t, l.Close())
			l, err = wal.Open(dir, wal.Options{SegmentSize: 128 << 10, Sync: wal.SyncFdatasync})
			check(t, err)
			defer l.Close()
			got := 0
			for rec, err := range l.All(0) {
				check(t, err)
				want, ok := acked[rec.Position]
				if !ok && !strings.HasPrefix(string(rec.Data), "more") || ok && want != string(rec.Data) {
					t.Fatalf("position %d holds %.20q, want %.20q", rec.Position, rec.Data, want)
				}
				if ok {
					got++
				}
			}
			for pos := range acked {
				if pos < half {
					got++
				}
			}
			if got != len(acked) {
				t.Errorf("%d of %d acknowledged records", got, len(acked))
			}
		})
	}
}

// recovered waits until appends succeed again.
func recovered(t *testing.T, l *wal.Log) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := l.Append(t.Context(), []byte("more"+strings.Repeat(".", 8000))) // for a new segment
		if err == nil {
			return
		}
		if time.Since(start) > 2*time.Minute {
			t.Fatal("no append though there is space: ", err)
		}
	}
}

func fill(name string, size int) error { return os.WriteFile(name, make([]byte, size), 0o600) }
