package logs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-go/stele/internal/measure/scratch"
)

var (
	manyStreams  = flag.Int("streams", 5_000, "TestManyStreams: streams of the store")
	manySegments = flag.Int("segments", 5, "TestManyStreams: segments of the store, each with one line of every stream; with 400 streams, with 100,000 lines")
	manyMemory   = flag.Int64("memory", 0, "TestManyStreams: Options.Memory, in bytes; 0 is the default")
)

// manyBars are the bars of a store with many streams.
type manyBars struct {
	RSS     float64 // MB, the peak of any part
	LastAll float64 // ms, p95
	Open    float64 // s, of cold files
	Rare    float64 // ms, p95
}

// manyBarsOf has the bars for two processors and the default memory.
var manyBarsOf = map[int]manyBars{
	100_000:   {600, 30, 1.5, 100},
	1_000_000: {1000, 100, 3, 100},
}

// smallHeap bounds the live heap of every part with few streams, as CI has them, in MB.
const smallHeap = 20.

// TestManyStreams measures a store with many streams: the memory, time and disk that
// they cost. Each part is a process of its own, so that the peak of its memory is its
// own too.
//
//	STELE_LONG=1 go test ./suites/logs -run TestManyStreams -v -timeout 40m -args -streams 100000 -segments 140
//	STELE_LONG=1 go test ./suites/logs -run TestManyStreams/last-all -v -args -streams 100000 -segments 140 -dir DIR
//
// The bars are for 100,000 streams in 140 segments and for 1,000,000 in 4. Without
// STELE_LONG nothing but the answers and the live heap is checked.
func TestManyStreams(t *testing.T) {
	if text := os.Getenv(manyJobEnv); text != "" {
		var job manyJob
		if err := json.Unmarshal([]byte(text), &job); err != nil {
			t.Fatal(err)
		}
		sendFigures(t, job.run)
	}
	m := openMany(t)
	t.Run("ingest", m.ingest)
	for _, part := range manyParts {
		t.Run(part.name, func(t *testing.T) { m.part(t, part) })
	}
}

// many is a run of TestManyStreams.
type many struct {
	dir  string // of the store
	job  manyJob
	long bool
	bars manyBars
}

func openMany(t *testing.T) *many {
	m := &many{
		dir: *barsDir, long: os.Getenv("STELE_LONG") != "", bars: manyBarsOf[*manyStreams],
		job: manyJob{Streams: *manyStreams, Segments: *manySegments, Memory: *manyMemory},
	}
	if m.dir == "" {
		m.dir = t.TempDir()
		if m.long {
			p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 16 << 30, Store: m.dir})
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
			m.dir = p.Path
		}
	}
	if err := os.MkdirAll(m.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	m.job.Dir = filepath.Join(m.dir, fmt.Sprintf("streams-%d-%d", m.job.Streams, m.job.Segments))
	return m
}

// run makes a child do a part.
func (m *many) run(t *testing.T, part string, figures any) {
	t.Helper()
	job := m.job
	job.Part = part
	runChild(t, "TestManyStreams", manyJobEnv, part, job, figures)
}

// ingest makes the store.
func (m *many) ingest(t *testing.T) {
	done := m.job.Dir + ".done"
	for _, name := range []string{done, m.job.Dir} {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	var f manyIngest
	m.run(t, "ingest", &f)
	if err := os.WriteFile(done, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d lines: %.2f us of CPU a line until sealed (%.2f to make lines taken off), %.3g lines/s; appends of %d lines: %s",
		f.Lines, f.CPU, f.Making, f.Rate, logChunk, f.Took)
	t.Logf("%d segments, %.1f bytes a line of %.1f on disk (%.3f of them); labels have %.1f bytes a stream",
		f.Segments, f.Bytes, f.Raw, f.Bytes/f.Raw, f.Labels)
	if f.Segments != m.job.Segments {
		t.Errorf("the store has %d segments; want %d", f.Segments, m.job.Segments)
	}
	t.Logf("most memory that Stats told: %.0f MB", f.Counted)
	m.memory(t, f.Memory)
}

// part measures a part of the store, which is made first if it is missing.
func (m *many) part(t *testing.T, p manyPart) {
	if _, err := os.Stat(m.job.Dir + ".done"); err != nil {
		m.ingest(t)
	}
	var f manyFigures
	m.run(t, p.name, &f)
	t.Logf("open after %.3g s", f.Opened)
	m.memory(t, f.OpenMemory)
	if p.ask != nil {
		t.Logf("%s: the first %.3g ms, then %s", p.name, f.First, f.Took)
		m.memory(t, f.Memory)
	}
	if !m.long || m.bars == (manyBars{}) {
		return
	}
	switch p.name {
	case "open-cold":
		barAtMost(t, "open, files not in the page cache", f.Opened, "s", m.bars.Open)
	case "last-all":
		barAtMost(t, "the last 100 of everything, p95", f.Took.P95, "ms", m.bars.LastAll)
	case "rare":
		barAtMost(t, "a rare word over all streams, p95", f.Took.P95, "ms", m.bars.Rare)
	}
}

// memory checks the figures of a child.
func (m *many) memory(t *testing.T, f manyMemoryFigures) {
	t.Helper()
	t.Logf("memory: peak %.0f MB; live heap %.0f MB; Stats says %.1f MB", f.RSS, f.Heap, countedMB(f.Shares))
	for _, s := range f.Shares {
		if s.Used > s.Limit+s.Limit/16 { // a cache is beyond its bound for moments
			t.Errorf("%s: %d bytes; want at most %d", s.Name, s.Used, s.Limit)
		}
	}
	switch {
	case !m.long:
		if f.Heap > smallHeap {
			t.Errorf("the live heap has %.1f MB; want at most %.0f", f.Heap, smallHeap)
		}
	case m.bars != manyBars{}:
		barAtMost(t, "peak memory", f.RSS, "MB", m.bars.RSS)
	}
}
