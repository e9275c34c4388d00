package wal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/profile"
	"github.com/stele-go/stele/wal"
)

// small has several segments after a few records, and does not probe the disk.
var small = wal.Options{SegmentSize: 64 << 10, Sync: wal.SyncFdatasync}

func open(t testing.TB, dir string, o wal.Options) *wal.Log {
	t.Helper()
	l, err := wal.Open(dir, o)
	check(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func check(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errors.ErrUnsupported) && !sys.CanSyncDir {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// add appends recs one by one, and returns the position of the last.
func add(t testing.TB, l *wal.Log, recs ...string) (last wal.Position) {
	t.Helper()
	for _, rec := range recs {
		pos, err := l.Append(t.Context(), []byte(rec))
		check(t, err)
		if last != 0 && pos != last+1 {
			t.Fatalf("position %d behind %d", pos, last)
		}
		last = pos
	}
	return last
}

// read returns the records from the position from on, and fails if their
// positions are not consecutive.
func read(t testing.TB, l *wal.Log, from wal.Position) (recs []string) {
	t.Helper()
	for rec, err := range l.All(from) {
		check(t, err)
		if want := from + wal.Position(len(recs)); from != 0 && rec.Position != want {
			t.Fatalf("read position %d, want %d", rec.Position, want)
		}
		recs = append(recs, string(rec.Data))
	}
	return recs
}

func same(t testing.TB, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%d records, want %d", len(got), len(want))
		case i >= len(want):
			t.Fatalf("%d records, want %d; the next is %.40q", len(got), len(want), got[i])
		case got[i] != want[i]:
			t.Fatalf("record %d is %.40q, want %.40q", i, got[i], want[i])
		}
	}
}

func TestAppendAndRead(t *testing.T) {
	for _, o := range []wal.Options{
		{},
		small,
		{SegmentSize: 64 << 10, MaxBatch: 4 << 10},
		{SegmentSize: 64 << 10, Sync: wal.SyncDsync},
		{SegmentSize: 64 << 10, Sync: wal.SyncDirect},
		{SegmentSize: 64 << 10, MaxDelay: time.Millisecond},
		{SegmentSize: 64 << 10, Level: durability.Kill},
		{SegmentSize: 64 << 10, Level: durability.None},
		{SegmentSize: 64 << 10, Level: durability.None, SyncEvery: time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%v/%v/%v", o.Level, o.Sync, o.MaxBatch), func(t *testing.T) {
			dir := t.TempDir()
			var want []string
			for round := range 3 {
				l, err := wal.Open(dir, o)
				if err != nil && strings.Contains(err.Error(), "Options.Sync") {
					t.Skip(err)
				}
				check(t, err)
				for i, n := range []int{0, 1, 100, 511, 512, 513, 4000, 4096, 16000, 16384, 0, 3} {
					rec := strings.Repeat(string(rune('a'+i+round)), n)
					if o.SegmentSize == 64<<10 && n == 16384 {
						rec = rec[:16384] // a quarter of the segment
					}
					pos := add(t, l, rec)
					want = append(want, rec)
					if pos != wal.Position(len(want)) {
						t.Fatalf("position %d, want %d", pos, len(want))
					}
				}
				batch := [][]byte{[]byte("x"), nil, bytes.Repeat([]byte("y"), 10_000), []byte("z")}
				pos, err := l.AppendBatch(t.Context(), batch)
				if err != nil || pos != wal.Position(len(want)+1) {
					t.Fatalf("batch: %d, %v", pos, err)
				}
				for _, rec := range batch {
					want = append(want, string(rec))
				}
				if pos, err := l.AppendAsync([]byte("later")).Wait(t.Context()); err != nil || pos != wal.Position(len(want)+1) {
					t.Fatalf("async: %d, %v", pos, err)
				}
				want = append(want, "later")
				same(t, read(t, l, 0), want)
				same(t, read(t, l, 7), want[6:])
				if first, next := l.Bounds(); first != 1 || next != wal.Position(len(want)+1) {
					t.Errorf("bounds %d, %d", first, next)
				}
				if round == 1 {
					check(t, l.Sync())
				}
				check(t, l.Close())
				if rep := l.Recovered(); round > 0 && (!rep.Clean || rep.Torn != nil) {
					t.Errorf("round %d: %+v", round, rep)
				}
			}
		})
	}
}

