package fileio

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A reading feeds a detector with requests, and keeps its readahead.
type reading struct {
	d     detector
	clock int64
	asked []request
}

func newReading() *reading {
	return &reading{d: detector{size: 256 << 20, min: MinWindow, max: MaxWindow}}
}

// at makes a request, a microsecond after the previous one.
func (r *reading) at(off, n int64) {
	r.clock += 1000
	if r.d.toSkip > 0 {
		r.d.toSkip--
		return
	}
	p := r.d.observe(off, n, func() int64 { return r.clock })
	for i := range p.count {
		off, n := p.piece(i)
		r.asked = append(r.asked, request{off, n})
	}
	if p.count > 0 {
		r.d.noteIssued(p)
	}
}

func TestPatterns(t *testing.T) {
	const k = 1 << 10
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name  string
		at    func(i int64) request
		want  Pattern
		ahead bool // the detector reads ahead
	}{
		{"forward", func(i int64) request { return request{i * 4 * k, 4 * k} }, Sequential, false},
		{"forward by lengths that differ", func(i int64) request { return request{i * (i + 1) / 2, i + 1} }, Sequential, false},
		{"backward", func(i int64) request { return request{100<<20 - i*4*k, 4 * k} }, Backward, true},
		{"backward by large blocks", func(i int64) request { return request{200<<20 - i*256*k, 256 * k} }, Backward, true},
		{"strides up", func(i int64) request { return request{i * 64 * k, 4 * k} }, Strided, true},
		{"strides down", func(i int64) request { return request{200<<20 - i*100*k, 4 * k} }, Strided, true},
		{"random", func(int64) request { return request{rng.Int64N(64<<10) * 4 * k, 4 * k} }, Random, false},
		// Near requests profit from the kernel's readahead.
		{"forward with gaps", func(i int64) request { return request{i*12*k + rng.Int64N(8*k), 4 * k} }, Unknown, false},
		{"one block again and again", func(int64) request { return request{64 * k, 4 * k} }, Unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReading()
			for i := range int64(200) {
				q := c.at(i)
				r.at(q.off, q.n)
			}
			if got := r.d.pattern(); got != c.want {
				t.Errorf("found %v; want %v", got, c.want)
			}
			if (len(r.asked) > 0) != c.ahead {
				t.Errorf("asked for %v", r.asked)
			}
			checkAsked(t, r)
			if c.ahead && r.d.count.Hits < 150 {
				t.Errorf("%+v of 200 requests", r.d.count)
			}
		})
	}
}

// checkAsked checks the invariants: readahead is inside the file, never twice, in calls
// that the kernel does not shorten, and every byte is accounted for.
func checkAsked(t *testing.T, r *reading) {
	t.Helper()
	asked := slices.Clone(r.asked)
	slices.SortFunc(asked, func(a, b request) int { return int(a.off - b.off) })
	var sum int64
	for i, q := range asked {
		sum += q.n
		if q.off < 0 || q.n <= 0 || q.off+q.n > r.d.size && r.d.pattern() != Strided {
			t.Errorf("asked for %+v", q)
		}
		if i > 0 && asked[i-1].off+asked[i-1].n > q.off {
			t.Errorf("asked for %+v and %+v", asked[i-1], q)
		}
	}
	c := r.d.count
	var left int64
	for i := range r.d.streams {
		left += r.d.streams[i].unread()
	}
	if c.Issued != sum || c.Useful+c.Wasted+left != c.Issued {
		t.Errorf("%+v and %d to come, of %d", c, left, sum)
	}
}

// A window grows from the least to the most, and every byte is read ahead before it is
// read.
func TestWindowGrows(t *testing.T) {
	r := newReading()
	var windows []int64
	for i := int64(1); i <= 4000; i++ {
		r.at(100<<20-i*4096, 4096)
		if w := r.d.last; w != nil && (len(windows) == 0 || windows[len(windows)-1] != w.window) {
			windows = append(windows, w.window)
		}
	}
	if !slices.IsSorted(windows) || windows[0] != MinWindow || windows[len(windows)-1] != MaxWindow {
		t.Errorf("the windows were %v", windows)
	}
	if c := r.d.count; c.Hits < 3990 || c.Wasted != 0 {
		t.Errorf("%+v", c)
	}
	checkAsked(t, r)
}

