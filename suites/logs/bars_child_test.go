package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/logstore"
)

// barsAppenders is the number of appenders at full load.
const barsAppenders = 4

// barsChild does a job, sends its figures, and waits to be killed.
func barsChild(t *testing.T, text string) {
	var job barsJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	do := map[string]func(barsJob) (any, error){
		"ingest": runIngest, "query": runQuery, "visible": runVisible,
		"small": runSmall, "fill": runFill, "restart": runRestart,
	}[job.Part]
	sendFigures(t, func() (any, error) { return do(job) })
}

// sendFigures does the job of a child of runChild and waits to be killed.
func sendFigures(t *testing.T, do func() (any, error)) {
	begun := time.Now()
	figures, err := do()
	if err != nil {
		t.Fatal(err)
	}
	told := barsTold{Figures: figures, Took: time.Since(begun)}
	if delays, err := procstat.RunDelays(); err == nil {
		for _, d := range delays {
			told.Waited += d
		}
	}
	if err := json.NewEncoder(os.NewFile(3, "figures")).Encode(told); err != nil {
		t.Fatal(err)
	}
	for { // not select {}: nothing else may be left to run, which the runtime ends as a deadlock
		time.Sleep(time.Hour)
	}
}

// barsTold is what a child sends.
type barsTold struct {
	Figures any
	Took    time.Duration
	Waited  time.Duration // all threads together, for a processor: for each other, or for other processes
}

func (j *barsJob) file() (*logFile, error) {
	l, err := newLines(1, Source{Corpus: j.Corpus})
	if err != nil {
		return nil, err
	}
	return openLogFile(j.File, l.Labels())
}

// times are of single operations, in ms.
type times struct {
	N                        int
	P50, P95, P99, P999, Max float64
}

func (t times) String() string {
	return fmt.Sprintf("%d, p50 %.3g, p95 %.3g, p99 %.3g, p99.9 %.3g, at most %.3g ms", t.N, t.P50, t.P95, t.P99, t.P999, t.Max)
}

func timesOf(took ...[]time.Duration) times {
	all := slices.Concat(took...)
	if len(all) == 0 {
		return times{}
	}
	slices.Sort(all)
	at := func(q float64) float64 {
		return float64(all[min(int(q*float64(len(all))), len(all)-1)]) / 1e6
	}
	return times{len(all), at(0.5), at(0.95), at(0.99), at(0.999), at(1)}
}

func cpuTime() (time.Duration, error) {
	u, err := procstat.SelfUsage()
	return u.User + u.System, err
}

// cpuOf returns the CPU time that do takes.
func cpuOf(do func() error) (time.Duration, error) {
	begin, err := cpuTime()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	end, err := cpuTime()
	return end - begin, err
}

func peakMB() float64 {
	rss, err := procstat.PeakRSS()
	if err != nil {
		return 0
	}
	return float64(rss) / 1e6
}

type ingestFigures struct {
	Reading        float64 // us a line of CPU to read the lines, taken off below
	Appended       float64 // us a line of CPU until all were acknowledged
	Sealed, Merged float64 // and sealed, and merged
	Rate           float64 // lines a second, until all were acknowledged
	SealedIn       float64 // s, after that
	MergedIn       float64
	times
	Stopped  int64
	Delayed  float64 // s, of all appends together
	RSS      float64 // MB
	Raw      float64 // bytes a line
	Bytes    float64 // of segments, a line
	Log      float64 // MB of files of the log in the end
	Segments int
}

func (f *ingestFigures) show(t *testing.T) {
	t.Helper()
	t.Logf("CPU a line: %.2f us until acknowledged, %.2f until sealed, %.2f until merged (%.2f to read lines taken off each)", f.Appended, f.Sealed, f.Merged, f.Reading)
	t.Logf("appends of %d appenders: %s; delayed %.1f s together, %d found no room; sealed %.2f s after the last, merged %.2f s later",
		barsAppenders, f.times, f.Delayed, f.Stopped, f.SealedIn, f.MergedIn)
	t.Logf("%d segments, %.2f bytes a line of %.0f (%.3f of them), and %.0f MB of log", f.Segments, f.Bytes, f.Raw, f.Bytes/f.Raw, f.Log)
}

