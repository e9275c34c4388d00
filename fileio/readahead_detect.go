package fileio

import "math/bits"

// A detector detects the order in which a file is read, and plans the readahead. It does
// no I/O and reads no clock.
//
// A request that continues a stream is assigned to it. Any other is compared with the
// recent ones: two that touch, or three at equal distances, begin a stream. So several
// streams may be interleaved.
type detector struct {
	size    int64 // of the file: nothing is read ahead past it
	min     int64 // first window
	max     int64 // largest window
	forward bool  // read ahead for forward streams too

	recent  [ringSize]request // requests that continued no stream, the newest first
	streams [maxStreams]stream
	tick    uint32
	last    *stream // the stream continued last
	// ordered has a bit for each recent request, the newest lowest: 1 if it
	// continued a stream or was near another request.
	ordered   uint32
	seen      int
	unordered int // requests since one continued a stream
	random    bool

	count Counts
	// lastJudged is count at the last decision whether readahead pays. pause is the
	// length of the last pause because of waste, in requests. cachedPlans is how many
	// plans in a row were for bytes in the page cache.
	lastJudged  Counts
	pause       uint32
	cachedPlans uint32
	// toSkip is how many requests need not be observed; the caller resets it.
	toSkip uint32
}

const (
	ringSize   = 8
	maxStreams = 4
	// randomAfter is the number of requests needed to call the order random: as many
	// as ordered has bits.
	randomAfter = 32
	// nearbyBytes is the largest distance between two requests that are not random: a
	// reader that skips small parts profits from the kernel's readahead.
	nearbyBytes = 256 << 10
	// maxStep bounds strides, lest random reads look like some.
	maxStep = 8 << 20
	// maxPieces bounds the system calls of one plan.
	maxPieces = 64
	// piece is the size that every kernel reads ahead at once: it silently truncates a
	// request of more than the device's readahead and optimal size
	// (force_page_cache_ra in mm/readahead.c), of which 128 KiB is the smallest
	// usual.
	piece = 128 << 10
	// leadTime is how long before a reader needs its bytes they should be requested.
	leadTime = 20e6 // ns
	// judgeAfter is how many bytes must have been used or wasted before each decision
	// whether readahead pays.
	judgeAfter = 64 << 10
	// The pauses after more bytes were wasted than used, in requests. Each is twice
	// the one before, until readahead has paid again.
	minPause, maxPause = 64, 1024
	// The pauses after everything was in the page cache: shorter, as the next part of
	// the file may be cold.
	minWarmPause, maxWarmPause = 32, 256
)

type request struct{ off, n int64 }

// Counts say what became of the bytes that the Reader, not the kernel, read ahead.
type Counts struct {
	Hits   int64 // requests of which all bytes had been read ahead
	Issued int64 // bytes read ahead
	Useful int64 // bytes of these that were requested later
	Wasted int64 // bytes of these that the reader skipped or abandoned
}

// A stream is a series of requests in one order. Its positions count up in its
// direction: offsets if forward, negated offsets if backward, bytes read if in strides.
type stream struct {
	kind Pattern // Unknown: this element is free
	last request
	step int64 // of Strided
	run  int   // requests in a row that continued the stream
	used uint32
	id   uint32 // identifies the stream, as elements are reused

	pos     int64 // where the next request is expected
	edge    int64 // bytes before it were read ahead or found in the page cache
	window  int64
	pending [4]span // read ahead and not yet requested
	// position and time of the last plan, which give the reader's speed
	planPos int64
	planAt  int64
}

type span struct{ from, to int64 }

// A plan is a series of pieces to read ahead, the nearest first.
type plan struct {
	off, step int64
	n         int64 // bytes of each
	count     int

	kind     Pattern
	stream   *stream
	id       uint32
	from, to int64 // in positions of the stream
}

// observe records a request and returns the plan that follows from it, with a count of 0
// for none. It calls now, which returns nanoseconds, only to make a plan.
func (d *detector) observe(off, n int64, now func() int64) plan {
	d.tick++
	d.seen++
	d.ordered <<= 1
	req := request{off, n}
	for i := range d.streams {
		if s := &d.streams[i]; s.kind != Unknown && s.extend(d, req) {
			d.ordered |= 1
			d.last = s
			if s.run > 1 { // the first may be chance
				d.random, d.unordered = false, 0
			}
			return d.planFor(s, now)
		}
	}
	d.unordered++
	d.detectStream(req)
	copy(d.recent[1:], d.recent[:])
	d.recent[0] = req
	// Of enough requests next to none was related to another.
	d.random = d.seen >= randomAfter && bits.OnesCount32(d.ordered) <= 2
	return plan{}
}