// Readahead for a slow reader is at most what it reads in the lead time.
func TestSlowReader(t *testing.T) {
	r := newReading()
	for i := int64(1); i <= 1000; i++ {
		r.clock += 1e6 // 4 MB/s, so 80 KB in the lead time
		r.at(100<<20-i*4096, 4096)
	}
	if w := r.d.last.window; w < MinWindow || w > 100<<10 {
		t.Errorf("the window is %d", w)
	}
}

func TestFixedWindow(t *testing.T) {
	r := newReading()
	r.d.min, r.d.max, r.d.forward = 256<<10, 256<<10, true
	for i := range int64(1000) {
		r.at(i*4096, 4096)
	}
	if w := r.d.last.window; w != 256<<10 {
		t.Errorf("the window is %d", w)
	}
	if c := r.d.count; c.Hits < 990 {
		t.Errorf("%+v", c)
	}
	checkAsked(t, r)
}

// Each of several interleaved streams is found.
func TestInterleaved(t *testing.T) {
	r := newReading()
	for i := range int64(300) {
		r.at(50<<20-i*4096, 4096)
		r.at(100<<20+i*65536, 4096)
		r.at(200<<20-i*16384, 16384)
	}
	if c := r.d.count; c.Hits < 3*280 || c.Wasted > 0 {
		t.Errorf("%+v of 900 requests", c)
	}
	checkAsked(t, r)
}

// Requests that the detector skipped end no stream.
func TestUnseenRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, step := range []int64{-4096, 65536} {
		r := newReading()
		for i := range int64(1000) {
			if i < 10 || rng.IntN(4) > 0 {
				r.at(100<<20+i*step, 4096)
			}
		}
		if c := r.d.count; c.Hits < 700 {
			t.Errorf("step %d: %+v", step, c)
		}
		checkAsked(t, r)
	}
}

// The window of a stream that ended counts as waste once another takes its place.
func TestWaste(t *testing.T) {
	r := newReading()
	for stream := range int64(8) {
		for i := range int64(20) {
			r.at(stream*20<<20+10<<20-i*4096, 4096)
		}
	}
	c := r.d.count
	if c.Wasted == 0 || c.Useful == 0 {
		t.Errorf("%+v", c)
	}
	checkAsked(t, r)
}

// Windows end at the end of the file.
func TestEnds(t *testing.T) {
	for _, step := range []int64{-4096, -40000, 40000, 4096} {
		r := newReading()
		r.d.size, r.d.forward = 1<<20+77, true
		off := int64(0)
		if step < 0 {
			off = r.d.size - 4096
		}
		for ; off >= 0 && off < r.d.size; off += step {
			r.at(off, 4096)
		}
		checkAsked(t, r)
		if len(r.asked) == 0 {
			t.Errorf("step %d: nothing was read ahead", step)
		}
		if c := r.d.count; c.Issued-c.Useful > 4096 { // of the block beyond the end
			t.Errorf("step %d: %+v", step, c)
		}
	}
}

// Order after disorder is found, and disorder after order.
func TestTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r := newReading()
	for range 100 {
		r.at(rng.Int64N(64<<10)*4096, 4096)
	}
	if !r.d.random {
		t.Fatal("random was not found")
	}
	for i := range int64(10) {
		r.at(i*4096, 4096)
	}
	if r.d.random || r.d.pattern() != Sequential {
		t.Errorf("after ten in a row: %v", r.d.pattern())
	}
	for range 100 {
		r.at(rng.Int64N(64<<10)*4096, 4096)
	}
	if !r.d.random {
		t.Error("random was not found again")
	}
}

