package logs

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore"
)

var (
	codecRounds = flag.Int("rounds", 2, "TestCodecBars: how often each codec is measured, in turn")
	codecRate   = flag.Float64("rate", 300_000, "TestCodecBars: lines a second of the part rate")
)

// The bars of the second codec, for two processors. Those without a unit are shares of what
// the first codec takes in the same run.
const (
	barCodecBytes  = 9.5 // a line, of barBytesOf lines
	barCodecCPU    = 1.4
	barCodecRSS    = 1.2
	barCodecAppend = 1.1 // p99; no worse, but for the noise of a p99
	barCodecScan   = 500 // MB/s of lines a core
	barCodecLast   = 1.1 // the last 100; no slower
)

// TestCodecBars measures the codecs of blocks side by side, each in processes of its own and
// in turn, and compares the second one with the bars that it was built for:
//
//	STELE_LONG=1 go test ./suites/logs -run TestCodecBars -v -timeout 90m -args -corpus DIR
//	STELE_LONG=1 go test ./suites/logs -run TestCodecBars/query -v -timeout 90m -args -corpus DIR -dir DIR
//
// Parts: size and rate append lines; systems has the bytes and the CPU of each system of the
// corpus; query and structured ask queries of stores of -lines lines, and of a quarter as
// many in JSON.
func TestCodecBars(t *testing.T) {
	if text := os.Getenv(codecJobEnv); text != "" {
		codecChild(t, text)
		return
	}
	if os.Getenv("STELE_LONG") == "" {
		t.Skip("takes an hour of all processors; set STELE_LONG=1")
	}
	b := &codecBars{bars: openBars(t)}
	t.Run("size", b.size)
	t.Run("rate", b.rate)
	t.Run("systems", b.systems)
	t.Run("query", b.query)
	t.Run("structured", b.structured)
}

// codecJobEnv has the job of a child.
const codecJobEnv = "STELE_CODEC_BARS"

// A codecJob is the task of a child.
type codecJob struct {
	Part  string
	Codec logstore.Codec
	Dir   string // of the store
	File  string // of the lines
	Lines int64
	// Corpus is where the lines come from; with JSON they are those of Structured.
	Corpus string
	JSON   bool
	Rate   float64 // lines a second of the part rate
	System string  // of the part system
	Log    string  // of the part log: a file that is no corpus
	Hard   string  // of the part hard: a kind
}

type codecBars struct{ *bars }

// run makes a child do a job.
func (b *codecBars) run(t *testing.T, job codecJob, figures any) {
	t.Helper()
	job.Corpus = *barsCorpus
	if job.File == "" {
		job.File = b.lines
	}
	runCodecChild(t, job, figures)
}

func runCodecChild(t *testing.T, job codecJob, figures any) {
	t.Helper()
	runChild(t, "TestCodecBars", codecJobEnv, fmt.Sprintf("%s, codec %v", job.Part, job.Codec), job, figures)
}

// inTurn calls do for each codec, as many rounds as asked for. The order is turned around
// each time.
func inTurn(do func(codec logstore.Codec)) {
	for round := range *codecRounds {
		list := slices.Clone(codecs)
		if round%2 == 1 {
			slices.Reverse(list)
		}
		for _, c := range list {
			do(c.codec)
		}
	}
}