// pattern returns the detected order.
func (d *detector) pattern() Pattern {
	if d.random {
		return Random
	}
	if d.last != nil && d.ordered&0xff != 0 {
		return d.last.kind
	}
	return Unknown
}

// detectStream looks for recent requests that form a stream with req.
func (d *detector) detectStream(req request) {
	for i := range d.recent {
		r := d.recent[i]
		if r.n == 0 {
			break
		}
		step := req.off - r.off
		if -nearbyBytes <= step && step <= nearbyBytes+r.n {
			d.ordered |= 1
		}
		switch {
		case step == r.n:
			d.addStream(stream{kind: Sequential, pos: req.off + req.n}, req)
			return
		case step == -req.n:
			d.addStream(stream{kind: Backward, pos: -req.off}, req)
			return
		case step == 0 || step < -maxStep || step > maxStep || req.n != r.n:
			continue
		}
		for _, q := range d.recent[i+1:] {
			if r.off-q.off == step && q.n == r.n {
				d.addStream(stream{kind: Strided, step: step, pos: req.n}, req)
				return
			}
		}
	}
}

// addStream replaces the stream that was continued least recently by s.
func (d *detector) addStream(s stream, req request) {
	old := &d.streams[0]
	for i := range d.streams {
		if c := &d.streams[i]; c.kind == Unknown || d.tick-c.used > d.tick-old.used {
			old = c
			if c.kind == Unknown {
				break
			}
		}
	}
	d.count.Wasted += old.unread()
	s.last, s.run, s.used, s.id, s.edge = req, 1, d.tick, d.tick, s.pos
	s.window = d.min
	*old = s
	d.ordered |= 1
}

// extend reports whether req continues s, and if so records it. req may skip a little,
// within the bytes read ahead, over another goroutine's request that was not observed.
func (s *stream) extend(d *detector, req request) bool {
	var from int64
	switch s.kind {
	case Sequential:
		from = req.off
	case Backward:
		from = -(req.off + req.n)
	case Strided:
		k := int64(1)
		if req.off != s.last.off+s.step {
			k = (req.off - s.last.off) / s.step
		}
		if k < 1 || s.last.off+k*s.step != req.off || req.n != s.last.n {
			return false
		}
		from = s.pos + (k-1)*req.n
	}
	if from != s.pos && (from < s.pos || from >= s.edge) {
		return false
	}
	to := from + req.n
	d.count.hit(s, from, to)
	s.last, s.used, s.pos = req, d.tick, to
	s.edge = max(s.edge, to)
	s.run++
	return true
}

// hit counts the bytes of [from, to) that had been read ahead, and removes those before
// to from s.
func (c *Counts) hit(s *stream, from, to int64) {
	if s.pending == ([len(s.pending)]span{}) {
		return
	}
	var useful int64
	for i := range s.pending {
		g := &s.pending[i]
		if g.from >= to || g.from == g.to {
			continue
		}
		c.Wasted += max(0, min(from, g.to)-g.from) // passed over
		useful += max(0, min(to, g.to)-max(from, g.from))
		if g.from = min(to, g.to); g.from == g.to {
			*g = span{}
		}
	}
	c.Useful += useful
	if useful == to-from {
		c.Hits++
	}
}

// unread returns how many bytes were read ahead for s and not requested.
func (s *stream) unread() (n int64) {
	for _, g := range s.pending {
		n += g.to - g.from
	}
	return n
}

