package fileio_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/internal/testseed"
)

// Random reads, seeks and views of any size, against the content.
func TestRandomOperations(t *testing.T) {
	seed := testseed.Of(t)
	want := content(1_200_000)
	eachWay(t, func(t *testing.T, w fileio.Way) {
		rng := rand.New(rand.NewPCG(seed, uint64(w)))
		o := fileio.Options{Way: w, Pattern: fileio.Pattern(rng.IntN(3)), BufferSize: rng.IntN(100_000)}
		if w != fileio.Direct && w != fileio.Uncached {
			o.Readahead = []fileio.Readahead{fileio.ReadaheadAuto, fileio.ReadaheadOff, fileio.MinWindow, 1 << 20}[rng.IntN(4)]
		}
		r := open(t, fileOf(t, want), o)
		pos := int64(0)
		for range 1500 {
			n := int(math.Exp2(rng.Float64() * 18))
			off := rng.Int64N(int64(len(want)) + 1000)
			rest := want[min(off, int64(len(want))):]
			b := make([]byte, n)
			switch rng.IntN(5) {
			case 0, 1:
				got, err := r.ReadAt(b, off)
				if got != min(n, len(rest)) || !bytes.Equal(b[:got], rest[:got]) || (got < n) != (err == io.EOF) {
					t.Fatalf("ReadAt %d at %d: %d, %v", n, off, got, err)
				}
			case 2:
				err := r.View(off, n, func(v []byte) error {
					if !bytes.Equal(v, rest[:n]) {
						t.Errorf("a view of %d at %d has other bytes", n, off)
					}
					return nil
				})
				if (err == nil) != (n <= len(rest)) {
					t.Fatalf("a view of %d at %d: %v", n, off, err)
				}
			case 3:
				if rng.IntN(3) == 0 {
					if _, err := r.Seek(off, io.SeekStart); err != nil {
						t.Fatal(err)
					}
					pos = off
				}
				got, err := r.Read(b)
				rest := want[min(pos, int64(len(want))):]
				if got > len(rest) || !bytes.Equal(b[:got], rest[:got]) || (got == 0) != (err == io.EOF) || got == 0 && len(rest) > 0 {
					t.Fatalf("Read %d at %d: %d, %v", n, pos, got, err)
				}
				pos += int64(got)
			case 4:
				if err := r.Advise(off, int64(n), fileio.Advice(rng.IntN(6))); err != nil && runtime.GOOS == "linux" {
					t.Fatal(err)
				}
			}
		}
	})
}

// Many goroutines read, view, advise and read statistics, and one closes meanwhile.
func TestConcurrent(t *testing.T) {
	want := content(1 << 20)
	eachWay(t, func(t *testing.T, w fileio.Way) {
		for range 3 {
			r := open(t, fileOf(t, want), fileio.Options{Way: w})
			var started, done sync.WaitGroup
			for g := range 4 {
				started.Add(1)
				done.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(g), 1))
					b := make([]byte, 5000)
					for i := 0; ; i++ {
						off := rng.Int64N(1<<20 - 5000)
						if g%2 == 0 {
							off = int64(1<<20 - 5000*(i%200+1)) // backward
						}
						n, err := r.ReadAt(b, off)
						if err == nil && !bytes.Equal(b[:n], want[off:off+int64(n)]) {
							t.Error("other bytes")
						}
						verr := r.View(off, 100, func(v []byte) error {
							if !bytes.Equal(v, want[off:off+100]) {
								t.Error("other bytes in a view")
							}
							return nil
						})
						r.Stats()
						if i == 20 {
							started.Done()
						}
						if err != nil || verr != nil {
							if !errors.Is(errors.Join(err, verr), fs.ErrClosed) {
								t.Error(err, verr)
							}
							if i < 20 {
								started.Done()
							}
							return
						}
					}
				})
			}
			started.Wait()
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			done.Wait()
		}
	})
}

// Close waits for a View. Later calls fail, and so do calls of the View's function.
func TestCloseWaits(t *testing.T) {
	eachWay(t, func(t *testing.T, w fileio.Way) {
		want := content(100_000)
		r := open(t, fileOf(t, want), fileio.Options{Way: w})
		closed := make(chan error, 1)
		err := r.View(0, len(want), func(b []byte) error {
			go func() { closed <- r.Close() }()
			for {
				if _, err := r.ReadAt(make([]byte, 1), 0); errors.Is(err, fs.ErrClosed) {
					break
				}
				time.Sleep(time.Millisecond)
			}
			select {
			case err := <-closed:
				t.Error("Close did not wait:", err)
			case <-time.After(20 * time.Millisecond):
			}
			if !bytes.Equal(b, want) {
				t.Error("the view changed")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		for what, err := range map[string]error{
			"View":    r.View(0, 1, func([]byte) error { return nil }),
			"Advise":  r.Advise(0, 1, fileio.AdviceNormal),
			"Close":   r.Close(),
			"ReadAt":  second(r.ReadAt(make([]byte, 1), 0)),
			"Read":    second(r.Read(make([]byte, 1))),
			"Seek":    second(r.Seek(0, 0)),
			"WriteTo": second(r.WriteTo(io.Discard)),
		} {
			var pe *fs.PathError
			if !errors.Is(err, fs.ErrClosed) || !errors.As(err, &pe) || pe.Path != r.Name() {
				t.Errorf("%s after Close: %v", what, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
