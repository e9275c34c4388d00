package newfile_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/newfile"
)

func names(n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fileName(i)) {
				return
			}
		}
	}
}

func TestBatch(t *testing.T) {
	levels(t, func(t *testing.T, l durability.Level) {
		for _, shards := range []int{0, 16} {
			d, dir := open(t, newfile.Options{Level: l, Shards: shards})
			fds := openDescriptors(t)
			made, err := d.Batch(t.Context(), names(100), 0o600, func(name string, f *os.File) error {
				_, err := f.WriteString(name)
				return err
			})
			if made != 100 || err != nil {
				t.Errorf("made %d, %v", made, err)
			}
			for name := range names(100) {
				if got, err := os.ReadFile(d.Path(name)); err != nil || string(got) != name {
					t.Errorf("%s holds %q, %v", name, got, err)
				}
			}
			made, err = d.Batch(t.Context(), slices.Values([]string{"x", "y"}), 0o600, nil)
			if made != 2 || err != nil || countFiles(t, dir) != 102 {
				t.Errorf("made %d, %v; %d files", made, err, countFiles(t, dir))
			}
			if now := openDescriptors(t); now != fds {
				t.Errorf("%d descriptors before, %d after", fds, now)
			}
		}
	})
}

// Calls by the function of a batch fail once Close is called. They do not wait for
// Close, which waits for the batch.
func TestBatchWhileClosing(t *testing.T) {
	d, dir := open(t, kill)
	closed := make(chan error, 1)
	touched := 0
	made, err := d.Batch(t.Context(), slices.Values([]string{"a", "b"}), 0o600, func(name string, f *os.File) error {
		if name == "b" {
			return nil
		}
		go func() { closed <- d.Close() }()
		for {
			err := d.Touch("touched"+strconv.Itoa(touched), 0o600)
			if errors.Is(err, fs.ErrClosed) {
				return nil
			}
			must(t, err)
			touched++
			runtime.Gosched()
		}
	})
	if made != 2 || err != nil {
		t.Errorf("made %d, %v; want 2", made, err)
	}
	must(t, <-closed)
	if n := countFiles(t, dir); n != 2+touched {
		t.Errorf("%d files, want %d", n, 2+touched)
	}
}

func TestBatchFails(t *testing.T) {
	d, dir := open(t, newfile.Options{Level: durability.Kill, Shards: 16})
	if made, err := d.Batch(t.Context(), slices.Values([]string{"a", "../b"}), 0o600, nil); made != 0 || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a bad name: made %d, %v", made, err)
	}
	if n := countFiles(t, dir); n != 0 {
		t.Errorf("%d files of a refused batch", n)
	}
	boom := errors.New("boom")
	var calls atomic.Int64
	made, err := d.Batch(t.Context(), names(1000), 0o600, func(string, *os.File) error {
		if calls.Add(1) == 10 {
			return boom
		}
		return nil
	})
	if err != boom || made >= 1000 || made != countFiles(t, dir) {
		t.Errorf("made %d, %d there, %v", made, countFiles(t, dir), err)
	}
	if _, err := d.Batch(t.Context(), names(1000), 0o600, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(boom)
	if made, err := d.Batch(ctx, slices.Values([]string{"z"}), 0o600, nil); made != 0 || !errors.Is(err, context.Canceled) || !errors.Is(err, boom) {
		t.Errorf("cancelled: made %d, %v", made, err)
	}
	if made, err := d.Batch(t.Context(), names(0), 0o600, nil); made != 0 || err != nil {
		t.Errorf("empty: made %d, %v", made, err)
	}
}

// A batch on a disk that becomes full keeps the files created before, and returns an
// error.
func TestBatchDiskFull(t *testing.T) {
	dir := filetest.Tmpfs(t, 0, "size=1m,nr_inodes=40")
	d := openAt(t, dir, newfile.Options{})
	made, err := d.Batch(t.Context(), names(100), 0o600, nil)
	if !errors.Is(err, errNoSpace) || made == 0 || made != countFiles(t, dir) {
		t.Errorf("made %d, %d there, %v; want ENOSPC", made, countFiles(t, dir), err)
	}
}