// A batch, and a queue, may be many times larger than a flush, and than a
// segment.
func TestLongBatch(t *testing.T) {
	o := small
	o.MaxBatch = 4 << 10
	l := open(t, t.TempDir(), o)
	var recs [][]byte
	var want []string
	for i := range 500 {
		recs = append(recs, fmt.Appendf(nil, "%d%s", i, strings.Repeat(".", i)))
		want = append(want, string(recs[i]))
	}
	pos, err := l.AppendBatch(t.Context(), recs)
	if pos != 1 || err != nil {
		t.Fatal(pos, err)
	}
	same(t, read(t, l, 0), want)
	if s := l.Stats(); s.Segments < 2 || s.Flushes < 10 || s.Records != 500 {
		t.Errorf("%+v", s)
	}
}

// The longest possible record is larger than every buffer.
func TestLongRecord(t *testing.T) {
	for _, o := range []wal.Options{{Sync: wal.SyncDirect}, {Level: durability.None}} {
		l, err := wal.Open(t.TempDir(), o)
		if err != nil && o.Sync == wal.SyncDirect {
			continue
		}
		check(t, err)
		long := bytes.Repeat([]byte("0123456"), wal.MaxRecord/7+1)[:wal.MaxRecord]
		for i, rec := range [][]byte{[]byte("a"), long, []byte("b"), long} {
			var pos wal.Position
			if i == 3 {
				pos, err = l.AppendAsync(rec).Wait(t.Context()) // more bytes than may wait
			} else {
				pos, err = l.Append(t.Context(), rec)
			}
			if err != nil || pos != wal.Position(i+1) {
				t.Fatal(pos, err)
			}
		}
		same(t, read(t, l, 0), []string{"a", string(long), "b", string(long)})
		check(t, l.Close())
	}
}

func TestRefused(t *testing.T) {
	l := open(t, t.TempDir(), small)
	ctx := t.Context()
	long := make([]byte, 16<<10+1)
	_, err := l.Append(ctx, long)
	_, err2 := l.AppendBatch(ctx, [][]byte{nil, long})
	_, err3 := l.AppendAsync(long).Wait(ctx)
	for _, err := range []error{err, err2, err3} {
		if !errors.Is(err, wal.ErrTooLarge) || !strings.Contains(err.Error(), "16385") {
			t.Error(err)
		}
	}
	if pos, err := l.AppendBatch(ctx, nil); pos != 0 || err != nil {
		t.Errorf("an empty batch: %d, %v", pos, err)
	}
	cause := errors.New("the cause")
	done, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	if _, err := l.Append(done, nil); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || errors.Is(err, wal.ErrUnsure) {
		t.Error(err)
	}
	if err := l.TruncateBefore(2); err == nil {
		t.Error("truncated what is not there yet")
	}
	if _, err := l.Reader(2); err == nil {
		t.Error("a reader of what is not there yet")
	}
	same(t, read(t, l, 0), nil)
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    wal.Options
		want string
	}{
		{wal.Options{Level: 3}, "Level"},
		{wal.Options{SyncEvery: time.Second}, "SyncEvery"},
		{wal.Options{Level: durability.Kill, SyncEvery: -1}, "SyncEvery"},
		{wal.Options{SegmentSize: 60 << 10}, "SegmentSize"},
		{wal.Options{SegmentSize: 64<<10 + 1}, "SegmentSize"},
		{wal.Options{SegmentSize: 1<<30 + 4096}, "SegmentSize"},
		{wal.Options{Spares: -1}, "Spares"},
		{wal.Options{MaxDelay: -1}, "MaxDelay"},
		{wal.Options{MaxBatch: 4095}, "MaxBatch"},
		{wal.Options{MaxBatch: 64<<20 + 1}, "MaxBatch"},
		{wal.Options{Queue: -1}, "Queue"},
		{wal.Options{Queue: 1<<20 + 1}, "Queue"},
		{wal.Options{Sync: "osync"}, "osync"},
		{wal.Options{Sync: wal.SyncDirect, Level: durability.Kill}, "Sync"},
		{wal.Options{Profile: &profile.Profile{WAL: profile.WAL{Sync: "osync"}}}, "osync"},
		{wal.Options{Profile: &profile.Profile{WAL: profile.WAL{SegmentSize: 5}}}, "SegmentSize"},
		{wal.Options{Profile: &profile.Profile{WAL: profile.WAL{MaxDelay: -5}}}, "MaxDelay"},
	} {
		dir := filepath.Join(t.TempDir(), "log")
		if _, err := wal.Open(dir, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%+v: made a directory", c.o)
		}
	}
	// Options take precedence over the profile, whose mechanism is for level
	// Power.
	p := &profile.Profile{WAL: profile.WAL{Sync: "direct", SegmentSize: 5}}
	l := open(t, t.TempDir(), wal.Options{Level: durability.Kill, SegmentSize: 64 << 10, Profile: p})
	if m := l.Stats().Mechanism; m != wal.SyncFdatasync {
		t.Error(m)
	}
	p = &profile.Profile{WAL: profile.WAL{Sync: "fdatasync", SegmentSize: 128 << 10, MaxDelay: time.Hour}}
	l = open(t, t.TempDir(), wal.Options{MaxDelay: 1, Profile: p})
	add(t, l, strings.Repeat("x", 32<<10))
	if m := l.Stats().Mechanism; m != wal.SyncFdatasync {
		t.Error(m)
	}
}

