package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
)

// The readers of a file of lines together get the lines that were made, grouped by stream
// and in order.
func TestLogFileKeepsLines(t *testing.T) {
	for _, streams := range []int{0, 70_000} {
		t.Run(fmt.Sprint("streams=", streams), func(t *testing.T) { logFileKeepsLines(t, Source{Streams: streams}) })
	}
}

func logFileKeepsLines(t *testing.T, from Source) {
	const lines = 20 * logChunk
	name := filepath.Join(t.TempDir(), "lines")
	made := func() *Lines {
		l, err := newLines(7, from)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if err := writeLogFile(name, made().Next, lines); err != nil {
		t.Fatal(err)
	}
	source := made()
	var want []string
	var e Line
	for range lines {
		source.Next(&e)
		want = append(want, fmt.Sprint(e.App, e.Host, e.Level, e.Time, string(e.Line)))
	}
	for _, n := range []int{1, 100, logChunk} {
		f, err := openLogFile(name, source.Labels())
		if err != nil {
			t.Fatal(err)
		}
		if f.lines() != lines {
			t.Fatalf("%d lines are in the file of %d", f.lines(), lines)
		}
		left := map[string]int{}
		for _, w := range want {
			left[w]++
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 3 {
			r := f.reader()
			all.Go(func() {
				for {
					b, err := r.read(n)
					if err != nil {
						t.Error(err)
					}
					if len(b) == 0 {
						return
					}
					mu.Lock()
					checkBatch(t, b, n, left)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(left) > 0 {
			t.Errorf("batches of %d: %d lines were not read", n, len(left))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Lines that another version has made are refused.
func TestLogFileOfAnotherVersion(t *testing.T) {
	l := mustLogLines(t, 7, "")
	name := filepath.Join(t.TempDir(), "lines")
	if err := writeLogFile(name, l.Next, logChunk); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][]byte{nil, text[len(logFileHead):]} {
		if err := os.WriteFile(name, wrong, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := openLogFile(name, l.Labels()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%d bytes of lines: %v", len(wrong), err)
		}
	}
}

func checkBatch(t *testing.T, b logstore.Batch, n int, left map[string]int) {
	seen := map[logstore.Labels]bool{}
	for _, s := range b {
		if seen[s.Labels] {
			t.Errorf("a batch has %s twice", s.Labels)
		}
		seen[s.Labels] = true
		last := int64(0)
		for _, e := range s.Entries {
			n--
			key := fmt.Sprint(s.Labels.Get("app"), s.Labels.Get("host"), s.Labels.Get("level"), e.Time, string(e.Line))
			if left[key]--; left[key] == 0 {
				delete(left, key)
			} else if left[key] < 0 {
				t.Errorf("%s was not made", key)
			}
			if e.Time < last {
				t.Errorf("%s comes after a later one", key)
			}
			last = e.Time
		}
	}
	if n != 0 {
		t.Errorf("a batch lacks %d lines", n)
	}
}

// Every way keeps every line, and finds the lines with a word.
func TestLogWaysKeepLines(t *testing.T) {
	source := mustLogLines(t, 1, "")
	const lines = 5_000
	for word, at := range rareWords(lines) {
		if err := source.plantWord(word, at); err != nil {
			t.Fatal(err)
		}
	}
	batch := linesOf(source, source.Labels(), lines)
	for _, w := range ways() {
		k, err := w.Open(job.Site{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < lines; i += 500 {
			if err := k.append(batch[i : i+500]); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			if n, err := k.find(rareWordOf(i)); n != rareEach || err != nil {
				t.Errorf("%s: %d lines with %s, %v", w.Name, n, rareWordOf(i), err)
			}
		}
		if n, err := k.find("wordthatnolinehas"); n != 0 || err != nil {
			t.Errorf("%s: %d lines with a word that no line has, %v", w.Name, n, err)
		}
		if err := k.close(); err != nil {
			t.Error(err)
		}
	}
}

// Every way runs in every kind of experiment and reports what it found. The ways of
// asking a question have the same answer.
func TestLogExperimentsRun(t *testing.T) {
	builtin, corpus := logSuite{scale: 1024}, logSuite{scale: 1024, from: Source{Corpus: writeCorpus(t)}}
	many := logSuite{scale: 1024, from: Source{Streams: 3000}}
	runVariants(t, many.append(100, 16).Build(), 40, "stored_share")
	for _, e := range many.queries(logIdle) {
		runVariants(t, e, 3, "lines_per_answer")
	}
	runVariants(t, builtin.append(100, 16).Build(), 40, "lines_per_second", "cpu_ns_per_line", "stored_share")
	for _, state := range []string{logIdle, logAppending} {
		list := corpus.queries(state)
		for _, e := range append(builtin.queries(state), list[len(list)-1]) {
			runVariants(t, e, 3, "lines_per_answer")
		}
	}
	for _, l := range []logSuite{builtin, corpus} {
		runVariants(t, l.restart(), 1, "open_ns", "first_answer_ns")
		runVariants(t, l.codec(l.from.systemNames()[0]).Build(), 1, "bytes_per_line", "cpu_ns_per_line_merged", "common_word_ns", "scan_ns")
	}
}

// runVariants does a block of each variant, with fewer operations at level Power, and
// checks that it has the metrics.
func runVariants(t *testing.T, e lab.Experiment, ops int64, metrics ...string) {
	t.Run(e.ID(), func(t *testing.T) {
		dir := t.TempDir() // so that they share
		answers := map[float64]string{}
		for i := range e.Variants {
			v := &e.Variants[i]
			n := ops
			if v.Promise.Level == durability.Power {
				n = min(n, 16)
			}
			b, err := lab.RunOnce(t.Context(), &e, v, dir, n, 7)
			if err != nil || b.Ops != n {
				t.Fatalf("%s did %d operations of %d: %v", v.Name, b.Ops, n, err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "store")); err != nil {
				t.Fatal(err)
			}
			want := metrics
			if strings.HasPrefix(v.Name, wayStorePower) {
				want = append(slices.Clone(metrics), "cpu_ns_per_line_merged", "visible_mean_ns")
			}
			for _, name := range want {
				if !(b.Metrics[name] > 0) {
					t.Errorf("%s: %s is %v", v.Name, name, b.Metrics[name])
				}
			}
			if e.Params["store"] == logIdle {
				answers[b.Metrics["lines_per_answer"]] = v.Name
			}
		}
		if len(answers) > 1 {
			t.Errorf("different answers: %v", answers)
		}
	})
}

func TestWrongLogParameterIsAnError(t *testing.T) {
	l := logSuite{scale: job.Scale(1024)}
	for _, wrong := range []run.Params{{"batch": "7", "appenders": "1"}, {"batch": "100"}, {"batch": "100", "appenders": "0"}, {"batch": "-1", "appenders": "1"}} {
		e := l.append(100, 1).Build()
		e.Params = wrong
		if _, err := lab.RunOnce(t.Context(), &e, &e.Variants[0], t.TempDir(), 1, 7); err == nil {
			t.Errorf("%v gave no error", wrong)
		}
	}
}
