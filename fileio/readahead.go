package fileio

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/latency"
)

// Stats are the state of a Reader's readahead, and the latency of its reads.
type Stats struct {
	Pattern Pattern // detected in the recent requests
	Window  int64   // bytes kept ahead of the stream that was read last; 0 for none
	Counts
	// Read has the latency of reads by pread(2): of requests, and of fills of Read's
	// buffer. One in 256 is timed, and none of a mapping.
	Read latency.Snapshot
}

// readSample: one in so many reads is timed.
const readSample = 256

// A readahead observes the requests of a Reader and reads ahead of them. No request
// waits for it: one that comes while another is observed is skipped.
//
// The goroutine of the request that makes a window due asks for it.
// posix_fadvise(POSIX_FADV_WILLNEED) submits the reads and returns; a goroutine for it
// would cost a wake-up for each window.
type readahead struct {
	r *Reader

	mu            sync.Mutex
	detector      detector
	randomAdvised bool // the kernel has the advice that offsets are random
	epoch         time.Time

	// skipMode, one of the constants below, says which requests need not be
	// observed, because nothing follows from them as long as the pattern holds.
	// requests counts for the samples, toSkip counts down for skipCounted, end is the
	// end of the last request. A race between goroutines only observes one request
	// too many or too few.
	skipMode atomic.Uint32
	requests atomic.Uint32
	toSkip   atomic.Int32
	end      atomic.Int64

	off atomic.Bool // by advice

	probe   [1]byte // guarded by probing
	probing atomic.Bool
}

const (
	observeAll     = iota
	skipRandom     // all but samples and those adjacent to the last request
	skipSequential // those that begin where the last one ended
	skipCounted    // the next toSkip requests
)

// Of every sampleOf requests without an order, sampled in a row are observed: enough to
// detect a stride, and few enough that a request costs 3 ns, of the 570 that 4 KiB from
// the page cache take.
const (
	sampleOf = 512
	sampled  = 8
)

func newReadahead(r *Reader, size int64, o Options) *readahead {
	ra := &readahead{r: r, epoch: time.Now()}
	ra.detector = detector{size: size, min: MinWindow, max: MaxWindow}
	switch n := int64(o.Readahead); {
	case n > 0:
		ra.detector.min, ra.detector.max, ra.detector.forward = n, n, true
	case o.Profile != nil && o.Profile.Read.Readahead > 0:
		ra.detector.max = min(max(int64(o.Profile.Read.Readahead), MinWindow), MaxWindow)
		ra.detector.forward = true
	}
	if r.prefault {
		ra.detector.forward = true
	}
	if o.Pattern == Random {
		ra.skipMode.Store(skipRandom)
		ra.randomAdvised = true // by setReadahead
		ra.detector.seen, ra.detector.random = randomAfter, true
	}
	return ra
}

// observe is called for each request before it is served.
func (ra *readahead) observe(off int64, n int) {
	if n <= 0 || ra.off.Load() {
		return
	}
	end := off + int64(n)
	quiet := ra.skipMode.Load()
	before := ra.end.Load()
	switch quiet {
	case skipRandom:
		ra.end.Store(end)
		if ra.requests.Add(1)%sampleOf >= sampled && off != before && end != before {
			return
		}
	case skipSequential:
		if off == before {
			ra.end.Store(end)
			return
		}
	case skipCounted:
		if ra.toSkip.Add(-1) > 0 {
			return
		}
	}
	if !ra.mu.TryLock() {
		return
	}
	if quiet == skipSequential {
		ra.detector.advance(before)
	}
	p := ra.detector.observe(off, int64(n), ra.now)
	random := ra.detector.random
	turned := random != ra.randomAdvised
	ra.randomAdvised = random
	switch {
	case ra.startPause():
	case random || ra.detector.unordered >= randomAfter:
		ra.end.Store(end)
		ra.skipMode.Store(skipRandom)
	case ra.detector.leftToKernel():
		ra.end.Store(end)
		ra.skipMode.Store(skipSequential)
	default:
		ra.skipMode.Store(observeAll)
	}
	ra.mu.Unlock()
	if turned {
		ra.r.adviseRandom(random)
	}
	if p.count > 0 {
		ra.run(p)
	}
}

func (ra *readahead) now() int64 { return int64(time.Since(ra.epoch)) + 1 }

// run executes p, unless its bytes are in the page cache already.
func (ra *readahead) run(p plan) {
	if ra.r.prefault && p.kind == Sequential {
		// This replaces page faults, in which the kernel would read ahead, and
		// reads ahead as well.
		ra.r.prefaultRange(p.from, p.to)
		return
	}
	warm := ra.cached(p)
	for i := 0; i < p.count && !warm; i++ {
		off, n := p.piece(i)
		if ra.r.fadvise(off, n, sys.AdviseWillNeed) != nil {
			return // the reads themselves meet the error
		}
	}
	ra.mu.Lock()
	if warm {
		ra.detector.noteCached()
		ra.startPause()
	} else {
		ra.detector.noteIssued(p)
	}
	ra.mu.Unlock()
}

// startPause starts a pause that the detector has asked for, if any. mu is held.
func (ra *readahead) startPause() bool {
	if ra.detector.toSkip == 0 {
		return false
	}
	ra.toSkip.Store(int32(ra.detector.toSkip))
	ra.detector.toSkip = 0
	ra.skipMode.Store(skipCounted)
	return true
}

// cached reports whether the furthest byte of p is in the page cache or on its way there.
//
// Where cachestat(2) does not say, a non-blocking read does, less well: it starts the I/O of
// a byte that is not there (filemap_get_pages in mm/filemap.c), and where a device answers
// while the request is being submitted, as one emulated for a virtual machine on one
// processor, it gets the byte.
func (ra *readahead) cached(p plan) bool {
	off, n := p.piece(p.count - 1)
	if p.kind == Sequential {
		off += n - 1
	}
	if n, err := sys.CachedBytes(ra.r.f, off, 1); err == nil {
		return n > 0
	}
	if !ra.probing.CompareAndSwap(false, true) {
		return false
	}
	defer ra.probing.Store(false)
	got, err := sys.PreadFlags(ra.r.f, ra.probe[:], off, sys.ReadNoWait)
	return got == 1 && err == nil
}

// reset discards the detected pattern.
func (ra *readahead) reset() {
	ra.mu.Lock()
	defer ra.mu.Unlock()
	d := &ra.detector
	for i := range d.streams {
		d.count.Wasted += d.streams[i].unread()
	}
	d.streams, d.recent, d.last = [maxStreams]stream{}, [ringSize]request{}, nil
	d.ordered, d.seen, d.unordered, d.random = 0, 0, 0, false
	d.lastJudged, d.pause, d.cachedPlans, d.toSkip = d.count, 0, 0, 0
	ra.randomAdvised = false
	ra.skipMode.Store(observeAll)
}

func (ra *readahead) stats() Stats {
	ra.mu.Lock()
	defer ra.mu.Unlock()
	s := Stats{Pattern: ra.detector.pattern(), Counts: ra.detector.count}
	if l := ra.detector.last; l != nil && l.planAt != 0 && !ra.detector.random {
		s.Window = l.window
	}
	return s
}

// adviseRandom turns the kernel's own readahead off for random offsets, or on.
func (r *Reader) adviseRandom(random bool) {
	file, mem := sys.AdviseNormal, sys.MemNormal
	if random {
		file, mem = sys.AdviseRandom, sys.MemRandom
	}
	// An error changes no result.
	_ = errors.Join(r.fadvise(0, 0, file), r.madvise(r.mem, mem))
}