func TestClosed(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, small)
	add(t, l, "a", "b")
	r, err := l.Reader(0)
	check(t, err)
	if _, err := wal.Open(dir, small); !errors.Is(err, wal.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	check(t, l.Close())
	check(t, l.Close())
	check(t, r.Close())
	check(t, r.Close())
	_, err1 := l.Append(t.Context(), nil)
	_, err2 := l.AppendBatch(t.Context(), [][]byte{nil})
	_, err3 := l.AppendAsync(nil).Wait(t.Context())
	_, err4 := l.Reader(0)
	_, err5 := r.Next()
	_, err6 := r.Follow(t.Context())
	for i, err := range []error{err1, err2, err3, err4, err5, err6, l.Sync(), l.TruncateBefore(1)} {
		if !errors.Is(err, wal.ErrClosed) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestSyncEvery(t *testing.T) {
	for _, level := range []durability.Level{durability.Kill, durability.None} {
		l := open(t, t.TempDir(), wal.Options{Level: level, SyncEvery: 2 * time.Millisecond, SegmentSize: 64 << 10})
		add(t, l, "a")
		for start := time.Now(); l.Stats().Syncs == 0; time.Sleep(time.Millisecond) {
			if time.Since(start) > 2*time.Minute {
				t.Fatal("no sync")
			}
		}
		n := l.Stats().Syncs
		time.Sleep(10 * time.Millisecond)
		if now := l.Stats().Syncs; now != n {
			t.Errorf("%v: %d syncs of nothing", level, now-n)
		}
	}
}

// Below level Power nothing is synced, and at None nothing is written, unless
// requested.
func TestLevels(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill, durability.None} {
		l := open(t, t.TempDir(), wal.Options{Level: level, SegmentSize: 1 << 20, Sync: wal.SyncFdatasync})
		for range 10 {
			add(t, l, strings.Repeat("x", 1000))
		}
		var want wal.Stats
		switch level {
		case durability.Power:
			want.Flushes, want.Syncs = 10, 10
		case durability.Kill:
			want.Flushes = 10
		}
		if s := l.Stats(); s.Flushes != want.Flushes || s.Syncs != want.Syncs {
			t.Errorf("%v: %+v", level, s)
		}
		check(t, l.Sync())
		check(t, l.Sync())
		switch level {
		case durability.Kill:
			want.Syncs = 1
		case durability.None:
			want.Flushes, want.Syncs = 1, 1
		}
		if s := l.Stats(); s.Flushes != want.Flushes || s.Syncs != want.Syncs {
			t.Errorf("%v: after Sync: %+v", level, s)
		}
		if level == durability.None {
			for range 70 {
				add(t, l, strings.Repeat("x", 1000))
			}
			if s := l.Stats(); s.Flushes != 2 || s.Syncs != 1 {
				t.Errorf("%v: after 70 KiB: %+v", level, s)
			}
		}
	}
}

func TestSyncWaitsForAsync(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill, durability.None} {
		l := open(t, t.TempDir(), wal.Options{Level: level, SegmentSize: 1 << 20, Sync: wal.SyncFdatasync})
		for i := range 100 {
			l.AppendAsync([]byte("x"))
			if i%10 == 0 {
				check(t, l.Sync())
				if s := l.Stats(); s.Records != uint64(i+1) {
					t.Fatalf("%v: %d records after Sync, want %d", level, s.Records, i+1)
				}
			}
		}
		check(t, l.Close())
		if s := l.Stats(); s.Records != 100 {
			t.Errorf("%v: %d records after Close", level, s.Records)
		}
	}
}

