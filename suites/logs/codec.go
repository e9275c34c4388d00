package logs

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/lab"
	"github.com/stele-go/stele/lab/run"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/suites/job"
)

// codecs are the codecs of blocks that are compared, the first one the baseline.
var codecs = []struct {
	codec logstore.Codec
	doc   string
}{
	{logstore.CodecLines, "the text of consecutive lines is compressed"},
	{logstore.CodecColumns, "lines are templates and columns of variables"},
}

// systemNames returns the names of the systems of s, in order: none if they cannot be read.
func (s Source) systemNames() (names []string) {
	if s.Corpus == "" {
		for i := range logSources {
			names = append(names, logSources[i].name)
		}
		return names
	}
	files, err := CorpusFiles(s.Corpus)
	if err != nil {
		return nil // newLines says why, in the other experiments
	}
	for _, f := range files {
		names = append(names, systemName(f))
	}
	return names
}

// systemName returns the name of the system whose log a file of a corpus is.
func systemName(file string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".log"), "_2k"))
}

// codec makes the experiment that stores the lines of one system with each codec, so that no
// system hides another.
func (l logSuite) codec(system string) job.Job[logstore.Codec] {
	e := l.experiment("codec", run.Params{"system": system})
	e.Question = fmt.Sprintf("What do the lines of %s take on disk and of a processor with each codec of blocks, and how soon are they found?", system)
	e.Op = fmt.Sprintf("all lines of %s among %d stored, sealed and compacted", system, l.lines())
	e.Ops, e.MaxRounds = 1, 10
	j := job.Job[logstore.Codec]{Experiment: e, Run: l.runCodec}
	for i, c := range codecs {
		j.Ways = append(j.Ways, job.Way[logstore.Codec]{
			Name: c.codec.String(), Doc: c.doc, Promise: job.Promise(durability.Power, durability.Prefix), Baseline: i == 0, Open: job.Fixed(c.codec),
		})
	}
	return j
}

func (l logSuite) runCodec(b *lab.B, at job.Site, codec logstore.Codec) error {
	lines, err := l.shared(b)
	if err != nil {
		return err
	}
	defer lines.Close() // nothing is written
	system, err := lines.system(b.Params["system"])
	if err != nil {
		return err
	}
	var store *logstore.Store
	var f codecFigures
	for b.Loop() {
		if store != nil {
			return errors.Join(errors.New("a store is made once"), store.Close())
		}
		if store, err = system.fill(b.Context(), storeDir(at), codec, &f); err != nil {
			return err
		}
	}
	if err := errors.Join(system.look(b.Context(), store, storeDir(at), &f), store.Close()); err != nil {
		return err
	}
	b.Report("bytes_per_line", f.Bytes)
	b.Report("cpu_ns_per_line_merged", f.CPU*1e3)
	for _, q := range codecQuestions {
		if ms, ok := f.Asked[q.name]; ok {
			b.Report(q.name+"_ns", ms*1e6)
		} else {
			b.ReportMissing(q.name+"_ns", "the lines have no such word or number")
		}
	}
	return nil
}
