package logstore

import (
	"context"
	"math"
)

// find copies the entries of a candidate that are wanted, as many as there is
// room for.
func (s *sweep) find(w *scratch, c candidate, bound, room int64) (out outcome) {
	x := s.x
	rest, more := candidate{}, false
	if c.memory != nil {
		_, rest, more = x.scanMemory(w, c, bound)
	} else if err := x.scanBlock(w, c, bound, withLines); err != nil {
		out.add(err)
		return out
	}
	picks := w.picks
	if x.limit > 0 {
		// What comes behind so many of the same candidate is not wanted either.
		if len(picks) >= x.limit {
			picks, more = picks[:x.limit], false
		}
	}
	n, size := 0, int64(0)
	for ; n < len(picks); n++ {
		bytes := int64(len(w.line(picks[n]))+len(w.meta(picks[n]))) + foundRowBytes
		if n > 0 && size+bytes > room {
			break
		}
		size += bytes
	}
	if n > 0 {
		out.found = x.copy(w, c, picks[:n], size-int64(n)*foundRowBytes)
	}
	if n < len(picks) {
		rest, more = x.resume(w, c, rest, picks, n), true
	}
	if more {
		out.more = []candidate{rest}
	}
	return out
}

func (x *search) copy(w *scratch, c candidate, picks []pick, size int64) *found {
	f := x.store.reads.founds.get(len(picks), size)
	if c.memory != nil {
		f.mem, f.rank = c.memory.name, c.memory.rank
	} else {
		f.block, f.rank = c.block, c.block.rank
	}
	for _, p := range picks {
		line, meta := w.line(p), w.meta(p)
		r := foundRow{p.time, uint32(p.span), uint32(p.row), uint32(len(f.data)), uint32(len(line)), uint32(len(meta))}
		if c.memory != nil {
			r.span, r.row = w.heads[p.row].pos, w.heads[p.row].off
		}
		f.rows = append(f.rows, r)
		f.data = append(append(f.data, line...), meta...)
	}
	return f
}

// resume returns the candidate that begins with the n-th of picks. behind is
// what is left of one in memory behind them.
func (x *search) resume(w *scratch, c, behind candidate, picks []pick, n int) candidate {
	rest := c
	rest.start = x.key(picks[n].time)
	rest.raw = max(1, int64(float64(c.raw)*float64(len(picks)-n)/float64(len(picks))))
	if c.memory != nil {
		// Entries may be added meanwhile, so where to go on is told by an entry.
		m := *c.memory
		m.last, m.hasLast = w.heads[picks[n-1].row], true
		m.step = behind.memory.step
		if x.backward {
			m.to = picks[n].time + 1
		} else {
			m.from = picks[n].time
		}
		rest.memory = &m
		return rest
	}
	same := 0
	for same < n && picks[n-1-same].time == picks[n].time {
		same++
	}
	rest.skip = same
	if same == n && rest.start == c.start {
		rest.skip += c.skip
	}
	return rest
}

// narrow finds out by times alone which entries the limit leaves, and which
// candidates have them.
func (s *sweep) narrow(yield func(Found, error) bool) error {
	s.job = s.note
	if err := s.finish(yield); err != nil || s.enough {
		return err
	}
	// No worker is at anything, and none begins before there is something to do.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job = s.find // first: workers that sleep may wake at any time
	bound := s.nearest.bound()
	for _, c := range s.kept {
		if c.start <= bound {
			c.end = min(c.end, bound)
			s.push(c)
		}
	}
	s.kept = nil
	return nil
}

// note takes down the times of a candidate's entries.
func (s *sweep) note(w *scratch, c candidate, bound, _ int64) (out outcome) {
	x := s.x
	slice := c
	if c.memory != nil {
		var rest candidate
		var more bool
		if slice, rest, more = x.scanMemory(w, c, bound); more {
			out.more = []candidate{rest}
		}
	} else if err := x.scanBlock(w, c, bound, timesOnly); err != nil {
		out.add(err)
		return out
	}
	if len(w.picks) == 0 {
		return out
	}
	slice.start, slice.end = math.MaxInt64, math.MinInt64
	for _, p := range w.picks {
		k := x.key(p.time)
		slice.start, slice.end = min(slice.start, k), max(slice.end, k)
	}
	out.keys, out.keep = w.picks, &slice
	return out
}

// finish waits until all candidates were read.
func (s *sweep) finish(yield func(Found, error) bool) error {
	for {
		s.mu.Lock()
		for s.err == nil && len(s.bad) == 0 && !s.over() {
			s.await(math.MaxInt64)
		}
		err, bad, over := s.err, s.bad, s.over()
		s.bad = nil
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if !s.pass(bad, yield) || over {
			return nil
		}
	}
}

// pass tells the consumer of damage, and reports whether it wants to go on.
func (s *sweep) pass(bad []error, yield func(Found, error) bool) bool {
	for _, err := range bad {
		if !yield(Found{}, err) {
			s.enough = true
			return false
		}
	}
	return true
}

// emit hands what is found to yield, in order.
func (s *sweep) emit(yield func(Found, error) bool) error {
	m := merge{backward: s.x.backward}
	e := emitter{left: s.x.limit, yield: yield}
	if e.left == 0 {
		e.left = math.MaxInt
	}
	for {
		s.mu.Lock()
		var frontier int64
		for {
			for _, f := range s.ready {
				m.push(f)
			}
			clear(s.ready)
			s.ready = s.ready[:0]
			frontier = s.frontier()
			if s.err != nil || len(s.bad) > 0 || s.over() {
				break
			}
			next := int64(math.MaxInt64)
			if len(m.heap) > 0 {
				next = s.x.key(m.heap[0].head().time)
			}
			if next < frontier {
				break
			}
			s.await(next)
		}
		err, bad := s.err, s.bad
		s.bad = nil
		over := s.over() && len(s.ready) == 0
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if !s.pass(bad, yield) {
			return nil
		}
		for len(m.heap) > 0 && s.x.key(m.heap[0].head().time) < frontier {
			if s.x.ctx.Err() != nil {
				return context.Cause(s.x.ctx)
			}
			if !e.emit(m.heap[0]) {
				s.enough = e.stopped
				return nil
			}
			if empty := m.advance(); empty != nil {
				s.free(empty)
			}
		}
		if over && len(m.heap) == 0 {
			return nil
		}
	}
}

// free gives the memory of what was consumed back.
func (s *sweep) free(f *found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= f.bytes()
	s.x.store.reads.founds.put(f)
	if len(s.queue) > 0 {
		s.work.Signal()
	}
}

// An emitter makes of what was found what the consumer gets.
type emitter struct {
	left    int
	yield   func(Found, error) bool
	stopped bool
	last    Labels // the last metadata: they are often the same again
}

// emit hands over the next of f, and reports whether more is wanted.
func (e *emitter) emit(f *found) bool {
	r := f.head()
	p := f.data[r.off:]
	line, meta := p[:r.line:r.line], p[r.line:r.line+r.meta]
	var err error
	if string(meta) != e.last.enc {
		if e.last, err = parseLabels(string(meta)); err != nil {
			err = f.block.corrupt(err)
		}
	}
	if err != nil {
		e.stopped = !e.yield(Found{}, err)
		return !e.stopped
	}
	if !e.yield(Found{f.name(r).labels, Entry{r.time, line, e.last}}, nil) {
		e.stopped = true
		return false
	}
	e.left--
	return e.left > 0
}
