package fileio

import "math/bits"

// A detector finds out in which order a file is read, and says what to read
// ahead. It does no I/O and reads no clock.
//
// A request that continues a stream goes to that stream. Any other is compared
// with the recent ones: two that touch, or three at equal distances,
// begin a stream. So several streams may be interleaved.
type detector struct {
	size    int64 // of the file: nothing is read ahead past it
	min     int64 // first window
	max     int64 // largest
	forward bool  // whether to read ahead of forward streams too

	recent  [ringSize]request // that continued no stream, the newest first
	streams [maxStreams]stream
	tick    uint32
	last    *stream // that was continued last
	// ordered has a bit for each recent request, the newest lowest: 1 where it
	// continued a stream or was near another request.
	ordered   uint32
	seen      int
	unordered int // requests since one continued a stream
	random    bool

	count Counts
	// lastJudged is count when its use was looked at last. pause is how many
	// requests were left alone for waste, found how often in a row what was to
	// be read ahead was in the page cache.
	lastJudged  Counts
	pause       uint32
	cachedPlans uint32
	// toSkip is how many requests need not be observed; the caller takes it.
	toSkip uint32
}

const (
	ringSize   = 8
	maxStreams = 4
	// randomAfter is how many requests it takes to call them random: as many
	// as ordered has bits.
	randomAfter = 32
	// nearbyBytes is how far two requests may lie apart and still not be random: a
	// reader that leaves things out profits from the kernel's readahead.
	nearbyBytes = 256 << 10
	// maxStep bounds the strides, lest random reads look like some.
	maxStep = 8 << 20
	// maxPieces bounds the calls that one plan takes.
	maxPieces = 64
	// piece is what the kernel reads ahead at once at least: a request of more
	// than the device's readahead and optimal size is cut without a word
	// (force_page_cache_ra in mm/readahead.c), and 128 KiB is the least usual.
	piece = 128 << 10
	// leadTime is how long before a reader gets there its bytes should be asked for.
	leadTime = 20e6 // ns
	// judgeAfter is of how many bytes the fate is to be known, to judge by them
	// whether reading ahead pays.
	judgeAfter = 64 << 10
	// The pauses after more bytes were wasted than used, in requests. Each is
	// twice the one before, until one trial has gone well.
	minPause, maxPause = 64, 1024
	// Those where all was in the page cache: shorter, as the file may soon be
	// cold where the reader comes.
	minWarmPause, maxWarmPause = 32, 256
)

type request struct{ off, n int64 }

// Counts are what became of the bytes that were read ahead by the Reader, not
// by the kernel.
type Counts struct {
	Hits   int64 // requests that lay wholly in what had been read ahead
	Issued int64 // bytes asked for ahead
	Useful int64 // of these, bytes that were read later
	Wasted int64 // of these, bytes that their reader left behind or out
}

// A stream is a reader with an order. Its place is counted in the direction it
// goes: offsets forward, negated offsets backward, and bytes read in strides.
type stream struct {
	kind Pattern // Unknown: this place is free
	last request
	step int64 // of Strided
	run  int   // requests that came where the stream said, in a row
	used uint32
	id   uint32 // of the stream, as places are used again

	pos     int64 // where the next request is expected
	edge    int64 // up to where bytes were asked for or found there
	window  int64
	pending [4]span // asked for and not yet passed; at most a few are
	// place and time of the plan before, which give the speed
	planPos int64
	planAt  int64
}

type span struct{ from, to int64 }

// A plan is a row of pieces to be read ahead, nearest first.
type plan struct {
	off, step int64
	n         int64 // bytes of each
	count     int

	kind     Pattern
	stream   *stream
	id       uint32
	from, to int64 // in the stream's own places
}

