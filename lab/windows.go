package lab

import (
	"runtime/metrics"
	"slices"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/lab/run"
)

// leastReading is the time between two readings of /proc: they cost some ten
// microseconds.
const leastReading = 5 * time.Millisecond

// A windowMeter reads what stands beside the operations of a window: memory, garbage
// collections and the page cache. It is for one goroutine. Readings are no operations:
// they are in no latency, and in a block of one worker not in its wall time either.
type windowMeter struct {
	gcs       gcReader
	gauge     *procstat.Gauge // nil where it may not be read or cannot be
	last      time.Time
	rss       int64
	unwritten int64
}

// open begins to read /proc, which makes system calls. Blocks that count or time these
// leave it out.
func (m *windowMeter) open() {
	if g, err := procstat.OpenGauge(); err == nil {
		m.gauge = g
	}
}

func (m *windowMeter) close() {
	if m.gauge != nil {
		m.gauge.Close()
		m.gauge = nil
	}
}

// read completes a window that ends now.
func (m *windowMeter) read(w *run.Window) {
	w.Heap, w.GCs = m.gcs.read()
	if m.gauge == nil {
		return
	}
	if now := time.Now(); now.Sub(m.last) >= leastReading {
		m.last = now
		// An error is no figure: the last ones stay.
		if n, err := m.gauge.RSS(); err == nil {
			m.rss = n
		}
		if n, err := m.gauge.Unwritten(); err == nil {
			m.unwritten = n
		}
	}
	w.RSS, w.Unwritten = m.rss, m.unwritten
}

// gcReader reads the heap size and the number of collections without
// stopping the world.
type gcReader struct {
	samples []metrics.Sample
	last    int64
}

func newGCReader() gcReader {
	return gcReader{samples: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}}
}

func (g *gcReader) read() (heap, gcs int64) {
	metrics.Read(g.samples)
	n := int64(g.samples[1].Value.Uint64())
	gcs, g.last = n-g.last, n
	return int64(g.samples[0].Value.Uint64()), gcs
}

// mergeWindows puts the windows of all workers on one grid of the given
// width: each is booked where its middle lies.
func mergeWindows(workers []*Worker, width run.Nanos) []run.Window {
	if len(workers) == 1 {
		return workers[0].wins
	}
	var grid []run.Window
	for _, w := range workers {
		for _, win := range w.wins {
			i := int((win.At + win.Len/2) / width)
			for len(grid) <= i {
				grid = append(grid, run.Window{At: run.Nanos(len(grid)) * width, Len: width})
			}
			g := &grid[i]
			g.Mean = (g.Mean*float64(g.Ops) + win.Mean*float64(win.Ops)) / float64(g.Ops+win.Ops)
			g.Ops += win.Ops
			g.Max = max(g.Max, win.Max)
			g.Heap, g.RSS, g.Unwritten = max(g.Heap, win.Heap), max(g.RSS, win.RSS), max(g.Unwritten, win.Unwritten)
			g.GCs += win.GCs
		}
	}
	fillReadings(grid)
	return slices.DeleteFunc(grid, func(w run.Window) bool { return w.Ops == 0 })
}

// fillReadings completes windows in which no reading was taken: one worker reads, at the
// end of each of its windows. They take the reading before them, and those before the
// first reading that one.
func fillReadings(grid []run.Window) {
	var last run.Window
	fill := func(w *run.Window) {
		if w.Heap == 0 {
			w.Heap, w.RSS, w.Unwritten = last.Heap, last.RSS, last.Unwritten
		}
		last = *w
	}
	for i := range grid {
		fill(&grid[i])
	}
	for i := len(grid) - 1; i >= 0; i-- {
		fill(&grid[i])
	}
}
