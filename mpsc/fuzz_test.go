package mpsc

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// FuzzModel runs a sequence of operations on a queue and on a model made of
// slices, with waiting producers and a waiting consumer. After each operation
// all goroutines come to rest; then queue and model must agree.
func FuzzModel(f *testing.F) {
	f.Add(byte(1), []byte{})
	f.Add(byte(2), []byte("\x00\x00\x00\x00\x06\x06\x06\x06"))                 // push 4, 2 of which wait; pop all
	f.Add(byte(3), []byte("\x00\x00\x00\x00\x00\x0c\x06\x04\x06\x06"))         // cancel a waiting producer
	f.Add(byte(1), []byte("\x06\x00\x06\x05\x00\x06\x02\x00\x00\x03\x06\x06")) // the consumer waits
	f.Add(byte(5), []byte("\x00\x00\x00\x0f\x00\x00\x00\x00\x17\x01\x03\x07")) // batches
	f.Add(byte(2), []byte("\x06\x03\x00\x06"))                                 // close while the consumer waits
	f.Fuzz(func(t *testing.T, capacity byte, ops []byte) {
		if len(ops) > 200 {
			t.Skip("long sequences find nothing that short ones do not")
		}
		synctest.Test(t, func(t *testing.T) {
			m := &model{t: t, q: New[int](int(capacity%9) + 1)}
			for i, op := range ops {
				m.step(op)
				synctest.Wait()
				m.check(i, op)
			}
			m.q.Close()
			m.closed = true
			m.settle()
			synctest.Wait()
			m.check(len(ops), 0)
			for _, want := range m.values {
				if v, err := m.q.Pop(t.Context()); v != want || err != nil {
					t.Fatalf("draining: got %d, %v, want %d", v, err, want)
				}
			}
			if _, err := m.q.Pop(t.Context()); err != ErrClosed && m.consumer == nil {
				t.Fatalf("drained: got %v, want ErrClosed", err)
			}
		})
	})
}

// A call is an operation that may wait.
type call struct {
	value     int // pushed
	cancel    context.CancelFunc
	want, got []int // popped
	wantErr   error
	err       error
	wantDone  bool
	done      bool
}

type model struct {
	t        *testing.T
	q        *Queue[int]
	pushed   int
	closed   bool
	values   []int
	waiting  []*call // producers, in order
	consumer *call   // if it waits
	calls    []*call // all that have waited or might have
}

func (m *model) step(op byte) {
	arg := int(op >> 3)
	switch op & 7 {
	case 0, 1: // Push
		ctx, cancel := context.WithCancel(m.t.Context())
		c := &call{value: m.pushed, cancel: cancel}
		m.pushed++
		m.calls = append(m.calls, c)
		m.waiting = append(m.waiting, c)
		go func() { c.err = m.q.Push(ctx, c.value); c.done = true }()
	case 2: // TryPush
		want := error(nil)
		switch {
		case m.closed:
			want = ErrClosed
		case len(m.values) == m.q.Cap():
			want = ErrFull
		default:
			m.values = append(m.values, m.pushed)
		}
		if err := m.q.TryPush(m.pushed); err != want {
			m.t.Fatalf("TryPush: %v, want %v", err, want)
		}
		m.pushed++
	case 3: // Close, rarely
		if arg%4 == 0 {
			m.q.Close()
			m.closed = true
		}
	case 4: // cancel a waiting producer
		if len(m.waiting) > 0 {
			i := arg % len(m.waiting)
			c := m.waiting[i]
			c.cancel()
			c.wantErr, c.wantDone = context.Canceled, true
			m.waiting = slices.Delete(m.waiting, i, i+1)
		}
	case 5: // TryPop, or cancel the waiting consumer
		if c := m.consumer; c != nil {
			c.cancel()
			c.wantErr, c.wantDone = context.Canceled, true
			m.consumer = nil
			return
		}
		v, ok := m.q.TryPop()
		if ok != (len(m.values) > 0) || ok && v != m.values[0] {
			m.t.Fatalf("TryPop: %d, %t with %v", v, ok, m.values)
		}
		if ok {
			m.values = m.values[1:]
		}
	case 6, 7: // Pop, PopBatch
		if m.consumer != nil {
			return
		}
		ctx, cancel := context.WithCancel(m.t.Context())
		dst := make([]int, 1)
		if op&7 == 7 {
			dst = make([]int, arg+1)
		}
		c := &call{want: make([]int, 0, len(dst)), cancel: cancel}
		m.calls = append(m.calls, c)
		m.consumer = c
		// At once, so that no producer that it admits is part of the batch.
		n := min(len(dst), len(m.values))
		c.want = append(c.want, m.values[:n]...)
		m.values = m.values[n:]
		if n > 0 {
			c.wantDone, m.consumer = true, nil
		}
		go func() {
			n := 1
			if op&7 == 7 {
				n, c.err = m.q.PopBatch(ctx, dst, 0)
			} else if dst[0], c.err = m.q.Pop(ctx); c.err != nil {
				n = 0
			}
			c.got, c.done = dst[:n], true
		}()
	}
	m.settle()
}

// settle admits producers, and ends the calls that no longer need to wait.
func (m *model) settle() {
	if m.closed {
		for _, c := range m.waiting {
			c.wantErr, c.wantDone = ErrClosed, true
		}
		m.waiting = nil
	}
	for len(m.waiting) > 0 && len(m.values) < m.q.Cap() {
		c := m.waiting[0]
		c.wantDone = true
		m.values = append(m.values, c.value)
		m.waiting = m.waiting[1:]
	}
	if c := m.consumer; c != nil {
		if len(m.values) > 0 { // a value came, which ends the wait
			c.want, c.wantDone = m.values[:1:1], true
			m.values, m.consumer = m.values[1:], nil
		} else if m.closed {
			c.wantErr, c.wantDone, m.consumer = ErrClosed, true, nil
		}
	}
}

func (m *model) check(i int, op byte) {
	m.t.Helper()
	if m.q.Len() != len(m.values) {
		m.t.Fatalf("operation %d (%#x): Len() = %d, want %d", i, op, m.q.Len(), len(m.values))
	}
	for _, c := range m.calls {
		if c.done != c.wantDone || c.done && !errors.Is(c.err, c.wantErr) {
			m.t.Fatalf("operation %d (%#x): value %d: done %t with %v, want %t with %v", i, op, c.value, c.done, c.err, c.wantDone, c.wantErr)
		}
		if c.done && !slices.Equal(c.got, c.want) {
			m.t.Fatalf("operation %d (%#x): got %v, want %v", i, op, c.got, c.want)
		}
	}
	m.calls = slices.DeleteFunc(m.calls, func(c *call) bool {
		if c.done {
			c.cancel()
		}
		return c.done
	})
}
