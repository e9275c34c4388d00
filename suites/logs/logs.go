// Package logs asks which store keeps log lines fastest, and finds them again: suite
// log. It also generates the lines.
package logs

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/stele-go/stele/internal/measure/procstat"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/units"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
)

// logLinesOf is how many lines the blocks of a run share.
const logLinesOf = 2_000_000

// Full returns the experiments of the suite with lines from a source. The number of
// lines is divided by s.
func Full(s job.Scale, from Source) []lab.Experiment {
	l := logSuite{scale: s, from: from}
	var list []lab.Experiment
	for _, batch := range []int{1, 100, 1000} {
		for _, appenders := range []int{1, 16, 64, 256} {
			list = append(list, l.append(batch, appenders).Build())
		}
	}
	for _, state := range []string{logIdle, logAppending} {
		list = append(list, l.queries(state)...)
	}
	for _, system := range from.systemNames() {
		list = append(list, l.codec(system).Build())
	}
	return append(list, l.restart())
}

// Quick returns the experiment that shows best what the suite is about: batches that
// survive a power cut, and batches that survive kill -9.
func Quick(s job.Scale, from Source) []lab.Experiment {
	l := logSuite{scale: s, from: from}
	return []lab.Experiment{job.Only(l.append(100, 16).Build(), wayGobPower, wayStorePower, wayGob, wayStoreKill)}
}

// A logSuite makes the experiments of suite log.
type logSuite struct {
	scale job.Scale
	from  Source
}

// lines returns how many lines the blocks of a run share.
func (l logSuite) lines() int64 {
	return max(logLinesOf/int64(l.scale)/logChunk, 20) * logChunk
}

// experiment returns what all experiments have in common.
func (l logSuite) experiment(name string, p run.Params) lab.Experiment {
	e := lab.Experiment{Suite: "log", Name: name, Params: p}
	l.from.Mark(&e)
	return e
}

// shared returns the lines that all blocks share: see logFile. They have the words of
// RareWords.
func (l logSuite) shared(b *lab.B) (*logFile, error) {
	source, err := newLines(1, l.from)
	if err != nil {
		return nil, err
	}
	dir, err := b.Shared(fmt.Sprint("log-lines-", l.lines()), func(dir string) error {
		for word, at := range rareWords(l.lines()) {
			if err := source.plantWord(word, at); err != nil {
				return err
			}
		}
		return writeLogFile(filepath.Join(dir, "lines"), source.Next, l.lines())
	})
	if err != nil {
		return nil, err
	}
	return openLogFile(filepath.Join(dir, "lines"), source.Labels())
}

// append makes the experiment in which appenders add batches as fast as they can.
func (l logSuite) append(batch, appenders int) job.Job[store] {
	e := l.experiment("append", run.Params{"batch": strconv.Itoa(batch), "appenders": strconv.Itoa(appenders)})
	lines := "a line"
	if batch > 1 {
		lines = fmt.Sprintf("batches of %d lines", batch)
	}
	e.Question = fmt.Sprintf("Which store takes %s from %s fastest, and at what price?", lines, units.Count(appenders, "appender"))
	e.Op = fmt.Sprintf("%s of about 140 bytes in %s streams, until acknowledged", lines, l.from.howMany())
	e.MaxOps = l.lines() / int64(batch)
	e.Stateless = true
	return job.Job[store]{
		Experiment: e, Ways: ways(),
		Run:   l.runAppend,
		Close: func(s store) error { return s.close() },
	}
}

// appendParams are the parameters of experiment append.
func appendParams(b *lab.B) (batch, appenders int, err error) {
	batch, err = job.Int(b, "batch", 1, logChunk)
	if err == nil && logChunk%batch != 0 {
		err = setting.Wrong("suites: parameter batch", batch, "a divisor of %d", logChunk)
	}
	if err == nil {
		appenders, err = job.Int(b, "appenders", 1, 1<<12)
	}
	return batch, appenders, err
}

// runAppend is a block of append. The figures of CPU time include some 40 ns a line
// for reading the lines from a file.
func (l logSuite) runAppend(b *lab.B, _ job.Site, s store) error {
	batch, appenders, err := appendParams(b)
	if err != nil {
		return err
	}
	lines, err := l.shared(b)
	if err != nil {
		return err
	}
	defer lines.Close() // nothing is written
	lines.around = true

	readers := make([]*logReader, appenders)
	for i := range readers {
		readers[i] = lines.reader()
	}
	before, err := procstat.SelfUsage()
	if err != nil {
		return err
	}
	begun := time.Now()
	raw, err := appendBatches(b, s, readers, batch)
	if err != nil {
		return err
	}
	all := float64(b.N) * float64(batch)
	b.Report("lines_per_second", all/time.Since(begun).Seconds())
	cpu := func(name string) error {
		now, err := procstat.SelfUsage()
		b.Report(name, float64(now.User+now.System-before.User-before.System)/all)
		return err
	}
	if err := cpu("cpu_ns_per_line"); err != nil {
		return err
	}
	if s.engine != nil {
		if err := s.engine.Compact(b.Context()); err != nil {
			return err
		}
		if err := cpu("cpu_ns_per_line_merged"); err != nil {
			return err
		}
	}
	size, err := s.size()
	if err != nil {
		return err
	}
	b.Report("stored_share", float64(size)/float64(raw))
	if s.engine == nil {
		return nil
	}
	return reportVisible(b, s.engine, lines.streams)
}

// appendBatches does the operations of the block from a goroutine for each reader. It
// returns the bytes of the lines.
func appendBatches(b *lab.B, s store, readers []*logReader, batch int) (int64, error) {
	raw := make([]int64, len(readers))
	err := b.Parallel(len(readers), func(w *lab.Worker) error {
		for w.Loop() {
			entries, err := readers[w.ID].read(batch)
			if err != nil {
				return err
			}
			if err := s.append(entries); err != nil {
				return err
			}
			raw[w.ID] += rawBytes(entries)
		}
		return nil
	})
	total := int64(0)
	for _, n := range raw {
		total += n
	}
	return total, err
}

// rawBytes returns the number of bytes of the lines.
func rawBytes(batch logstore.Batch) (n int64) {
	for i := range batch {
		for j := range batch[i].Entries {
			n += int64(len(batch[i].Entries[j].Line))
		}
	}
	return n
}

// visibleProbes is how many lines are looked for as soon as they are acknowledged.
const visibleProbes = 400

// reportVisible reports how long it takes from the acknowledgement of a line
// until a query has found it. The probes have the newest time and take the streams
// of the lines in turn.
func reportVisible(b *lab.B, s *logstore.Store, streams []logstore.Labels) error {
	clock := job.NewTimer()
	for i := range visibleProbes {
		took, _, err := probe(b.Context(), s, streams[i%len(streams)], fmt.Appendf(nil, "probe %d", i))
		if err != nil {
			return err
		}
		clock.Hist.Record(max(1, int64(took)))
	}
	clock.Report(b, "visible")
	return nil
}
