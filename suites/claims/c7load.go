package claims

import (
	"container/heap"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"time"
)

// The load of C7.
const (
	c7Every  = 100 * time.Microsecond // between arrivals, on average: 10,000 a second
	c7Holds  = 100 * time.Millisecond // a connection its descriptor, on average
	c7Bursts = 100 * time.Millisecond // between bursts of other users, on average
	c7Burst  = 300                    // the most descriptors of a burst
	c7Lasts  = 20 * time.Millisecond  // a burst
)

// A c7Held is a descriptor in use until a time, by a connection or by another user.
type c7Held struct {
	until time.Duration // since the beginning
	conn  connection
	other *os.File
}

type c7Ends []c7Held

func (e c7Ends) Len() int           { return len(e) }
func (e c7Ends) Less(i, j int) bool { return e[i].until < e[j].until }
func (e c7Ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *c7Ends) Push(x any)        { *e = append(*e, x.(c7Held)) }
func (e *c7Ends) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// A c7Load is connections that come at random times and end after random times, and bursts
// of other users that take descriptors in between.
type c7Load struct {
	rng    *rand.Rand
	next   time.Duration // arrival
	held   c7Ends
	others *c7Others // nil: none
	taken  func()    // called once a connection has its descriptor; nil: nothing
}

// c7Others are other users of descriptors in the process. They open a burst of files now and
// then.
type c7Others struct {
	rng           *rand.Rand
	next          time.Duration // burst
	asked, failed int
}

func newC7Load(rng *rand.Rand) *c7Load {
	l := &c7Load{rng: rng}
	l.next = l.after(c7Every)
	return l
}

func newC7Others(rng *rand.Rand) *c7Others {
	o := &c7Others{rng: rand.New(rand.NewPCG(rng.Uint64(), 1))}
	o.next = time.Duration(o.rng.ExpFloat64() * float64(c7Bursts))
	return o
}

func (l *c7Load) after(mean time.Duration) time.Duration {
	return time.Duration(l.rng.ExpFloat64() * float64(mean))
}

// fill begins with as many connections as are held on average. What is left of a holding
// time is distributed as a whole one (exponentially). It returns how many failed.
func (l *c7Load) fill(d dealer) (failed int, err error) {
	for range c7InUse {
		ok, err := l.take(d, 0)
		if err != nil {
			return failed, err
		}
		if !ok {
			failed++
		}
	}
	return failed, nil
}

// arrive is the next connection, which gets a descriptor and reads through it. ok is false
// if it met the limit on descriptors.
func (l *c7Load) arrive(d dealer) (ok bool, err error) {
	at := l.next
	l.next += l.after(c7Every)
	return l.take(d, at)
}

func (l *c7Load) take(d dealer, at time.Duration) (ok bool, err error) {
	until := at + l.after(c7Holds)
	c, err := d.take()
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if l.taken != nil {
		l.taken()
	}
	heap.Push(&l.held, c7Held{until: until, conn: c})
	var one [1]byte
	if err := c.read(one[:]); err != nil && err != io.EOF {
		return false, err
	}
	return true, nil
}

// endUntil makes everything happen that is due before a time but arrivals.
func (l *c7Load) endUntil(t time.Duration, d dealer) error {
	for {
		end, burst := t, t
		if len(l.held) > 0 {
			end = l.held[0].until
		}
		if l.others != nil {
			burst = l.others.next
		}
		switch {
		case end < t && end <= burst:
			if err := l.end(d); err != nil {
				return err
			}
		case burst < t:
			if err := l.burst(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (l *c7Load) end(d dealer) error {
	h := heap.Pop(&l.held).(c7Held)
	if h.other != nil {
		return h.other.Close()
	}
	return d.give(h.conn)
}

func (l *c7Load) endAll(d dealer) (err error) {
	for len(l.held) > 0 {
		err = errors.Join(err, l.end(d))
	}
	return err
}

func (l *c7Load) burst() error {
	o := l.others
	for range 1 + o.rng.IntN(c7Burst) {
		o.asked++
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			o.failed++
			continue
		}
		if err != nil {
			return err
		}
		heap.Push(&l.held, c7Held{until: o.next + c7Lasts, other: f})
	}
	o.next += time.Duration(o.rng.ExpFloat64() * float64(c7Bursts))
	return nil
}