// medianOf returns the median of a figure, the higher one of two in the middle.
func medianOf[T any, N cmp.Ordered](list []T, figure func(T) N) N {
	all := make([]N, len(list))
	for i := range list {
		all[i] = figure(list[i])
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// against logs a figure of both codecs, and compares its share with a bar.
func against[T any](t *testing.T, name, unit string, of map[logstore.Codec][]T, figure func(T) float64, limit float64) {
	t.Helper()
	first := medianOf(of[codecs[0].codec], figure)
	for _, c := range codecs[1:] {
		second := medianOf(of[c.codec], figure)
		t.Logf("%s: codec %v %.5g %s, codec %v %.5g", name, codecs[0].codec, first, unit, c.codec, second)
		barAtMost(t, name+", to the first codec", second/first, "times", limit)
	}
}

// size appends lines as fast as it can, seals and merges.
func (b *codecBars) size(t *testing.T) {
	lines := min(*barsLines, barBytesOf)
	of := map[logstore.Codec][]codecIngest{}
	inTurn(func(codec logstore.Codec) {
		dir := filepath.Join(b.dir, "codec-size")
		defer os.RemoveAll(dir)
		var f codecIngest
		b.run(t, codecJob{Part: "ingest", Codec: codec, Dir: dir, Lines: lines}, &f)
		f.show(t)
		of[codec] = append(of[codec], f)
	})
	for _, c := range codecs {
		t.Logf("codec %v: %v", c.codec, of[c.codec][0].Parts)
		if c.codec == logstore.CodecColumns {
			barAtMost(t, fmt.Sprintf("bytes on disk of %.3g million lines", float64(lines)/1e6), of[c.codec][0].Parts.sum(), "a line", barCodecBytes)
		}
	}
	against(t, "bytes", "a line", of, func(f codecIngest) float64 { return f.Parts.sum() }, 1)
	against(t, "CPU until sealed and merged", "us/line", of, func(f codecIngest) float64 { return f.Merged }, barCodecCPU)
	against(t, "peak memory of appends", "MB", of, func(f codecIngest) float64 { return f.RSS }, barCodecRSS)
}

// rate appends at a fixed rate, and takes the time of an append from when it was due.
func (b *codecBars) rate(t *testing.T) {
	of := map[logstore.Codec][]times{}
	inTurn(func(codec logstore.Codec) {
		dir := filepath.Join(b.dir, "codec-rate")
		defer os.RemoveAll(dir)
		var f times
		b.run(t, codecJob{Part: "rate", Codec: codec, Dir: dir, Lines: *barsLines, Rate: *codecRate}, &f)
		t.Logf("%.0f lines a second in batches of %d: %s", *codecRate, logChunk, f)
		of[codec] = append(of[codec], f)
	})
	against(t, fmt.Sprintf("p99 of an append at %.0f lines/s", *codecRate), "ms", of, func(f times) float64 { return f.P99 }, barCodecAppend)
}

// systems has each system of the corpus alone in a store.
func (b *codecBars) systems(t *testing.T) {
	var rows []codecRow
	for _, name := range (Source{Corpus: *barsCorpus}).systemNames() {
		rows = append(rows, b.row(t, name, codecJob{Part: "system", System: name}))
	}
	showRows(t, rows)
}

// row measures the lines of a job with each codec.
func (b *codecBars) row(t *testing.T, name string, job codecJob) codecRow {
	r := codecRow{name: name, of: map[logstore.Codec]codecFigures{}}
	for _, c := range codecs {
		job.Codec, job.Dir = c.codec, filepath.Join(b.dir, "codec-system")
		var f codecFigures
		b.run(t, job, &f)
		if err := os.RemoveAll(job.Dir); err != nil {
			t.Fatal(err)
		}
		r.of[c.codec] = f
	}
	return r
}

// A codecRow has the figures of one system.
type codecRow struct {
	name string
	of   map[logstore.Codec]codecFigures
}

// share returns the bytes of the second codec, of those of the first one.
func (r *codecRow) share() float64 {
	return r.of[logstore.CodecColumns].Bytes / r.of[logstore.CodecLines].Bytes
}

// showRows logs a table of systems, a row for each codec.
func showRows(t *testing.T, rows []codecRow) {
	head := fmt.Sprintf("%-16s %-8s %9s %8s %8s %8s", "system", "codec", "lines", "raw B", "B/line", "us/line")
	for _, q := range codecQuestions {
		head += fmt.Sprintf(" %14s", q.name)
	}
	t.Log(head + "  (queries in ms)")
	for _, r := range rows {
		for _, c := range codecs {
			f := r.of[c.codec]
			line := fmt.Sprintf("%-16s %-8v %9d %8.1f %8.2f %8.2f", r.name, c.codec, f.Lines, f.Raw, f.Bytes, f.CPU)
			for _, q := range codecQuestions {
				if ms, ok := f.Asked[q.name]; ok {
					line += fmt.Sprintf(" %14.3g", ms)
				} else {
					line += fmt.Sprintf(" %14s", "-")
				}
			}
			t.Log(line)
		}
	}
}

// storeOf returns the directory of a store with lines of a file and a codec, which is made
// if it is missing.
func (b *codecBars) storeOf(t *testing.T, codec logstore.Codec, file string, lines int64, structured bool) string {
	dir := filepath.Join(b.dir, fmt.Sprintf("store-%s-%v", filepath.Base(file), codec))
	done := dir + ".done"
	build := buildOf(t)
	if by, err := os.ReadFile(done); err == nil {
		if string(by) != build {
			t.Logf("%s was made by another build of this test: so are its bytes and its layout", dir)
		}
		return dir
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	var f codecIngest
	b.run(t, codecJob{Part: "ingest", Codec: codec, Dir: dir, File: file, Lines: lines, JSON: structured}, &f)
	f.show(t)
	t.Logf("codec %v: %v", codec, f.Parts)
	if err := os.WriteFile(done, []byte(build), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// buildOf returns the checksum of the program that runs.
func buildOf(t *testing.T) string {
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(p))
}

// structuredLines returns the file of lines in JSON.
func (b *codecBars) structuredLines(t *testing.T) (file string, lines int64) {
	lines = max(*barsLines/4/logChunk, 1) * logChunk
	file = filepath.Join(filepath.Dir(b.lines), fmt.Sprintf("lines-structured-%d", lines))
	if _, err := os.Stat(file); err == nil {
		return file, lines
	}
	part := file + ".part"
	if err := os.RemoveAll(part); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := writeLogFile(part, NewStructured(1, true).Next, lines); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, file); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d lines of JSON were made in %.0f s", lines, time.Since(begun).Seconds())
	return file, lines
}

// codecChild does a job, sends its figures, and waits to be killed.
func codecChild(t *testing.T, text string) {
	var job codecJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	do := map[string]func(codecJob) (any, error){
		"ingest": codecIngestOf, "rate": codecRateOf, "system": codecSystemOf, "query": codecQueryOf,
		"log": codecLogOf, "hard": codecHardOf,
	}[job.Part]
	sendFigures(t, func() (any, error) { return do(job) })
}
