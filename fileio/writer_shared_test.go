package fileio_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/fileio"
)

// With many goroutines the bytes of each Write stay together, once, and a Commit covers
// all writes of its goroutine before it.
func TestWriterShared(t *testing.T) {
	const writers, records, size = 8, 60, 100
	for _, p := range policies() {
		for _, m := range []fileio.Mechanism{fileio.SyncFdatasync, fileio.SyncDsync} {
			t.Run(fmt.Sprintf("%v/%s", p, m), func(t *testing.T) {
				t.Parallel()
				f := create(t)
				w := newWriter(t, f, fileio.WriterOptions{Policy: p, Sync: m, BufferSize: 4096})
				var wg sync.WaitGroup
				for i := range writers {
					wg.Go(func() {
						for j := range records {
							if _, err := fmt.Fprintf(w, "%-*s\n", size-1, fmt.Sprintf("%d.%d", i, j)); err != nil {
								t.Error(err)
							}
							if j%20 == 19 {
								ours := w.Offset() // or more
								if err := w.Commit(); err != nil {
									t.Error(err)
								}
								if d := w.Durable(); d < ours && p != fileio.Never() {
									t.Errorf("committed at %d, %d is durable", ours, d)
								}
							}
						}
					})
				}
				wg.Wait()
				ok(t, w.Close())
				b, err := os.ReadFile(f.Name())
				ok(t, err)
				next := map[string]int{}
				for len(b) >= size {
					who, number, _ := strings.Cut(strings.TrimSpace(string(b[:size])), ".")
					if number != fmt.Sprint(next[who]) {
						t.Fatalf("record %s of %s, want %d", number, who, next[who])
					}
					next[who]++
					b = b[size:]
				}
				if len(b) > 0 || len(next) != writers {
					t.Errorf("%d bytes more; records of %d writers", len(b), len(next))
				}
			})
		}
	}
}

// Close writes everything that other goroutines wrote before it. Later writes fail.
func TestWriterCloseMeanwhile(t *testing.T) {
	for _, p := range policies() {
		f := create(t)
		w := newWriter(t, f, fileio.WriterOptions{Policy: p})
		var wg sync.WaitGroup
		var taken atomic.Int64
		for range 4 {
			wg.Go(func() {
				for {
					n, err := w.WriteString("record")
					taken.Add(int64(n))
					if errors.Is(err, os.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if rand.IntN(50) == 0 {
						if err := w.Commit(); err != nil && !errors.Is(err, os.ErrClosed) {
							t.Error(err)
						}
					}
				}
			})
		}
		for taken.Load() < 100 && !t.Failed() { // until the goroutines write
			time.Sleep(time.Millisecond)
		}
		ok(t, w.Close())
		ok(t, f.Close()) // no longer in use
		wg.Wait()
		info, err := os.Stat(f.Name())
		ok(t, err)
		if info.Size() != taken.Load() {
			t.Errorf("%v: %d bytes were taken, the file has %d", p, taken.Load(), info.Size())
		}
	}
}

// Commits that wait for a sync share the next one.
func TestCommitsShare(t *testing.T) {
	const others = 10
	first, on := make(chan bool), make(chan bool)
	f := create(t)
	w := newWriter(t, f, fileio.WriterOptions{Trace: func(op fileio.Op) {
		if op.Kind == fileio.OpSync && op.Offset == 0 {
			close(first)
			<-on // the sync takes long
		}
	}})
	var wg sync.WaitGroup
	commit := func() {
		if _, err := w.WriteString("x"); err != nil {
			t.Error(err)
		}
		if err := w.Commit(); err != nil {
			t.Error(err)
		}
	}
	wg.Go(commit)
	<-first
	for range others {
		wg.Go(commit)
	}
	for w.Stats().Bytes < 1+others { // until all have written, alone or in a shared call
		time.Sleep(time.Millisecond)
	}
	close(on)
	wg.Wait()
	if s := w.Stats(); s.Syncs != 2 || w.Durable() != 1+others {
		t.Errorf("%d commits took %d syncs; %d bytes are durable", 1+others, s.Syncs, w.Durable())
	}
	ok(t, w.Close())
}

func TestWriterAllocates(t *testing.T) {
	for _, o := range []fileio.WriterOptions{
		{}, {Policy: fileio.Never()}, {Policy: fileio.EachWrite(), Sync: fileio.SyncDsync}, {Policy: fileio.EveryBytes(1 << 20)},
		{Way: fileio.Direct, Policy: fileio.Never()}, {Way: fileio.Uncached, Policy: fileio.Never()},
		{Policy: fileio.EveryInterval(time.Minute)}, {Policy: fileio.Never(), BufferSize: 4096},
	} {
		t.Run(fmt.Sprintf("%v/%v/%s/%d", o.Way, o.Policy, o.Sync, o.BufferSize), func(t *testing.T) {
			w := newWriter(t, create(t), o)
			p := make([]byte, 5000)
			write := func() {
				if _, err := w.Write(p); err != nil {
					t.Fatal(err)
				}
			}
			write()
			if n := testing.AllocsPerRun(100, write); n != 0 {
				t.Errorf("%v allocations a write", n)
			}
			if n := testing.AllocsPerRun(60, func() { write(); ok(t, w.Commit()) }); n != 0 {
				t.Errorf("%v allocations a commit", n)
			}
			ok(t, w.Close())
		})
	}
}
