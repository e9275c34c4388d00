package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
)

// A codecQuery is asked of stores with each codec. Both must give the same answer.
type codecQuery struct {
	name  string
	limit float64 // ms; 0 is no bar
	n     int     // how often it is asked, after once
	ask   func(a *codecAsking, i int) (answer float64, err error)
}

// codecEnd is the moment of instant queries: behind all lines, which fit into codecRange.
const (
	codecEnd   = logStart + 36*int64(time.Hour)
	codecRange = "[37h]"
	codecAll   = "{app=~`.+`}"
)

// A codecAsking has a store to ask.
type codecAsking struct {
	asking
	engine *logql.Engine
	part   string // of a word in many lines
	number string // a part of one
}

// instant returns the sum of the values of an instant query.
func (a *codecAsking) instant(query string) (float64, error) {
	return a.run(logql.Request{Query: query, Start: codecEnd, End: codecEnd, Instant: true})
}

// run returns the sum of all points, or the number of lines.
func (a *codecAsking) run(r logql.Request) (sum float64, err error) {
	found, err := a.engine.Run(a.ctx, r)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", r.Query, err)
	}
	for i := range found.Series {
		for _, p := range found.Series[i].Points {
			sum += p.Value
		}
	}
	return sum + float64(len(found.Lines)), nil
}

// counted counts the lines of everything that a stage keeps.
func counted(stage func(a *codecAsking, i int) string) func(a *codecAsking, i int) (float64, error) {
	return func(a *codecAsking, i int) (float64, error) {
		return a.instant("sum(count_over_time(" + codecAll + " " + stage(a, i) + " " + codecRange + "))")
	}
}

func always(stage string) func(*codecAsking, int) string {
	return func(*codecAsking, int) string { return stage }
}

func contains(part string) string { return "|= `" + part + "`" }

// codecQueries are asked over all lines.
var codecQueries = []codecQuery{
	{"a rare word", 8, 30, func(a *codecAsking, i int) (float64, error) {
		n, err := a.query(logstore.Query{Filter: logstore.Word(rareWordOf(i))})
		return float64(n), err
	}},
	{"a part of a common word", 250, 3, counted(func(a *codecAsking, _ int) string { return contains(a.part) })},
	{"a part of a rare word", 30, 30, counted(func(_ *codecAsking, i int) string { return contains(rareWordOf(i)[2:]) })},
	{"an absent part", 30, 30, counted(func(_ *codecAsking, i int) string { return contains(fmt.Sprintf("qzx%cvjw", 'a'+i%26)) })},
	{"a part of a number", 250, 3, counted(func(a *codecAsking, _ int) string { return contains(a.number) })},
	{"error, counted", 400, 3, counted(always(contains("error")))},
	{"count per minute by app", 60, 5, func(a *codecAsking, _ int) (float64, error) {
		return a.run(logql.Request{Query: "sum by (app) (count_over_time(" + codecAll + "[1m]))", Start: logStart, End: logStart + 2*int64(time.Hour), Step: time.Minute})
	}},
	{"a regex of three alternatives, counted", 500, 3, counted(always("|~ `timeout|refused|denied`"))},
	{"a regex without a literal, counted", 0, 1, counted(always("|~ `\\d+\\.\\d+\\.\\d+\\.\\d+`"))},
	{codecLast, 0, 20, func(a *codecAsking, _ int) (float64, error) {
		n, err := a.query(logstore.Query{Order: logstore.Backward, Limit: logLast})
		return float64(n), err
	}},
}

const codecLast = "the last 100 of everything"

// structuredQueries are asked over lines of Structured in JSON.
var structuredQueries = []codecQuery{
	{"a JSON field compared, counted", 200, 3, counted(always("| json | status>=500"))},
	{"a JSON field of text, counted", 0, 3, counted(always("| json | method=`DELETE`"))},
	{"the top 10 of a field", 150, 3, func(a *codecAsking, _ int) (float64, error) {
		return a.instant("topk(10, sum by (status) (count_over_time(" + codecAll + " | json " + codecRange + ")))")
	}},
	{"the sum of a field by another", 0, 3, func(a *codecAsking, _ int) (float64, error) {
		return a.instant("sum by (method) (sum_over_time(" + codecAll + " | json | unwrap bytes " + codecRange + "))")
	}},
}

// codecAnswers are what a process has found.
type codecAnswers struct {
	Took    []times // of codecQueries or structuredQueries
	Answers []float64
	Scan    float64 // MB of lines for each second of CPU: all lines are folded
	InOrder float64 // the same, and they are read in the order of their times
	RSS     float64 // MB
}

func codecQueryOf(job codecJob) (any, error) {
	lines, err := job.open()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	if err := readFiles(job.Dir); err != nil {
		return nil, err
	}
	s, err := logstore.OpenReadOnly(job.Dir, logstore.Options{})
	if err != nil {
		return nil, err
	}
	<-s.Ready()
	a := &codecAsking{asking: asking{ctx: context.Background(), lines: lines, store: s}, engine: logql.NewEngine(s, logql.Options{})}
	if err := a.needles(); err != nil {
		return nil, err
	}
	queries := codecQueries
	if job.JSON {
		queries = structuredQueries
	}
	var f codecAnswers
	for i := range queries {
		took, answer, err := a.time(&queries[i])
		if err != nil {
			return nil, err
		}
		f.Took, f.Answers = append(f.Took, took), append(f.Answers, answer)
	}
	f.Scan, err = perSecond(a.fold)
	if err == nil {
		f.InOrder, err = perSecond(a.inOrder)
	}
	f.RSS = peakMB()
	return f, errors.Join(err, s.Close())
}

