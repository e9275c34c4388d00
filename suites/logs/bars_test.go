package logs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
)

var (
	barsLines   = flag.Int64("lines", 20_000_000, "TestLogBars: lines of the store, in thousands")
	barsCorpus  = flag.String("corpus", "", "TestLogBars: directory of real logs to make the lines from; else they are generated")
	barsQueries = flag.Int("queries", 100, "TestLogBars: queries a second while 64 append")
	barsDir     = flag.String("dir", "", "TestLogBars: directory of lines and stores, which stay for the next run; else a new ext4 for each run")
)

// The bars of the store, for two processors.
const (
	barCPU       = 1.8     // us a line, until sealed and merged
	barRate      = 700_000 // lines a second
	barAppend    = 25.     // ms, p99 at full load
	barRSS       = 400.    // MB
	barBytes     = 18.     // a line on disk
	barBytesOf   = 5_000_000
	barSmallRate = 42_000 // appends of one line a second
	barSmall     = 9.     // ms, p99
	barRare      = 25.    // ms
	barLastOf    = 7.     // ms
	barLastAll   = 30.    // ms
	barCount     = 3.     // ms
	barVisible   = 1.     // ms
	barStart     = 10.    // s
	barStartOf   = 1 << 30
)

// TestLogBars compares a store with the bars that it was built for, a line each:
//
//	STELE_LONG=1 go test ./suites/logs -run TestLogBars -v -timeout 30m
//	STELE_LONG=1 go test ./suites/logs -run TestLogBars/query -v -args -lines 1000000 -corpus DIR -dir DIR
//
// Each part is a test of its own. They use the store of the part ingest, which runs
// first if it has not. A store is measured in a process of its own, which otherwise
// only reads lines from a file. Queries are measured on a store whose files are in the
// page cache, and no query is made twice.
func TestLogBars(t *testing.T) {
	if job := os.Getenv(barsJobEnv); job != "" {
		barsChild(t, job)
		return
	}
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes five minutes of all processors; set STELE_LONG=1")
	}
	b := openBars(t)
	t.Run("ingest", b.ingest)
	t.Run("size", b.size)
	t.Run("query", b.query)
	t.Run("visible", b.visible)
	t.Run("small", b.small)
	t.Run("restart", b.restart)
}

// bars has the places of the files of a run of TestLogBars.
type bars struct {
	dir   string // DIR/lines, DIR/store, and others
	lines string
}