// Requests served by the page cache are examined more and more rarely, also in short
// runs.
func TestCached(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for _, run := range []int64{20_000, 4} {
		r := newReading()
		plans, looked, at := 0, 0, int64(0)
		for i := range int64(20_000) {
			r.clock += 1000
			if at -= 4096; i%run == 0 {
				at = 100<<20 + rng.Int64N(25<<10)*4096
			}
			if r.d.toSkip > 0 {
				r.d.toSkip--
				continue
			}
			looked++
			if p := r.d.observe(at, 4096, func() int64 { return r.clock }); p.count > 0 {
				plans++
				r.d.noteCached()
			}
		}
		if plans == 0 || plans > 100 || looked > 600 || r.d.count != (Counts{}) {
			t.Errorf("runs of %d: %d plans, %d looked at, %+v", run, plans, looked, r.d.count)
		}
	}
}

// Whatever the requests, there is no panic, and every byte is accounted for.
func FuzzDetector(f *testing.F) {
	f.Add([]byte("aaaabbbbccccabcabcabc"), true)
	f.Add([]byte{0, 255, 3, 3, 3, 9, 9, 1}, false)
	f.Fuzz(func(t *testing.T, moves []byte, forward bool) {
		moves = moves[:min(len(moves), 1000)]
		r := newReading()
		r.d.size, r.d.forward = 8<<20, forward
		off, n := int64(4<<20), int64(4096)
		for i, m := range moves {
			switch m % 5 {
			case 0:
				off += n
			case 1:
				off -= n
			case 2:
				off += int64(m) << 8
			case 3:
				off -= int64(m) << 8
			case 4:
				off, n = int64(m)<<15, int64(i%7+1)<<9
			}
			off = max(0, min(off, r.d.size-1))
			r.at(off, n)
		}
		for _, q := range r.asked {
			if q.off < 0 || q.off >= r.d.size || q.n <= 0 {
				t.Fatalf("asked for %+v", q)
			}
		}
		var left int64
		for i := range r.d.streams {
			left += r.d.streams[i].unread()
		}
		if c := r.d.count; c.Useful+c.Wasted+left != c.Issued || c.Useful < 0 || c.Wasted < 0 || left < 0 {
			t.Fatalf("%+v, %d to come", c, left)
		}
	})
}

func BenchmarkObserve(b *testing.B) {
	for _, c := range []struct {
		name string
		step int64
	}{{"backward", -4096}, {"strides", 65536}, {"random", 0}} {
		b.Run("pattern="+c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			d := detector{size: 1 << 50, min: MinWindow, max: MaxWindow}
			now := int64(0)
			off := int64(1 << 40)
			for b.Loop() {
				off += c.step
				if c.step == 0 {
					off = rng.Int64N(1 << 40)
				}
				if p := d.observe(off, 4096, func() int64 { now += 1000; return now }); p.count > 0 {
					d.noteIssued(p)
				}
			}
		})
	}
}

// For runs of a few requests readahead soon almost stops. It returns in full once it is
// useful.
func TestPays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := newReading()
	short := func(runs int) (asked int64) {
		before := r.d.count.Issued
		for range runs {
			at := 100<<20 + rng.Int64N(25<<10)*4096
			for i := range int64(4) {
				r.at(at-i*4096, 4096)
			}
		}
		return r.d.count.Issued - before
	}
	long := func() (hits int64) {
		before := r.d.count.Hits
		for i := range int64(2000) {
			r.at(90<<20-i*4096, 4096)
		}
		return r.d.count.Hits - before
	}
	if n := short(2000); n == 0 || n > 4<<20 {
		t.Errorf("%d bytes were read ahead of 2,000 short runs", n)
	}
	short(2000)
	if n := short(2000); n > 4<<20 { // of 32 MiB read
		t.Errorf("%d bytes were read ahead of 2,000 more", n)
	}
	long() // waits for the pause to end
	long()
	if n := long(); n < 1900 {
		t.Errorf("%d hits in 2,000 requests that go on", n)
	}

	fixed := newReading()
	fixed.d.min, fixed.d.max, fixed.d.forward = 1<<20, 1<<20, true
	r = fixed
	if n := short(200); n < 200<<19 {
		t.Errorf("%d bytes were read ahead where 1 MiB was asked for", n)
	}
}