// perSecond returns how many MB of lines read reads in a second of CPU.
func perSecond(read func() (bytes int64, err error)) (float64, error) {
	var bytes int64
	cpu, err := cpuOf(func() (err error) {
		bytes, err = read()
		return err
	})
	return float64(bytes) / 1e6 / cpu.Seconds(), err
}

// inOrder reads all lines, and returns their bytes.
func (a *codecAsking) inOrder() (bytes int64, err error) {
	for e, err := range a.store.Query(a.ctx, logstore.Query{}) {
		if err != nil {
			return bytes, err
		}
		bytes += int64(len(e.Line))
	}
	return bytes, nil
}

// A lineMeter counts the bytes of lines.
type lineMeter struct{ bytes int64 }

func (m *lineMeter) Fold(r logstore.Result) error {
	m.bytes += int64(len(r.Line))
	return nil
}

// fold reads all lines in no order, and returns their bytes.
func (a *codecAsking) fold() (bytes int64, err error) {
	var all []*lineMeter
	err = a.store.Fold(a.ctx, logstore.Query{}, func(func(int64) error) logstore.Folder {
		m := new(lineMeter)
		all = append(all, m)
		return m
	})
	for _, m := range all {
		bytes += m.bytes
	}
	return bytes, err
}

// readFiles brings all files below dir into the page cache.
func readFiles(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() // nothing is written
		_, err = io.Copy(io.Discard, f)
		return err
	})
}

// needles finds what to look for, the same in each process.
func (a *codecAsking) needles() error {
	words, left := wordCount{}, needleLines
	err := a.lines.scan(false, func(_ uint32, line []byte) bool {
		words.add(line)
		if n := partOfNumber(line); n != "" {
			a.number = n
		}
		left--
		return left > 0
	})
	word := words.most()
	if err == nil && (word == "" || a.number == "") {
		err = errors.New("the first lines have no word or no number to look for")
	}
	a.part = word[min(1, len(word)):max(len(word)-1, 0)]
	return err
}

// time asks a query, the first time without timing it.
func (a *codecAsking) time(q *codecQuery) (times, float64, error) {
	var took []time.Duration
	sum := 0.0
	for i := range q.n + 1 {
		begun := time.Now()
		answer, err := q.ask(a, i)
		if err != nil {
			return times{}, 0, fmt.Errorf("%s: %w", q.name, err)
		}
		if i > 0 {
			took = append(took, time.Since(begun))
		}
		sum += answer
	}
	return timesOf(took), sum, nil
}

// query asks all lines.
func (b *codecBars) query(t *testing.T) {
	of := map[logstore.Codec][]codecAnswers{}
	inTurn(func(codec logstore.Codec) {
		dir := b.storeOf(t, codec, b.lines, *barsLines, false)
		var f codecAnswers
		b.run(t, codecJob{Part: "query", Codec: codec, Dir: dir}, &f)
		of[codec] = append(of[codec], f)
	})
	showAnswers(t, codecQueries, of)
	second := of[logstore.CodecColumns]
	if len(second) == 0 {
		return
	}
	barAtLeast(t, "full scans, a core", medianOf(second, func(f codecAnswers) float64 { return f.Scan }), "MB/s", barCodecScan)
	against(t, "peak memory of queries", "MB", of, func(f codecAnswers) float64 { return f.RSS }, barCodecRSS)
	for i := range codecQueries {
		if codecQueries[i].name == codecLast {
			against(t, codecLast, "ms", of, func(f codecAnswers) float64 { return f.Took[i].P50 }, barCodecLast)
		}
	}
}

// structured asks lines in JSON.
func (b *codecBars) structured(t *testing.T) {
	file, lines := b.structuredLines(t)
	of := map[logstore.Codec][]codecAnswers{}
	inTurn(func(codec logstore.Codec) {
		dir := b.storeOf(t, codec, file, lines, true)
		var f codecAnswers
		b.run(t, codecJob{Part: "query", Codec: codec, Dir: dir, File: file, JSON: true}, &f)
		of[codec] = append(of[codec], f)
	})
	showAnswers(t, structuredQueries, of)
}

// showAnswers compares the times of queries with their bars, and the answers of the codecs
// with each other. A query takes the median of the medians of processes.
func showAnswers(t *testing.T, queries []codecQuery, of map[logstore.Codec][]codecAnswers) {
	t.Helper()
	for i, q := range queries {
		want := of[codecs[0].codec][0].Answers[i]
		for _, c := range codecs {
			for _, f := range of[c.codec] {
				if got := f.Answers[i]; math.Abs(got-want) > 1e-9*want {
					t.Errorf("%s: codec %v answers %v, codec %v %v", q.name, c.codec, got, codecs[0].codec, want)
				}
			}
			ms := medianOf(of[c.codec], func(f codecAnswers) float64 { return f.Took[i].P50 })
			if c.codec == logstore.CodecColumns && q.limit > 0 {
				barAtMost(t, q.name, ms, "ms", q.limit)
				continue
			}
			t.Logf("%-46s %10.5g ms       codec %v, answers %v", q.name, ms, c.codec, want)
		}
	}
	for _, c := range codecs {
		t.Logf("full scans, a core: codec %v %.0f MB/s, in the order of times %.0f MB/s", c.codec,
			medianOf(of[c.codec], func(f codecAnswers) float64 { return f.Scan }), medianOf(of[c.codec], func(f codecAnswers) float64 { return f.InOrder }))
	}
}
