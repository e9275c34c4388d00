package wal_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/wal"
)

// A stamp begins each record of a storm: its appender, and its number among the
// records of that appender.
type stamp struct{ appender, n uint32 }

func (s stamp) record(buf []byte, size int) []byte {
	buf = binary.LittleEndian.AppendUint32(buf[:0], s.appender)
	buf = binary.LittleEndian.AppendUint32(buf, s.n)
	for i := range size {
		buf = append(buf, byte(uint32(i)+s.appender+s.n))
	}
	return buf
}

func stampOf(t testing.TB, rec []byte) stamp {
	if len(rec) < 8 {
		t.Fatalf("a record of %d bytes", len(rec))
	}
	s := stamp{binary.LittleEndian.Uint32(rec), binary.LittleEndian.Uint32(rec[4:])}
	if string(rec) != string(s.record(nil, len(rec)-8)) {
		t.Fatalf("record %v is not as it was written", s)
	}
	return s
}

// A fate is what an appender knows of a record.
type fate int

const (
	unknown fate = iota
	never        // an error without ErrUnsure
	maybe        // ErrUnsure
	there        // acknowledged
)

// A ledger has the promised records and their positions.
type ledger struct {
	mu    sync.Mutex
	fates map[stamp]fate
	at    map[stamp]wal.Position
}

func (l *ledger) note(s stamp, pos wal.Position, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.fates[s], l.at[s] = there, pos
	case errors.Is(err, wal.ErrUnsure):
		l.fates[s] = maybe
	default:
		l.fates[s] = never
	}
}

// holds compares the records of a log with the ledger: each acknowledged record
// is there once, at its position, no refused one is, and those of each appender
// are in order.
func (l *ledger) holds(t *testing.T, recs map[wal.Position]stamp, next wal.Position) {
	t.Helper()
	seen := map[stamp]bool{}
	last := map[uint32]uint32{}
	for pos := wal.Position(1); pos < next; pos++ {
		s, ok := recs[pos]
		switch {
		case !ok:
			t.Fatalf("position %d is missing", pos)
		case seen[s]:
			t.Fatalf("%v is there twice", s)
		case l.fates[s] == never || l.fates[s] == unknown:
			t.Fatalf("%v is there, and was refused", s)
		case l.fates[s] == there && l.at[s] != pos:
			t.Fatalf("%v is at %d, and was said to be at %d", s, pos, l.at[s])
		case last[s.appender] >= s.n:
			t.Fatalf("%v is behind number %d", s, last[s.appender])
		}
		seen[s], last[s.appender] = true, s.n
	}
	for s, f := range l.fates {
		if f == there && !seen[s] {
			t.Errorf("%v was acknowledged, and is not there", s)
		}
	}
}

func TestStorm(t *testing.T) {
	for _, o := range []wal.Options{
		{SegmentSize: 64 << 10, Sync: wal.SyncFdatasync},
		{SegmentSize: 64 << 10, Sync: wal.SyncDsync, Queue: 7, MaxBatch: 4 << 10},
		{SegmentSize: 256 << 10, Sync: wal.SyncDirect, MaxDelay: 100 * time.Microsecond},
		{SegmentSize: 64 << 10, Level: durability.Kill, SyncEvery: time.Millisecond},
		{SegmentSize: 64 << 10, Level: durability.None, SyncEvery: time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%v/%v/queue=%d", o.Level, o.Sync, o.Queue), func(t *testing.T) {
			t.Parallel()
			storm(t, o, 64, 30)
		})
	}
}

