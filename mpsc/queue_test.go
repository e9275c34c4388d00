package mpsc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// The capacity is the one given to New on every lap, even if the ring is
// larger.
func TestCapacity(t *testing.T) {
	for _, capacity := range []int{1, 2, 3, 5, 64, 100} {
		q := New[int](capacity)
		if q.Cap() != capacity {
			t.Errorf("New(%d).Cap() = %d", capacity, q.Cap())
		}
		pushed, popped := 0, 0
		for lap := range 5 {
			for i := range capacity {
				if q.Len() != i {
					t.Fatalf("capacity %d, lap %d: Len() = %d with %d values", capacity, lap, q.Len(), i)
				}
				if err := q.TryPush(pushed); err != nil {
					t.Fatalf("capacity %d, lap %d: value %d: %v", capacity, lap, i, err)
				}
				pushed++
			}
			if err := q.TryPush(-1); err != ErrFull {
				t.Fatalf("capacity %d, lap %d: pushing to the full queue: %v, want ErrFull", capacity, lap, err)
			}
			for range capacity {
				if v, ok := q.TryPop(); !ok || v != popped {
					t.Fatalf("capacity %d, lap %d: got %d, %t, want %d", capacity, lap, v, ok, popped)
				}
				popped++
			}
			if v, ok := q.TryPop(); ok {
				t.Fatalf("capacity %d, lap %d: the empty queue gave %d", capacity, lap, v)
			}
		}
	}
}

func TestNewPanics(t *testing.T) {
	for _, capacity := range []int64{0, -1, 1<<31 + 1} {
		if int64(int(capacity)) != capacity {
			continue // an int is shorter here
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New(%d) does not panic", capacity)
				}
			}()
			New[struct{}](int(capacity))
		}()
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("shutting down")
	done, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	timedOut, stop := context.WithTimeout(t.Context(), -1)
	defer stop()
	dst := make([]int, 4)

	type state struct {
		name   string
		pushed int
		closed bool
	}
	var (
		empty  = state{"empty", 0, false}
		some   = state{"some", 1, false}
		full   = state{"full", 2, false}
		ended  = state{"closed, empty", 0, true}
		rest   = state{"closed, not empty", 1, true}
		closed = state{"closed, full", 2, true}
	)
	push := func(ctx context.Context) func(*Queue[int]) error {
		return func(q *Queue[int]) error { return q.Push(ctx, 9) }
	}
	tryPush := func(q *Queue[int]) error { return q.TryPush(9) }
	pop := func(ctx context.Context) func(*Queue[int]) error {
		return func(q *Queue[int]) error { _, err := q.Pop(ctx); return err }
	}
	popBatch := func(ctx context.Context) func(*Queue[int]) error {
		return func(q *Queue[int]) error { _, err := q.PopBatch(ctx, dst, 0); return err }
	}
	for _, c := range []struct {
		op    string
		do    func(*Queue[int]) error
		state state
		want  []error // errors that the error is; none: nil
		left  int     // values in the queue afterwards
	}{
		{"Push", push(t.Context()), empty, nil, 1},
		{"Push", push(t.Context()), some, nil, 2},
		{"Push", push(t.Context()), ended, []error{ErrClosed}, 0},
		{"Push", push(t.Context()), rest, []error{ErrClosed}, 1},
		{"Push", push(t.Context()), closed, []error{ErrClosed}, 2},
		{"Push, cancelled", push(done), empty, []error{context.Canceled, cause}, 0},
		{"Push, cancelled", push(done), full, []error{context.Canceled, cause}, 2},
		{"Push, timed out", push(timedOut), empty, []error{context.DeadlineExceeded}, 0},
		{"TryPush", tryPush, some, nil, 2},
		{"TryPush", tryPush, full, []error{ErrFull}, 2},
		{"TryPush", tryPush, rest, []error{ErrClosed}, 1},
		{"TryPush", tryPush, closed, []error{ErrClosed}, 2},
		{"Pop", pop(t.Context()), some, nil, 0},
		{"Pop", pop(t.Context()), rest, nil, 0},
		{"Pop", pop(t.Context()), ended, []error{ErrClosed}, 0},
		{"Pop, cancelled", pop(done), empty, []error{context.Canceled, cause}, 0},
		{"Pop, cancelled", pop(done), full, []error{context.Canceled, cause}, 2},
		{"Pop, timed out", pop(timedOut), full, []error{context.DeadlineExceeded}, 2},
		{"PopBatch", popBatch(t.Context()), full, nil, 0},
		{"PopBatch", popBatch(t.Context()), closed, nil, 0},
		{"PopBatch", popBatch(t.Context()), ended, []error{ErrClosed}, 0},
		{"PopBatch, cancelled", popBatch(done), full, []error{context.Canceled, cause}, 2},
	} {
		q := New[int](2)
		for range c.state.pushed {
			if err := q.TryPush(1); err != nil {
				t.Fatal(err)
			}
		}
		if c.state.closed {
			q.Close()
			q.Close() // does nothing
		}
		err := c.do(q)
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%s, %s: %v, want %v", c.op, c.state.name, err, c.want)
		}
		for _, want := range c.want {
			if !errors.Is(err, want) {
				t.Errorf("%s, %s: %v is not %v", c.op, c.state.name, err, want)
			}
		}
		if q.Len() != c.left {
			t.Errorf("%s, %s: %d values left, want %d", c.op, c.state.name, q.Len(), c.left)
		}
	}
}

