package logstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stele-go/stele/wal"
)

// A memLog keeps its records in memory, as a service beside the store would: it outlives
// the store, which opens it again as a handle.
type memLog struct {
	mu      sync.Mutex
	id      [16]byte
	first   uint64
	records [][]byte
	reads   int // of records, since it was made

	// before, if it is set, is called at the beginning of each call, and may end it.
	before func(ctx context.Context, call string) error
}

func newMemLog() *memLog { return &memLog{id: [16]byte{9}, first: 1} }

// instead puts the log in place of that in the directory.
func (m *memLog) instead(t testing.TB) func(log) log {
	return func(l log) log {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		return &memLogHandle{log: m}
	}
}

// fail sets what is called before each call.
func (m *memLog) fail(before func(ctx context.Context, call string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// A memLogHandle is a memLog that a store has open.
type memLogHandle struct {
	log    *memLog
	closed bool // log.mu guards it
}

// begin begins a call with mu locked, unless it returns an error.
func (h *memLogHandle) begin(ctx context.Context, call string) error {
	h.log.mu.Lock()
	err := context.Cause(ctx)
	if before := h.log.before; err == nil && before != nil {
		err = before(ctx, call)
	}
	if h.closed {
		err = ErrClosed
	}
	if err != nil {
		h.log.mu.Unlock()
	}
	return err
}

func (h *memLogHandle) ID() [16]byte { return h.log.id }

func (h *memLogHandle) Append(ctx context.Context, rec []byte) (uint64, error) {
	if err := h.begin(ctx, "append"); err != nil {
		return 0, err
	}
	defer h.log.mu.Unlock()
	h.log.records = append(h.log.records, bytes.Clone(rec))
	return h.log.next() - 1, nil
}

func (h *memLogHandle) Sync(ctx context.Context) error {
	err := h.begin(ctx, "sync")
	if err == nil {
		h.log.mu.Unlock()
	}
	return err
}

func (m *memLog) next() uint64 { return m.first + uint64(len(m.records)) }

func (h *memLogHandle) Bounds() (first, next uint64) {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return h.log.first, h.log.next()
}

func (h *memLogHandle) Records(ctx context.Context, from uint64) iter.Seq2[logRecord, error] {
	return func(yield func(logRecord, error) bool) {
		var data []byte
		for ; ; from++ {
			if err := h.begin(ctx, "read"); err != nil {
				yield(logRecord{}, err)
				return
			}
			first, next := h.log.first, h.log.next()
			if from >= first && from < next {
				clear(data) // it is valid until the next step only
				data = append(data[:0], h.log.records[from-first]...)
				h.log.reads++
			}
			h.log.mu.Unlock()
			if from < first {
				yield(logRecord{}, fmt.Errorf("position %d: the log begins at %d", from, first))
				return
			}
			if from >= next || !yield(logRecord{from, data}, nil) {
				return
			}
		}
	}
}

func (h *memLogHandle) TruncateBefore(ctx context.Context, pos uint64) error {
	if err := h.begin(ctx, "truncate"); err != nil {
		return err
	}
	defer h.log.mu.Unlock()
	if pos > h.log.first {
		n := min(pos-h.log.first, uint64(len(h.log.records)))
		h.log.records, h.log.first = h.log.records[n:], h.log.first+n
	}
	return nil
}

func (h *memLogHandle) Stats() logStats { return logStats{} }

func (h *memLogHandle) Close() error {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	h.closed = true
	return nil
}

// A store whose log and segments are both elsewhere is opened again, deletes, compacts,
// remembers keys and sources, and makes a snapshot that is a store in a directory.
func TestStoreWithAnotherLog(t *testing.T) {
	o, far, mem := anyTime(), newFarPlace(), newMemLog()
	o.wrapPlace, o.wrapLog = far.instead(t), mem.instead(t)
	dir := t.TempDir()
	s := openTest(t, dir, o)
	want := map[string]int{}
	check := func(when string, s *Store) {
		t.Helper()
		for tenant, n := range want {
			if got, _ := yielded(t, s.Query(t.Context(), Query{Tenant: tenant}), 0); len(got) != n {
				t.Fatalf("%s: tenant %q has %d entries; want %d", when, tenant, len(got), n)
			}
		}
		if r := s.Report(); len(r.Events) > 0 {
			t.Errorf("%s: %v", when, r)
		}
	}
	keyed := AppendOptions{Tenant: "b", Key: [16]byte{7}}
	for round := range 4 {
		for i := range 50 {
			tenant := []string{"", "b"}[i%2]
			_, err := s.AppendWith(t.Context(), one(MustLabels("app", fmt.Sprint(i%5)), int64(i), "x"), AppendOptions{Tenant: tenant})
			mustDo(t, err)
			want[tenant]++
		}
		a, err := s.AppendWith(t.Context(), one(MustLabels("app", "once"), 1, "x"), keyed)
		if mustDo(t, err); round == 0 {
			want["b"]++
		} else if a.Known != 1 || a.Kept != 0 {
			t.Errorf("round %d: the batch was accepted again", round)
		}
		if round%2 == 1 {
			mustDo(t, s.Compact(t.Context()))
		}
		if round == 2 {
			mustDelete(t, s, Deletion{Selector: app("2")})
			want[""] -= 5 * (round + 1)
		}
		check("at once", s)
		mustDo(t, s.Close())
		s = openTest(t, dir, o)
		check("opened again", s)
	}
	first, next := s.log.Bounds()
	if first == 1 || mem.reads == 0 || len(far.objects) != 1 || len(s.Deletions()) != 0 {
		t.Errorf("the log has the positions %d to before %d, and was read %d times; %d segments, pending %v", first, next, mem.reads, len(far.objects), s.Deletions())
	}
	in, err := wal.Inspect(filepath.Join(dir, logDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for rec, err := range in.Records(0) {
		if err != nil || rec.Type == dataRecord {
			t.Fatalf("the log in the directory has %v, %v", rec, err)
		}
	}
	mustAppend(t, s, one(MustLabels("app", "log"), 1, "x"))
	want[""]++
	copied := filepath.Join(t.TempDir(), "copy")
	if _, err := s.Snapshot(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	check("the snapshot", openTest(t, copied, anyTime()))
}

// What a log far away fails with is what a call of the store fails with; a log that is full
// takes no entry and keeps what it has, and one that does not answer ends with the context.
func TestAnotherLogFails(t *testing.T) {
	o, mem := anyTime(), newMemLog()
	o.wrapLog = mem.instead(t)
	dir := t.TempDir()
	s := openTest(t, dir, o)
	mustAppend(t, s, one(MustLabels("app", "a"), 1, "x"))
	wrong := errors.New("of the test")
	failing := func(call string) func(context.Context, string) error {
		return func(_ context.Context, is string) error {
			if is == call {
				return wrong
			}
			return nil
		}
	}
	mem.fail(failing("append"))
	if err := s.Append(t.Context(), one(MustLabels("app", "a"), 2, "x")); !errors.Is(err, wrong) || errors.Is(err, ErrUnsure) {
		t.Errorf("append: %v", err)
	}
	mem.fail(failing("truncate"))
	mustDo(t, s.Seal(t.Context()))
	if err := s.Stats().BackgroundError; !errors.Is(err, wrong) {
		t.Errorf("the error of truncating is %v", err)
	}
	mem.fail(nil)
	mustAppend(t, s, one(MustLabels("app", "a"), 3, "x"))
	mustDo(t, s.Seal(t.Context()))
	if err := s.Stats().BackgroundError; err != nil {
		t.Errorf("mended, and still %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	mem.fail(func(ctx context.Context, call string) error {
		if call == "read" { // of the snapshot
			cancel()
		}
		return context.Cause(ctx)
	})
	if _, err := s.Snapshot(ctx, filepath.Join(t.TempDir(), "copy")); !errors.Is(err, context.Canceled) {
		t.Errorf("a snapshot whose log does not answer: %v", err)
	}
	mem.fail(nil)
	mustDo(t, s.Close())
	s = openTest(t, dir, o)
	if n, err := drain(s); n != 2 || err != nil {
		t.Errorf("%d entries, %v; want 2", n, err)
	}
	mustDo(t, s.Close())
	mem.fail(failing("read"))
	if _, err := Open(dir, o); !errors.Is(err, wrong) {
		t.Errorf("Open with a log that cannot be read: %v", err)
	}
}
