package logs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/logstore"
)

// manyJobEnv has the job of a child.
const manyJobEnv = "STELE_MANY_STREAMS"

// A manyJob is the task of a child.
type manyJob struct {
	Part              string
	Dir               string // of the store
	Streams, Segments int
	Memory            int64
}

// manyGap is the time from the begin of a pass to that of the next, and manySpan, the
// time that a segment may span, keeps their segments apart.
const (
	manyGap  = time.Hour
	manySpan = 20 * time.Minute
)

func (j *manyJob) source() Source { return Source{Streams: j.Streams} }

// pass is how many lines a segment has: one of each stream, if they are many.
func (j *manyJob) pass() int64 {
	if !j.source().many() {
		return 100_000
	}
	return int64(j.Streams)
}

func (j *manyJob) lines() int64 { return j.pass() * int64(j.Segments) }

func (j *manyJob) open() (*logstore.Store, error) {
	// A line takes less than 256 bytes, and two passes more than a sixteenth of that,
	// up to which segments are compacted whatever their span.
	return logstore.Open(j.Dir, logstore.Options{
		Memory: j.Memory, SegmentSpan: manySpan, SegmentSize: max(1<<20, 256*j.pass()), MinFree: 1,
	})
}

// run does the part.
func (j manyJob) run() (any, error) {
	if j.Part == "ingest" {
		return j.ingest()
	}
	for _, p := range manyParts {
		if p.name == j.Part {
			return j.measure(p)
		}
	}
	return nil, fmt.Errorf("no part %q", j.Part)
}

type manyMemoryFigures struct {
	RSS, Heap float64 // MB: the peak, and what is live after a collection
	Shares    []logstore.MemoryShare
}

// look returns the memory in use, and makes the peak begin again.
func lookAtMemory(s *logstore.Store) (f manyMemoryFigures, err error) {
	f.RSS = peakMB()
	stats := s.Stats()
	f.Shares = stats.Memory
	debug.FreeOSMemory() // collects
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	f.Heap = float64(mem.HeapAlloc) / 1e6
	if err := procstat.ResetPeakRSS(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return f, err
	}
	return f, stats.BackgroundError
}

type manyIngest struct {
	Lines        int64
	CPU, Making  float64 // us a line
	Rate         float64 // lines a second, seals included
	Took         times
	Segments     int
	Bytes, Raw   float64 // a line
	Labels       float64 // bytes a stream
	Memory       manyMemoryFigures
	Counted      float64 // MB: the most that Stats told while lines were appended
	appended     []time.Duration
	labelBytes   int64
	labelStreams int64
}