// storm appends in every way, with contexts that are soon done, beside Readers
// that follow and a goroutine that syncs. It closes the log meanwhile, and
// checks the records.
func storm(t *testing.T, o wal.Options, appenders, each int) {
	dir := t.TempDir()
	l, err := wal.Open(dir, o)
	if err != nil && o.Sync != wal.SyncFdatasync {
		t.Skip(err)
	}
	check(t, err)
	book := &ledger{fates: map[stamp]fate{}, at: map[stamp]wal.Position{}}
	var writing, others sync.WaitGroup
	for a := range appenders {
		writing.Go(func() { appendStorm(t, l, book, uint32(a), each) })
	}
	stop, cancel := context.WithCancel(t.Context())
	defer cancel()
	followed := make([]map[wal.Position]stamp, 2)
	for i := range followed {
		followed[i] = map[wal.Position]stamp{}
		others.Go(func() { follow(t, stop, l, followed[i]) })
	}
	others.Go(func() {
		for stop.Err() == nil {
			if err := l.Sync(); err != nil && !errors.Is(err, wal.ErrClosed) {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	closed := make(chan error, 1)
	time.AfterFunc(time.Duration(rand.IntN(300))*time.Millisecond, func() { closed <- l.Close() })
	writing.Wait()
	check(t, <-closed)
	cancel()
	others.Wait()

	l = open(t, dir, o)
	if rep := l.Recovered(); !rep.Clean {
		t.Errorf("%+v", rep)
	}
	recs := map[wal.Position]stamp{}
	for rec, err := range l.All(0) {
		check(t, err)
		recs[rec.Position] = stampOf(t, rec.Data)
	}
	_, next := l.Bounds()
	book.holds(t, recs, next)
	for i, f := range followed {
		for pos, s := range f {
			if recs[pos] != s {
				t.Errorf("reader %d saw %v at %d, where %v is", i, s, pos, recs[pos])
			}
		}
	}
	t.Logf("%d of %d records", next-1, appenders*each)
}

// appendStorm appends until the log is closed, or that many records.
func appendStorm(t *testing.T, l *wal.Log, book *ledger, appender uint32, each int) {
	rng := rand.New(rand.NewPCG(uint64(appender), 1))
	type sent struct {
		stamp
		*wal.Pending
	}
	var pending []sent
	var buf []byte
	for n := uint32(1); n <= uint32(each); {
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if rng.IntN(4) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(1000))*time.Microsecond)
		}
		s := stamp{appender, n}
		size := rng.IntN(2000)
		var err error
		switch rng.IntN(4) {
		case 0:
			p := l.AppendAsync(s.record(buf, size))
			pending = append(pending, sent{s, p})
			n++
		case 1:
			count := uint32(1 + rng.IntN(4))
			var recs [][]byte
			for i := range count {
				recs = append(recs, stamp{appender, n + i}.record(nil, size))
			}
			var pos wal.Position
			pos, err = l.AppendBatch(ctx, recs)
			for i := range count {
				book.note(stamp{appender, n + i}, pos+wal.Position(i), err)
			}
			n += count
		default:
			buf = s.record(buf, size)
			var pos wal.Position
			pos, err = l.Append(ctx, buf)
			clear(buf) // the caller may change it again
			book.note(s, pos, err)
			n++
		}
		cancel()
		if err != nil && !errors.Is(err, wal.ErrClosed) && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	for _, p := range pending {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		pos, err := p.Wait(ctx)
		if errors.Is(err, context.Canceled) {
			if !errors.Is(err, wal.ErrUnsure) {
				t.Error(err)
			}
			pos, err = p.Wait(t.Context())
		}
		book.note(p.stamp, pos, err)
	}
}

// follow reads from the first record on, until stop is done or the log is
// closed.
func follow(t *testing.T, stop context.Context, l *wal.Log, into map[wal.Position]stamp) {
	r, err := l.Reader(0)
	if errors.Is(err, wal.ErrClosed) {
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	next := wal.Position(1)
	for {
		rec, err := r.Follow(stop)
		if errors.Is(err, wal.ErrClosed) || errors.Is(err, context.Canceled) {
			return
		}
		if err != nil || rec.Position != next {
			t.Errorf("followed to %d: %d, %v", next, rec.Position, err)
			return
		}
		into[rec.Position] = stampOf(t, rec.Data)
		next++
	}
}

// A record, Close and its context each wake a Reader that follows.
func TestFollow(t *testing.T) {
	for _, level := range []durability.Level{durability.Power, durability.Kill, durability.None} {
		l := open(t, t.TempDir(), wal.Options{Level: level, SegmentSize: 64 << 10, Sync: wal.SyncFdatasync})
		r, err := l.Reader(0)
		check(t, err)
		for i := range 100 {
			go func() {
				time.Sleep(time.Duration(i%3) * 100 * time.Microsecond)
				l.Append(context.Background(), []byte(strings.Repeat("f", i*30)))
			}()
			rec, err := r.Follow(t.Context())
			if err != nil || rec.Position != wal.Position(i+1) || len(rec.Data) != i*30 {
				t.Fatalf("%v: %d: %d, %d bytes, %v", level, i, rec.Position, len(rec.Data), err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := r.Follow(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.AfterFunc(5*time.Millisecond, func() { l.Close() })
		if _, err := r.Follow(t.Context()); !errors.Is(err, wal.ErrClosed) {
			t.Error(err)
		}
		if _, err := r.Next(); err != io.EOF && !errors.Is(err, wal.ErrClosed) {
			t.Error(err)
		}
		check(t, r.Close())
	}
}

// A second Wait is noticed, unless the memory of the Pending is already reused.
func TestWaitTwice(t *testing.T) {
	l := open(t, t.TempDir(), small)
	p := l.AppendAsync([]byte("once"))
	if pos, err := p.Wait(t.Context()); pos != 1 || err != nil {
		t.Fatal(pos, err)
	}
	if pos, err := p.Wait(t.Context()); pos != 0 || err == nil {
		t.Errorf("%d, %v", pos, err)
	}
}
