package wal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

// Every method writes the given bytes at the given offset, in one segment after
// the other.
func TestOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is open cannot be removed there, and none of the ways is offered")
	}
	dir := t.TempDir()
	for _, w := range []method{
		{SyncFdatasync, 1, false},
		{SyncDsync, 1, false},
		{SyncDsync, 1, true},
		{SyncDirect, 4096, false},
		{SyncDirect, 4096, true},
	} {
		o := output{method: w}
		for _, name := range []string{"a", "b"} {
			f, remove, err := probeFile(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer remove()
			if err := o.use(f); err != nil {
				t.Logf("%+v: %v", w, err) // not on every file system
				break
			}
			buf := bytes.Repeat([]byte(name), 8192)
			aligned := newAligned(buf)
			if err, _ := o.write(aligned, 4096); err != nil {
				t.Logf("%+v: %v", w, err)
				break
			}
			got := make([]byte, 3*4096+1)
			if _, err := f.ReadAt(got, 4096); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[:8192], buf) || got[8192] != 0 {
				t.Errorf("%+v: the file does not hold what was written", w)
			}
		}
		o.close()
	}
	holdsNothing(t, dir)
}

func newAligned(b []byte) []byte {
	l := &Log{buf: make([]byte, 0), batch: len(b)}
	l.grow(len(b))
	return append(l.buf, b...)
}

func holdsNothing(t *testing.T, dir string) {
	t.Helper()
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

func TestFindWay(t *testing.T) {
	dir := t.TempDir()
	for _, m := range []Mechanism{SyncAuto, SyncFdatasync, SyncDsync, SyncDirect} {
		w, err := chooseMethod(dir, m)
		switch {
		case err != nil:
			if m == SyncAuto || m == SyncFdatasync || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), string(m)) {
				t.Error(err)
			}
			t.Log(err)
		case m != SyncAuto && w.mech != m, w.mech == SyncAuto, w.align < 1, w.align&(w.align-1) != 0:
			t.Errorf("%q: %+v", m, w)
		}
		holdsNothing(t, dir)
	}
	missing := filepath.Join(dir, "missing")
	if w, err := chooseMethod(missing, SyncAuto); w.mech != SyncFdatasync || err != nil {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := chooseMethod(missing, SyncDsync); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A poisoned log refuses everything, waiting appends included, except reads of
// acknowledged records; and these are there when it is opened again.
func TestPoisoned(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill, durability.None} {
		dir := t.TempDir()
		o := Options{Level: level, SegmentSize: 64 << 10, Sync: SyncFdatasync}
		l, err := Open(dir, o)
		needPower(t, err)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		for range 3 {
			if _, err := l.Append(ctx, []byte("before")); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		r, err := l.Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		followed := make(chan error)
		go func() {
			for {
				if _, err := r.Follow(ctx); err != nil {
					followed <- err
					return
				}
			}
		}()

		// Appends are under way when the sync fails.
		l.writeMu.Lock()
		var wg sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			wg.Go(func() { _, errs[i] = l.Append(ctx, []byte("waiting")) })
		}
		pending := l.AppendAsync([]byte("waiting"))
		for l.queued.Load() < int64(len(errs)+1) {
			time.Sleep(time.Millisecond)
		}
		cause := errors.New("the cause")
		l.poison(cause)
		l.writeMu.Unlock()
		wg.Wait()
		_, asyncErr := pending.Wait(ctx)
		_, batchErr := l.AppendBatch(ctx, [][]byte{nil})
		_, lateErr := l.Append(ctx, nil)
		errs = append(errs, asyncErr, batchErr, lateErr, <-followed, l.Sync(), l.TruncateBefore(2))
		for i, err := range errs {
			if !errors.Is(err, ErrPoisoned) || !errors.Is(err, cause) || errors.Is(err, ErrUnsure) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v: %d: %v", level, i, err)
			}
		}
		n := 0
		for rec, err := range l.All(0) {
			if err != nil || string(rec.Data) != "before" {
				t.Errorf("%q, %v", rec.Data, err)
			}
			n++
		}
		if n != 3 {
			t.Errorf("%v: read %d records", level, n)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); !errors.Is(err, ErrPoisoned) {
			t.Error(err)
		}

		l, err = Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if rep := l.Recovered(); rep.Clean || rep.Next != 4 {
			t.Errorf("%+v", rep)
		}
		if pos, err := l.Append(ctx, nil); pos != 4 || err != nil {
			t.Error(pos, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// An append leads only while no other one is under way.
func TestLead(t *testing.T) {
	l, err := Open(t.TempDir(), Options{SegmentSize: 64 << 10, Sync: SyncFdatasync})
	needPower(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !l.lead() {
		t.Fatal("no append is under way, and lead returned false")
	}
	if l.lead() {
		t.Error("lead returned true twice")
	}
	p := l.AppendAsync([]byte("first")) // waits
	l.writeMu.Unlock()
	if _, err := l.Append(t.Context(), []byte("second")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for rec := range l.All(0) {
		got = append(got, string(rec.Data))
	}
	if !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("%q: not in the order of their appends", got)
	}
}

// Appends that wait for the flusher are not written if their context is done
// before it takes them.
func TestCancelBeforeTaken(t *testing.T) {
	l, err := Open(t.TempDir(), Options{SegmentSize: 64 << 10, Sync: SyncFdatasync})
	needPower(t, err)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.writeMu.Lock() // so that the flusher waits
	ctx, cancel := context.WithCancel(t.Context())
	const appends = 20
	errs := make(chan error, appends)
	for range appends {
		go func() {
			_, err := l.Append(ctx, []byte("cancelled"))
			errs <- err
		}()
	}
	for l.queued.Load() < appends {
		time.Sleep(time.Millisecond)
	}
	cancel()
	for range appends {
		if err := <-errs; !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnsure) || !strings.Contains(err.Error(), l.dir) {
			t.Error(err)
		}
	}
	l.writeMu.Unlock()
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	for rec, err := range l.All(0) {
		t.Errorf("%q is there, %v", rec.Data, err)
	}
	if n := l.Stats().Cancelled; n != appends {
		t.Errorf("%d of %d were dropped", n, appends)
	}
}