// A batch that wraps around the end of the ring comes out in order, and is no
// longer than dst.
func TestPopBatch(t *testing.T) {
	ctx := t.Context()
	q := New[int](8)
	next, want := 0, 0
	for _, c := range []struct{ push, dst, get int }{
		{5, 8, 5}, // the next slot is 5
		{8, 6, 6},
		{2, 3, 3},
		{1, 0, 0},
		{6, 100, 8},
	} {
		for range c.push {
			if err := q.TryPush(next); err != nil {
				t.Fatal(err)
			}
			next++
		}
		dst := make([]int, c.dst)
		n, err := q.PopBatch(ctx, dst, 0)
		if err != nil || n != c.get {
			t.Fatalf("%+v: got %d, %v", c, n, err)
		}
		for _, v := range dst[:n] {
			if v != want {
				t.Fatalf("%+v: got %v, want them from %d on", c, dst[:n], want)
			}
			want++
		}
	}
}

// The queue keeps no popped value alive.
func TestSlotsAreCleared(t *testing.T) {
	q := New[*int](7) // 8 slots, so that batches wrap around the end
	dst := make([]*int, 3)
	for range 20 {
		for q.TryPush(new(int)) == nil {
		}
		q.TryPop()
		if _, err := q.Pop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for q.Len() > 0 {
			if _, err := q.PopBatch(t.Context(), dst, 0); err != nil {
				t.Fatal(err)
			}
		}
		if i := slices.IndexFunc(q.values, func(p *int) bool { return p != nil }); i >= 0 {
			t.Fatalf("slot %d holds a value that was taken", i)
		}
	}
}

// Marks are the low 32 bits of a position, and remain correct when they wrap
// around.
func TestMarksComeRound(t *testing.T) {
	const from = 1<<32 - 5
	q := New[uint64](4)
	q.tail.Store(from)
	q.head.Store(from)
	q.next = from
	for p := uint64(from - 4); p < from; p++ {
		q.marks[p&q.mask].Store(mark(p))
	}
	for v := range uint64(20) {
		if got, ok := q.TryPop(); ok {
			t.Fatalf("the empty queue gave %d", got)
		}
		if err := q.TryPush(v); err != nil {
			t.Fatal(err)
		}
		if got, ok := q.TryPop(); !ok || got != v {
			t.Fatalf("got %d, %t, want %d", got, ok, v)
		}
	}
}

// Fields written by producers, fields written by the consumer and read-only
// fields are 128 bytes apart.
func TestPadding(t *testing.T) {
	var q Queue[int]
	offsets := []uintptr{
		unsafe.Offsetof(q.ring) + unsafe.Offsetof(q.marks),
		unsafe.Offsetof(q.ring) + unsafe.Offsetof(q.limit),
		unsafe.Offsetof(q.ring) + unsafe.Offsetof(q.next),
		unsafe.Offsetof(q.consumer) + unsafe.Offsetof(q.waiting),
		unsafe.Offsetof(q.consumer) + unsafe.Offsetof(q.wake),
	}
	for i := 1; i < len(offsets); i++ {
		if d := offsets[i] - offsets[i-1]; d < 128 {
			t.Errorf("groups %d and %d are only %d bytes apart", i-1, i, d)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dst := make([]int, 64)
	check := func(name string, f func()) {
		t.Helper()
		if n := testing.AllocsPerRun(2000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}

	q := New[int](64)
	check("TryPush, TryPop", func() { must(q.TryPush(1)); q.TryPop() })
	check("Push, Pop", func() { must(q.Push(ctx, 1)); _, err := q.Pop(ctx); must(err) })
	check("Push, PopBatch", func() { must(q.Push(ctx, 1)); _, err := q.PopBatch(ctx, dst, 0); must(err) })
	check("Push, PopBatch with a linger", func() { must(q.Push(ctx, 1)); _, err := q.PopBatch(ctx, dst, time.Microsecond); must(err) })

	// Waiting producers, and a waiting consumer.
	q = New[int](1)
	for range 4 {
		go func() {
			for q.Push(ctx, 1) == nil {
			}
		}()
	}
	defer q.Close()
	check("Push and Pop that wait", func() {
		for range 10 {
			_, err := q.Pop(ctx)
			must(err)
		}
	})
}