func openBars(t *testing.T) *bars {
	b := &bars{dir: *barsDir}
	made := t.TempDir()
	if b.dir != "" {
		if err := os.MkdirAll(b.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		made = b.dir
	} else {
		p, err := scratch.Image(t.Context(), scratch.Options{FS: "ext4", Size: 16 << 30, Store: made})
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		b.dir = p.Path
	}
	source := "builtin"
	if *barsCorpus != "" {
		source = filepath.Base(*barsCorpus)
	}
	// Not on the image: reading lines must not compete with the store.
	b.lines = filepath.Join(made, fmt.Sprintf("lines-%s-%d", source, *barsLines))
	if _, err := os.Stat(b.lines); err != nil {
		b.makeLines(t)
	}
	return b
}

func (b *bars) makeLines(t *testing.T) {
	l, err := newLines(1, Source{Corpus: *barsCorpus})
	if err != nil {
		t.Fatal(err)
	}
	for word, at := range rareWords(*barsLines) {
		if err := l.plantWord(word, at); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	part := b.lines + ".part"
	if err := os.RemoveAll(part); err != nil {
		t.Fatal(err)
	}
	if err := writeLogFile(part, l.Next, *barsLines); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, b.lines); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(b.lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d lines of %.0f bytes on average were made in %.0f s", *barsLines,
		float64(fi.Size())/float64(*barsLines)-logLineHead, time.Since(begun).Seconds())
}

// bar logs a figure with its bar, and fails the test if it is not met.
func bar(t *testing.T, name string, figure float64, unit string, met bool, limit string) {
	t.Helper()
	verdict := "met"
	if !met {
		verdict = "NOT MET"
		t.Fail()
	}
	t.Logf("%-46s %10.5g %-8s bar %-12s %s", name, figure, unit, limit, verdict)
}

func barAtMost(t *testing.T, name string, figure float64, unit string, limit float64) {
	t.Helper()
	bar(t, name, figure, unit, figure <= limit, fmt.Sprintf("<= %g", limit))
}

func barAtLeast(t *testing.T, name string, figure float64, unit string, limit float64) {
	t.Helper()
	bar(t, name, figure, unit, figure >= limit, fmt.Sprintf(">= %g", limit))
}

// store returns the directory of the store of all lines, and makes it first if it is
// missing.
func (b *bars) store(t *testing.T) string {
	dir := b.storeDir()
	if _, err := os.Stat(dir + ".done"); err != nil {
		b.ingested(t)
	}
	return dir
}

func (b *bars) storeDir() string {
	return filepath.Join(b.dir, "store-"+filepath.Base(b.lines))
}

func (b *bars) ingested(t *testing.T) ingestFigures {
	dir := b.storeDir()
	done := dir + ".done"
	for _, name := range []string{done, dir} {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	var f ingestFigures
	b.run(t, barsJob{Part: "ingest", Dir: dir, Lines: *barsLines}, &f)
	if err := os.WriteFile(done, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	return f
}

func (b *bars) ingest(t *testing.T) {
	f := b.ingested(t)
	f.show(t)
	barAtMost(t, "batches of 1,000: CPU until sealed and merged", f.Merged, "us/line", barCPU)
	barAtLeast(t, "batches of 1,000: rate", f.Rate, "lines/s", barRate)
	barAtMost(t, "batches of 1,000: p99 of an append", f.P99, "ms", barAppend)
	barAtMost(t, "batches of 1,000: peak memory", f.RSS, "MB", barRSS)
}

func (b *bars) size(t *testing.T) {
	lines := min(*barsLines, barBytesOf)
	dir := filepath.Join(b.dir, "size")
	defer os.RemoveAll(dir)
	var f ingestFigures
	b.run(t, barsJob{Part: "ingest", Dir: dir, Lines: lines}, &f)
	f.show(t)
	barAtMost(t, fmt.Sprintf("bytes on disk of %.3g million lines", float64(lines)/1e6), f.Bytes, "a line", barBytes)
}

func (b *bars) query(t *testing.T) {
	var f queryFigures
	b.run(t, barsJob{Part: "query", Dir: b.store(t), Lines: *barsLines}, &f)
	t.Logf("open %.3g ms; the first query, for the count, %.3g ms; peak memory %.0f MB", f.Open, f.First, f.RSS)
	t.Logf("a rare part of a word: %s", f.Part)
	for _, q := range []struct {
		name  string
		took  times
		limit float64
	}{
		{"a rare word over all streams", f.Rare, barRare},
		{"the last 100 of one stream", f.LastOf, barLastOf},
		{"the last 100 of everything", f.LastAll, barLastAll},
		{"the total count", f.Count, barCount},
	} {
		t.Logf("%s: %s", q.name, q.took)
		barAtMost(t, q.name+", p95", q.took.P95, "ms", q.limit)
	}
}

func (b *bars) visible(t *testing.T) {
	var f visibleFigures
	b.run(t, barsJob{Part: "visible", Dir: b.store(t), Lines: *barsLines}, &f)
	t.Logf("from the acknowledgement until a query has found the line: %s", f.Took)
	bar(t, "found by the first query after it", 100*float64(f.First)/float64(f.Of), "%", f.First == f.Of, "100")
	barAtMost(t, "visible after the acknowledgement, p99", f.Took.P99, "ms", barVisible)
}

func (b *bars) small(t *testing.T) {
	var f smallFigures
	b.run(t, barsJob{Part: "small", Dir: b.store(t), Lines: *barsLines, Queries: *barsQueries}, &f)
	t.Logf("appends: %s; peak memory %.0f MB", f.Took, f.RSS)
	for i, what := range []string{"a rare word", "the last 100 of a stream", "the total count", "the last 100 of everything"} {
		t.Logf("meanwhile, %s: %s", what, f.Queries[i])
	}
	barAtLeast(t, "64 appenders of one line, with queries", f.Rate, "lines/s", barSmallRate)
	barAtMost(t, "64 appenders of one line, p99", f.Took.P99, "ms", barSmall)
}

func (b *bars) restart(t *testing.T) {
	dir := filepath.Join(b.dir, "restart")
	defer os.RemoveAll(dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	var full fillFigures
	b.run(t, barsJob{Part: "fill", Dir: dir, Lines: *barsLines}, &full) // killed as it ends
	var f restartFigures
	b.run(t, barsJob{Part: "restart", Dir: dir, Lines: full.Lines}, &f)
	t.Logf("%.0f MB of log: open after %.3g s, then %d queries until ready, the slowest %.3g ms; %d segments sealed; peak memory %.0f MB",
		full.Log, f.Open, f.Queries, f.Slowest, f.Sealed, f.RSS)
	bar(t, "acknowledged lines there after kill -9", 100*float64(f.Found)/float64(full.Lines), "%", f.Found == full.Lines, "100")
	barAtMost(t, fmt.Sprintf("start after a crash with %.3g GiB of log", full.Log*1e6/(1<<30)), f.Ready, "s", barStart)
}

// barsJobEnv has the job of a child.
const barsJobEnv = "STELE_LOG_BARS"

// A barsJob is the task of a child.
type barsJob struct {
	Part   string
	Dir    string // of the store
	File   string // of the lines
	Corpus string
	Lines  int64
	// Queries is how many queries a second the part small makes beside appends.
	Queries int
}

// run makes a child do a job.
func (b *bars) run(t *testing.T, job barsJob, figures any) {
	t.Helper()
	job.File, job.Corpus = b.lines, *barsCorpus
	runChild(t, "TestLogBars", barsJobEnv, job.Part, job, figures)
}

// runChild makes a process of this program run one test with a job in an environment
// variable, and kills it once it has sent its figures.
func runChild(t *testing.T, test, env, part string, job, figures any) {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := exec.CommandContext(t.Context(), self, "-test.run=^"+test+"$", "-test.timeout=0")
	c.Env = append(os.Environ(), env+"="+string(text))
	c.Stdout, c.Stderr, c.ExtraFiles = os.Stderr, os.Stderr, []*os.File{w}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	told := barsTold{Figures: figures}
	err = json.NewDecoder(r).Decode(&told)
	c.Process.Kill()
	ended := c.Wait() // by the kill, or before it
	if err != nil {
		t.Fatalf("%s: no figures: %v; %v", part, err, ended)
	}
	t.Logf("%s: took %.1f s; its threads waited for a processor for %.1f s", part, told.Took.Seconds(), told.Waited.Seconds())
}