func TestReader(t *testing.T) {
	l := open(t, t.TempDir(), small)
	r, err := l.Reader(0)
	check(t, err)
	defer r.Close()
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	for i := range 200 {
		rec := strings.Repeat("r", i*10)
		pos := add(t, l, rec)
		got, err := r.Next()
		if err != nil || got.Position != pos || string(got.Data) != rec {
			t.Fatalf("%d: %d, %d bytes, %v", i, got.Position, len(got.Data), err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatal(err)
		}
	}
	// From every position on.
	for from := wal.Position(1); from <= 201; from++ {
		r, err := l.Reader(from)
		check(t, err)
		got, err := r.Next()
		if from == 201 {
			if err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
		} else if err != nil || got.Position != from || len(got.Data) != int(from-1)*10 {
			t.Errorf("from %d: %d, %d bytes, %v", from, got.Position, len(got.Data), err)
		}
		r.Close()
	}
}

func TestTruncate(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, small)
	for i := range 300 {
		add(t, l, fmt.Sprint(i+1)+strings.Repeat("t", 1000))
	}
	before := l.Stats().Segments
	if before < 4 {
		t.Fatalf("%d segments", before)
	}
	early, err := l.Reader(1)
	check(t, err)
	defer early.Close()
	check(t, l.TruncateBefore(250))
	if now := l.Stats().Segments; now >= before {
		t.Errorf("%d segments before, %d after", before, now)
	}
	if first, next := l.Bounds(); first != 250 || next != 301 {
		t.Errorf("bounds %d, %d", first, next)
	}
	if _, err := l.Reader(249); !errors.Is(err, wal.ErrTruncated) {
		t.Error(err)
	}
	if got := read(t, l, 0); len(got) != 51 || !strings.HasPrefix(got[0], "250t") {
		t.Errorf("%d records", len(got))
	}
	// A Reader that has the file open may read to its end.
	n := 0
	for {
		rec, err := early.Next()
		if err != nil {
			if !errors.Is(err, wal.ErrTruncated) {
				t.Error(err)
			}
			if _, again := early.Next(); again != err {
				t.Errorf("again: %v", again)
			}
			break
		}
		n++
		if rec.Position != wal.Position(n) || !strings.HasPrefix(string(rec.Data), fmt.Sprint(n)+"t") {
			t.Fatalf("position %d is %.20q, want %d", rec.Position, rec.Data, n)
		}
	}
	if n < 10 || n >= 250 {
		t.Errorf("it read %d records", n)
	}
	check(t, l.TruncateBefore(301))
	same(t, read(t, l, 0), nil)
	add(t, l, "new")
	check(t, l.Close())
	l = open(t, dir, small)
	if first, next := l.Bounds(); first != 301 || next != 302 {
		t.Errorf("after reopening: bounds %d, %d", first, next)
	}
	same(t, read(t, l, 0), []string{"new"})
}