// ingest appends the lines of one segment after another, in batches of logChunk lines,
// and seals after each.
func (j *manyJob) ingest() (any, error) {
	making, err := j.makingCost()
	if err != nil {
		return nil, err
	}
	s, err := j.open()
	if err != nil {
		return nil, err
	}
	lines, err := j.newLines()
	if err != nil {
		return nil, err
	}
	f := &manyIngest{Lines: j.lines(), Making: making}
	begun := time.Now()
	cpu, err := cpuOf(func() error {
		for p := range j.Segments {
			if err := f.pass(j, s, lines, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.CPU = float64(cpu)/1e3/float64(f.Lines) - making
	f.Rate = float64(f.Lines) / time.Since(begun).Seconds()
	f.Took = timesOf(f.appended)
	f.Labels = float64(f.labelBytes) / float64(f.labelStreams)
	f.Raw = float64(s.Stats().Bytes) / float64(f.Lines)
	if f.Memory, err = lookAtMemory(s); err != nil {
		return nil, err
	}
	var size int64
	f.Segments, size, err = dirSize(filepath.Join(j.Dir, "segments"))
	f.Bytes = float64(size) / float64(f.Lines)
	return f, errors.Join(err, s.Close())
}

// countedMB returns the memory that a store says it takes.
func countedMB(shares []logstore.MemoryShare) (mb float64) {
	for _, s := range shares {
		mb += float64(s.Used) / 1e6
	}
	return mb
}

// newLines returns the lines of the store, with the rare words.
func (j *manyJob) newLines() (*Lines, error) {
	lines, err := newLines(1, j.source())
	if err != nil {
		return nil, err
	}
	for word, at := range rareWords(j.lines()) {
		if err := lines.plantWord(word, at); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// pass appends the lines of the p-th segment and seals them. The segments of a pass
// that did not fit into memory become one.
func (f *manyIngest) pass(j *manyJob, s *logstore.Store, lines *Lines, p int) error {
	ctx := context.Background()
	lines.now = max(lines.now, logStart+int64(p)*int64(manyGap))
	var b manyBatch
	for rest := j.pass(); rest > 0; rest -= logChunk {
		b.fill(lines, int(min(rest, logChunk)))
		if p == 0 {
			for i := range b.batch {
				for name, value := range b.batch[i].Labels.All() {
					f.labelBytes += int64(len(name) + len(value))
				}
			}
			f.labelStreams += int64(len(b.batch))
		}
		begun := time.Now()
		if err := s.Append(ctx, b.batch); err != nil {
			return err
		}
		f.appended = append(f.appended, time.Since(begun))
		if len(f.appended)%20 == 0 {
			f.Counted = max(f.Counted, countedMB(s.Stats().Memory))
		}
	}
	if err := s.Seal(ctx); err != nil {
		return err
	}
	if s.Stats().Segments > int64(p)+1 {
		return s.Compact(ctx)
	}
	return nil
}

// A manyBatch is made again and again.
type manyBatch struct {
	batch logstore.Batch
	index map[int]int // of each stream in the batch
	text  []byte
}

// fill makes a batch of the next n lines, grouped by stream.
func (b *manyBatch) fill(l *Lines, n int) {
	if b.index == nil {
		b.index = map[int]int{}
	}
	clear(b.index)
	b.batch, b.text = b.batch[:0], b.text[:0]
	var e Line
	for range n {
		l.Next(&e)
		i, ok := b.index[e.Stream]
		if !ok {
			i = len(b.batch)
			b.index[e.Stream] = i
			if i < cap(b.batch) {
				b.batch = b.batch[:i+1]
			} else {
				b.batch = append(b.batch, logstore.Stream{})
			}
			b.batch[i] = logstore.Stream{Labels: l.labels(e.Stream), Entries: b.batch[i].Entries[:0]}
		}
		from := len(b.text)
		b.text = append(b.text, e.Line...)
		b.batch[i].Entries = append(b.batch[i].Entries, logstore.Entry{Time: e.Time, Line: b.text[from:len(b.text):len(b.text)]})
	}
}

// makingCost returns the CPU time that it takes to make a line, in us.
func (j *manyJob) makingCost() (float64, error) {
	lines, err := j.newLines()
	if err != nil {
		return 0, err
	}
	const batches = 100
	cpu, err := cpuOf(func() error {
		var b manyBatch
		for range batches {
			b.fill(lines, logChunk)
		}
		return nil
	})
	return float64(cpu) / 1e3 / (batches * logChunk), err
}

type manyFigures struct {
	Opened             float64 // s, until Ready
	OpenMemory, Memory manyMemoryFigures
	First              float64 // ms
	Took               times
}

// A manyPart is something to measure of an open store.
type manyPart struct {
	name string
	cold bool // files are not in the page cache
	// ask makes the i-th query, and returns how many entries, streams or buckets it
	// found, and how many it should have.
	ask func(a *manyAsking, i int) (found, want int64, err error)
}

// A manyAsking has what is asked of.
type manyAsking struct {
	ctx   context.Context
	job   *manyJob
	store *logstore.Store
	lines *Lines
}

func (a *manyAsking) find(q logstore.Query) (int64, error) {
	n, _, err := find(a.ctx, a.store, q)
	return int64(n), err
}

// stream returns a stream, another one for each query.
func (a *manyAsking) stream(i int) logstore.Labels {
	return a.lines.labels((i*7919 + 13) % a.lines.numStreams())
}

// each returns how many entries a stream has, or -1 if that differs.
func (a *manyAsking) each() int64 {
	if a.lines.many.streams == 0 {
		return -1
	}
	return int64(a.job.Segments)
}

// manyParts are in the order of the bars; nothing depends on it.
var manyParts = []manyPart{
	{name: "open-cold", cold: true},
	{name: "open-warm"},
	{name: "last-all", ask: func(a *manyAsking, _ int) (int64, int64, error) {
		n, err := a.find(logstore.Query{Order: logstore.Backward, Limit: logLast})
		return n, logLast, err
	}},
	{name: "last-one", ask: func(a *manyAsking, i int) (int64, int64, error) {
		n, err := a.find(lastOf(a.stream(i), logLast))
		return n, min(a.each(), logLast), err
	}},
	{name: "rare", ask: func(a *manyAsking, i int) (int64, int64, error) {
		n, err := a.find(logstore.Query{Filter: logstore.Word(rareWordOf(i))})
		return n, rareEach, err
	}},
	{name: "few", ask: func(a *manyAsking, i int) (int64, int64, error) {
		sel := logstore.Selector{{Name: "host", Op: logstore.Equal, Value: a.stream(i).Get("host")}}
		n, err := a.find(logstore.Query{Selector: sel, Order: logstore.Backward, Limit: logLast})
		return n, -1, err
	}},
	{name: "series", ask: func(a *manyAsking, _ int) (int64, int64, error) {
		// More do not fit into what a call may keep: a page of them is asked for.
		streams := a.lines.numStreams()
		if streams <= manySeries {
			list, err := a.store.Series(a.ctx, logstore.Query{})
			return int64(len(list)), int64(streams), err
		}
		q := logstore.Query{Limit: seriesPage}
		q.After.Labels = a.stream(streams / 2)
		list, err := a.store.Series(a.ctx, q)
		if errors.Is(err, logstore.ErrMore) {
			err = nil
		}
		return int64(len(list)), -1, err
	}},
	{name: "scan", ask: func(a *manyAsking, _ int) (int64, int64, error) {
		n, err := a.find(logstore.Query{})
		return n, a.job.lines(), err
	}},
	{name: "by-app", ask: func(a *manyAsking, _ int) (int64, int64, error) {
		n, err := countByApp(a.ctx, a.store)
		return n, a.job.lines(), err
	}},
}

// countByApp counts all entries by the label app, and returns their sum.
func countByApp(ctx context.Context, s *logstore.Store) (sum int64, err error) {
	groups, err := s.Aggregate(ctx, logstore.Query{}, logstore.Aggregation{By: []string{"app"}})
	for i := range groups {
		entries, _ := groups[i].Total()
		sum += entries
	}
	return sum, err
}

const (
	// Of more than manySeries streams the series are asked for by a page of
	// seriesPage.
	manySeries, seriesPage = 100_000, 10_000

	// manyAsks and manyTime are how often a query is made, and for how long at most,
	// beside the first.
	manyAsks = 40
	manyTime = 8 * time.Second
)

// measure opens the store and asks it.
func (j *manyJob) measure(p manyPart) (any, error) {
	lines, err := newLines(1, j.source())
	if err != nil {
		return nil, err
	}
	if p.cold {
		if err := dropDir(j.Dir); err != nil {
			return nil, err
		}
	}
	var f manyFigures
	begun := time.Now()
	s, err := j.open()
	if err != nil {
		return nil, err
	}
	<-s.Ready()
	f.Opened = time.Since(begun).Seconds()
	if f.OpenMemory, err = lookAtMemory(s); err != nil {
		return nil, err
	}
	if p.ask != nil {
		if err := f.ask(p, &manyAsking{context.Background(), j, s, lines}); err != nil {
			return nil, err
		}
	}
	if f.Memory, err = lookAtMemory(s); err != nil {
		return nil, err
	}
	return f, s.Close()
}

// ask makes the query of a part again and again. The first reads what the others find in
// caches.
func (f *manyFigures) ask(p manyPart, a *manyAsking) error {
	var all []time.Duration
	var end time.Time
	for i := range manyAsks + 1 {
		begun := time.Now()
		found, want, err := p.ask(a, i)
		took := time.Since(begun)
		if err == nil && want >= 0 && found != want {
			err = fmt.Errorf("%d found; want %d", found, want)
		}
		if err == nil && found == 0 {
			err = errors.New("nothing found")
		}
		if err != nil {
			return fmt.Errorf("%s, query %d: %w", p.name, i, err)
		}
		if i == 0 {
			f.First, end = took.Seconds()*1e3, time.Now().Add(manyTime)
			continue
		}
		all = append(all, took)
		if time.Now().After(end) {
			break
		}
	}
	f.Took = timesOf(all)
	return nil
}