// planFor returns the next plan for s.
func (d *detector) planFor(s *stream, now func() int64) plan {
	// Three requests in a row are needed, four in strides.
	if s.run < 2 || s.kind == Strided && s.run < 3 || s.kind == Sequential && !d.forward {
		return plan{}
	}
	if s.edge-s.pos > s.window/2 {
		return plan{}
	}
	if !d.isWorthwhile() {
		return plan{}
	}
	t := now()
	if s.planAt != 0 {
		// Half of the window was used: double it, up to the bytes that the reader
		// consumes in the lead time.
		rate := float64(s.pos-s.planPos) / float64(max(t-s.planAt, 1))
		s.window = max(d.min, min(2*s.window, d.max, int64(rate*leadTime)))
	}
	s.planPos, s.planAt = s.pos, t
	p := plan{kind: s.kind, stream: s, id: s.id, from: s.edge, to: s.pos + s.window}
	switch s.kind {
	case Sequential:
		p.to = min(p.to, d.size)
		p.off, p.step, p.n = p.from, piece, piece
	case Backward:
		p.to = min(p.to, 0)
		p.off, p.step, p.n = -p.from-piece, -piece, piece
	case Strided:
		p.n, p.step = s.last.n, s.step
		ahead := (s.edge - s.pos) / p.n // requests that were read ahead already
		more := min((p.to-p.from+p.n-1)/p.n, maxPieces)
		p.off = s.last.off + (ahead+1)*p.step
		switch {
		case p.off < 0 || p.off >= d.size:
			more = 0
		case p.step > 0:
			more = min(more, (d.size-1-p.off)/p.step+1)
		default:
			more = min(more, p.off/-p.step+1)
		}
		p.to = p.from + more*p.n
	}
	if p.to <= p.from {
		return plan{}
	}
	p.count = int((p.to - p.from + p.n - 1) / p.n)
	s.edge = p.to
	return p
}

// isWorthwhile reports whether to read ahead: not for a while after more bytes were
// wasted than used, as with short runs, or strides by chance.
func (d *detector) isWorthwhile() bool {
	used, wasted := d.count.Useful-d.lastJudged.Useful, d.count.Wasted-d.lastJudged.Wasted
	if used+wasted < judgeAfter {
		return true
	}
	d.lastJudged = d.count
	if wasted <= used {
		d.pause = 0
		return true
	}
	d.pause = min(max(2*d.pause, minPause), maxPause)
	return !d.pauseFor(d.pause)
}

// pauseFor skips the next n requests, unless the window is fixed, which is kept in any
// case. Bytes read ahead so far count as wasted, because their use is not observed, but
// not in the next decision whether readahead pays.
func (d *detector) pauseFor(n uint32) bool {
	if d.min == d.max {
		return false
	}
	d.toSkip = n
	for i := range d.streams {
		s := &d.streams[i]
		d.count.Wasted += s.unread()
		d.lastJudged.Wasted += s.unread()
		s.pending, s.edge = [len(s.pending)]span{}, s.pos
	}
	d.recent = [ringSize]request{}
	return true
}

// piece returns the i-th range of the file in p, the nearest first.
func (p plan) piece(i int) (off, n int64) {
	off, n = p.off+int64(i)*p.step, p.n
	if p.kind == Strided {
		return off, n
	}
	over := int64(i+1)*p.n - (p.to - p.from) // the last piece is shorter
	if over > 0 {
		n -= over
		if p.kind == Backward {
			off += over
		}
	}
	return off, n
}

// noteCached records that the bytes of a plan were in the page cache. They may come from
// the kernel's own readahead, which page faults cause in every direction, up to the
// largest window; beyond that, each further such plan makes the pause longer.
func (d *detector) noteCached() {
	const growth = 6 // from MinWindow to MaxWindow
	if d.cachedPlans++; d.cachedPlans > growth {
		d.pauseFor(min(uint32(minWarmPause)<<min(d.cachedPlans-growth-1, 8), maxWarmPause))
	}
}

// leftToKernel reports whether the last request belongs to a stream that is left to the
// kernel's readahead.
func (d *detector) leftToKernel() bool {
	return !d.forward && d.last != nil && d.last.kind == Sequential && d.last.used == d.tick && d.last.run > 1
}

// advance records that the last stream continued up to end.
func (d *detector) advance(end int64) {
	if s := d.last; s != nil && s.kind == Sequential && s.pos < end {
		s.last = request{end - s.last.n, s.last.n}
		s.pos, s.edge = end, max(s.edge, end)
	}
}

// noteIssued records that p was read ahead.
func (d *detector) noteIssued(p plan) {
	s := p.stream
	d.cachedPlans = 0
	d.count.Issued += p.to - p.from
	if s.id != p.id { // the stream was replaced since
		d.count.Wasted += p.to - p.from
		return
	}
	oldest := 0
	for i, g := range s.pending {
		if g.to == p.from && g.from < g.to { // p continues this one
			s.pending[i].to = p.to
			return
		}
		if g.to-g.from < s.pending[oldest].to-s.pending[oldest].from {
			oldest = i
		}
	}
	d.count.Wasted += s.pending[oldest].to - s.pending[oldest].from
	s.pending[oldest] = span{p.from, p.to}
}