// runIngest appends as fast as it can, then seals and merges.
func runIngest(job barsJob) (any, error) {
	lines, err := job.file()
	if err != nil {
		return nil, err
	}
	return ingest(lines, job.Dir, job.Lines, logstore.Options{})
}

// ingest appends so many lines of a file, which it closes, to a new store as fast as it can,
// then seals and merges.
func ingest(lines *logFile, dir string, n int64, o logstore.Options) (_ *ingestFigures, err error) {
	defer func() { err = errors.Join(err, lines.Close()) }()
	lines.chunks = lines.chunks[:n/logChunk+1]
	var f ingestFigures
	// The cost of reading is measured by reading alone.
	reading, err := cpuOf(func() error { return readAlone(lines) })
	if err != nil {
		return nil, err
	}
	per := func(d time.Duration) float64 { return float64(d) / 1e3 / float64(n) }
	f.Reading = per(reading)
	lines.next.Store(0)

	s, err := logstore.Open(dir, o)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	begin, err := cpuTime()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	used := func(figure *float64) {
		now, e := cpuTime()
		err = errors.Join(err, e)
		*figure = per(now - begin - reading)
	}
	took, err := appendAll(ctx, s, lines, barsAppenders, logChunk, nil)
	if err != nil {
		return nil, err
	}
	f.Rate = float64(n) / time.Since(begun).Seconds()
	used(&f.Appended)
	begun = time.Now()
	err = errors.Join(err, s.Seal(ctx))
	f.SealedIn = time.Since(begun).Seconds()
	used(&f.Sealed)
	begun = time.Now()
	err = errors.Join(err, s.Compact(ctx))
	f.MergedIn = time.Since(begun).Seconds()
	used(&f.Merged)
	f.times = timesOf(took...)
	err = errors.Join(err, f.look(dir, n, s))
	return &f, errors.Join(err, s.Close())
}

// look sets the figures of the store after all lines were appended, and counts them.
func (f *ingestFigures) look(dir string, lines int64, s *logstore.Store) error {
	f.RSS = peakMB()
	stats := s.Stats()
	f.Stopped, f.Delayed = stats.Blocked, stats.Delayed.Seconds()
	f.Raw = float64(stats.Bytes) / float64(lines)
	n, _, err := countAll(context.Background(), s)
	if err == nil && n != lines {
		err = fmt.Errorf("%d lines are in the store, %d were appended", n, lines)
	}
	var size int64
	f.Segments, size, _ = dirSize(filepath.Join(dir, "segments"))
	f.Bytes = float64(size) / float64(lines)
	_, log, _ := dirSize(filepath.Join(dir, "wal"))
	f.Log = float64(log) / 1e6
	return errors.Join(err, stats.BackgroundError)
}

// readAlone reads all lines as appenders do.
func readAlone(lines *logFile) error {
	r := lines.reader()
	for {
		if b, err := r.read(logChunk); err != nil || len(b) == 0 {
			return err
		}
	}
}

// appendAll appends all batches of n lines, until stop is closed, and returns how long
// each took.
func appendAll(ctx context.Context, s *logstore.Store, lines *logFile, appenders, n int, stop <-chan struct{}) ([][]time.Duration, error) {
	took, errs := make([][]time.Duration, appenders), make([]error, appenders)
	var all sync.WaitGroup
	for i := range appenders {
		all.Go(func() {
			r := lines.reader()
			for {
				select {
				case <-stop:
					return
				default:
				}
				b, err := r.read(n)
				if err != nil || len(b) == 0 {
					errs[i] = err
					return
				}
				if stop != nil { // old lines get the current time
					for _, s := range b {
						for j := range s.Entries {
							s.Entries[j].Time = time.Now().UnixNano()
						}
					}
				}
				begin := time.Now()
				if errs[i] = s.Append(ctx, b); errs[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	all.Wait()
	return took, errors.Join(errs...)
}
