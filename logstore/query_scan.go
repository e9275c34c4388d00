package logstore

import (
	"context"
	"math"
)

// readEntries copies the matching entries of a candidate, as many as fit into
// limit bytes.
func (s *scan) readEntries(w *reading, c candidate, bound, limit int64) (out outcome) {
	x := s.x
	rest, more := candidate{}, false
	if c.memory != nil {
		var err error
		if _, rest, more, err = x.scanMemory(w, c, bound); err != nil {
			out.add(err)
			return out
		}
	} else if err := x.scanBlock(w, c, bound, withLines); err != nil {
		out.add(err)
		return out
	}
	picks := w.picks
	if x.limit > 0 {
		// Entries beyond the limit within one candidate are beyond it in all.
		if len(picks) >= x.limit {
			picks, more = picks[:x.limit], false
		}
	}
	n, size := 0, int64(0)
	for ; n < len(picks); n++ {
		bytes := int64(len(w.line(picks[n]))+len(w.meta(picks[n]))) + resultRowBytes
		if n > 0 && size+bytes > limit {
			break
		}
		size += bytes
	}
	if n > 0 {
		out.results = x.copyRows(w, c, picks[:n], size-int64(n)*resultRowBytes)
	}
	if n < len(picks) {
		rest, more = x.resume(w, c, rest, picks, n), true
	}
	if more {
		out.more = []candidate{rest}
	}
	return out
}

func (x *search) copyRows(w *reading, c candidate, picks []pick, size int64) *results {
	f := x.store.reads.results.get(len(picks), size)
	if c.memory != nil {
		f.mem, f.rank = c.memory.streamLabels, c.memory.rank
	} else {
		f.block, f.rank = c.block, c.block.rank
	}
	for _, p := range picks {
		line, meta := w.line(p), w.meta(p)
		r := resultRow{p.time, uint32(p.span), uint32(p.row), uint32(len(f.data)), uint32(len(line)), uint32(len(meta))}
		if c.memory != nil {
			r.span, r.row = w.rows[p.row].pos, w.rows[p.row].off
		}
		f.rows = append(f.rows, r)
		f.data = append(append(f.data, line...), meta...)
	}
	return f
}

// resume returns the candidate that begins with the n-th of picks. behind is the
// rest of a candidate in memory after picks.
func (x *search) resume(w *reading, c, behind candidate, picks []pick, n int) candidate {
	rest := c
	rest.start = x.key(picks[n].time)
	rest.raw = max(1, int64(float64(c.raw)*float64(len(picks)-n)/float64(len(picks))))
	if c.memory != nil {
		// Entries may be added meanwhile, so the position is an entry, no index.
		m := *c.memory
		m.last, m.hasLast = w.rows[picks[n-1].row], true
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

// scanTimes reads times only, to find which candidates have entries within the
// limit.
func (s *scan) scanTimes(yield func(Result, error) bool) error {
	s.job = s.readTimes
	if err := s.waitAll(yield); err != nil || s.stopped {
		return err
	}
	// No worker runs, and none starts before there is a candidate.
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job = s.readEntries // first: sleeping workers may wake at any time
	bound := s.top.bound()
	for _, c := range s.narrowed {
		if c.start <= bound {
			c.end = min(c.end, bound)
			s.push(c)
		}
	}
	s.narrowed = nil
	return nil
}

// readTimes collects the times of a candidate's entries.
func (s *scan) readTimes(w *reading, c candidate, bound, _ int64) (out outcome) {
	x := s.x
	slice := c
	if c.memory != nil {
		var rest candidate
		var more bool
		var err error
		if slice, rest, more, err = x.scanMemory(w, c, bound); err != nil {
			out.add(err)
			return out
		}
		if more {
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
	out.keys, out.narrowed = w.picks, &slice
	return out
}

// waitAll waits until all candidates were read.
func (s *scan) waitAll(yield func(Result, error) bool) error {
	for {
		s.mu.Lock()
		for s.err == nil && len(s.damage) == 0 && !s.drained() {
			s.wait(math.MaxInt64)
		}
		err, bad, over := s.err, s.damage, s.drained()
		s.damage = nil
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if !s.yieldDamage(bad, yield) || over {
			return nil
		}
	}
}

// yieldDamage reports damage to the consumer, and returns whether it goes on.
func (s *scan) yieldDamage(bad []error, yield func(Result, error) bool) bool {
	for _, err := range bad {
		if !yield(Result{}, err) {
			s.stopped = true
			return false
		}
	}
	return true
}

// emit yields the results, in order.
func (s *scan) emit(yield func(Result, error) bool) error {
	m := mergeHeap{backward: s.x.backward}
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
			if s.err != nil || len(s.damage) > 0 || s.drained() {
				break
			}
			next := int64(math.MaxInt64)
			if len(m.heap) > 0 {
				next = s.x.key(m.heap[0].first().time)
			}
			if next < frontier {
				break
			}
			s.wait(next)
		}
		err, bad := s.err, s.damage
		s.damage = nil
		over := s.drained() && len(s.ready) == 0
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if !s.yieldDamage(bad, yield) {
			return nil
		}
		for len(m.heap) > 0 && s.x.key(m.heap[0].first().time) < frontier {
			if s.x.ctx.Err() != nil {
				return context.Cause(s.x.ctx)
			}
			if !e.emit(m.heap[0]) {
				s.stopped = e.stopped
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

// free releases the memory of consumed results.
func (s *scan) free(f *results) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heldBytes -= f.bytes()
	s.x.store.reads.results.put(f)
	if len(s.queue) > 0 {
		s.workReady.Signal()
	}
}

// An emitter turns results into what the consumer gets.
type emitter struct {
	left    int
	yield   func(Result, error) bool
	stopped bool
	last    Labels // the last metadata: they are often the same again
}

// emit yields the next row of f, and reports whether to go on.
func (e *emitter) emit(f *results) bool {
	r := f.first()
	p := f.data[r.off:]
	line, meta := p[:r.line:r.line], p[r.line:r.line+r.meta]
	var err error
	if string(meta) != e.last.enc {
		if e.last, err = parseLabels(string(meta)); err != nil {
			err = f.block.corrupt(err)
		}
	}
	if err != nil {
		e.stopped = !e.yield(Result{}, err)
		return !e.stopped
	}
	if !e.yield(Result{f.name(r).labels, Entry{r.time, line, e.last}}, nil) {
		e.stopped = true
		return false
	}
	e.left--
	return e.left > 0
}