// observe notes a request and returns what to read ahead of it; count is 0
// where that is nothing. now is asked for the time in nanoseconds only when
// something is.
func (d *detector) observe(off, n int64, now func() int64) plan {
	d.tick++
	d.seen++
	d.ordered <<= 1
	req := request{off, n}
	for i := range d.streams {
		if s := &d.streams[i]; s.kind != Unknown && s.extend(d, req) {
			d.ordered |= 1
			d.last = s
			if s.run > 1 { // the first may be by chance
				d.random, d.unordered = false, 0
			}
			return d.planFor(s, now)
		}
	}
	d.unordered++
	d.detectStream(req)
	copy(d.recent[1:], d.recent[:])
	d.recent[0] = req
	// Enough were seen, and next to none had to do with another.
	d.random = d.seen >= randomAfter && bits.OnesCount32(d.ordered) <= 2
	return plan{}
}

// pattern is the order that was found.
func (d *detector) pattern() Pattern {
	if d.random {
		return Random
	}
	if d.last != nil && d.ordered&0xff != 0 {
		return d.last.kind
	}
	return Unknown
}

// detectStream looks for a request that req continues.
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

// addStream puts s in the place of the stream that was continued longest ago.
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

// extend reports whether req continues s, and notes it then. It may also lie a
// little further, in what was read ahead: another goroutine's request that is
// not known here lay between.
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

// hit counts what of [from, to) had been read ahead, and forgets what lies
// before to.
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

// unread is what was read ahead of s and not read.
func (s *stream) unread() (n int64) {
	for _, g := range s.pending {
		n += g.to - g.from
	}
	return n
}

// planFor says what to read ahead of s.
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
		// Half of the window was used up: twice as much the next time, but no
		// more than the reader takes in the lead time.
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
		ahead := (s.edge - s.pos) / p.n // requests that were asked for already
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

// isWorthwhile reports whether to read ahead: not for a while after more was wasted
// than used, as with runs that are short, or strides that are chance.
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

// pauseFor has the next n requests not looked at, unless somebody has fixed the
// window: that is kept in any case. What was read ahead counts as wasted, as
// nobody sees them use it, but not against what is read ahead later.
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

// piece is the i-th range of the file that p wants, the nearest first.
func (p plan) piece(i int) (off, n int64) {
	off, n = p.off+int64(i)*p.step, p.n
	if p.kind == Strided {
		return off, n
	}
	over := int64(i+1)*p.n - (p.to - p.from) // the last piece is the rest
	if over > 0 {
		n -= over
		if p.kind == Backward {
			off += over
		}
	}
	return off, n
}

// noteCached notes that what a plan wanted was in the page cache already. That may
// be the kernel's own readahead, which page faults cause in every direction, up
// to the largest window; the more often after that, the longer the reader is
// left alone.
func (d *detector) noteCached() {
	const growth = 6 // from MinWindow to MaxWindow
	if d.cachedPlans++; d.cachedPlans > growth {
		d.pauseFor(min(uint32(minWarmPause)<<min(d.cachedPlans-growth-1, 8), maxWarmPause))
	}
}

// leftToKernel reports whether the last request belongs to the kernel's readahead.
func (d *detector) leftToKernel() bool {
	return !d.forward && d.last != nil && d.last.kind == Sequential && d.last.used == d.tick && d.last.run > 1
}

// advance tells that the stream which went last went on up to end.
func (d *detector) advance(end int64) {
	if s := d.last; s != nil && s.kind == Sequential && s.pos < end {
		s.last = request{end - s.last.n, s.last.n}
		s.pos, s.edge = end, max(s.edge, end)
	}
}

// noteIssued notes that p was read ahead.
func (d *detector) noteIssued(p plan) {
	s := p.stream
	d.cachedPlans = 0
	d.count.Issued += p.to - p.from
	if s.id != p.id { // the stream was given up meanwhile
		d.count.Wasted += p.to - p.from
		return
	}
	oldest := 0
	for i, g := range s.pending {
		if g.to == p.from && g.from < g.to { // goes on where this one ended
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
