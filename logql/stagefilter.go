package logql

import (
	"sync"

	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logql/internal/prefilter"
	"github.com/stele-go/stele/logql/syntax"
	"github.com/stele-go/stele/logstore"
)

// stageFilter returns the filter of the store that lets exactly those entries pass that the
// stages do. So the stages run in the goroutines that read lines, and the store ends at a
// limit of lines that pass. Where the stages read what one parser finds, they run over columns.
func (x *execution) stageFilter(q logstore.Query, split prefilter.Split, made *stageFilters) (logstore.Filter, error) {
	made.split = split
	if !dropsLines(split.Rest) {
		return split.Filter, nil
	}
	p, err := pipeline.Compile(split.Rest, x.pipelineOptions())
	if err != nil {
		return nil, err
	}
	if f := p.Fields(func(name string) bool { return x.streamHas(q, name) }); f != nil {
		made.byFields = true
		stages, err := logstore.FieldFilter(logstore.Fields{Number: f.Len(), Of: f.Locate, Needs: split.Needs}, func() logstore.FieldMatcher {
			return made.ofFields(p, f, x.growMemos)
		})
		return withStages(split.Must, stages), err
	}
	return withStages(split.Filter, logstore.EntryFilter(func() logstore.EntryMatcher { return made.of(p) })), nil
}

// withStages returns the filter of entries that stages match too.
func withStages(of, stages logstore.Filter) logstore.Filter {
	if of == nil {
		return stages
	}
	return logstore.All(of, stages)
}

// stageFilters are the runs of a query of the store.
type stageFilters struct {
	split    prefilter.Split
	endless  bool // of a tail, which begins new ones for ever: they are not kept
	byFields bool // the stages run over fields of lines, where the store has them

	mu    sync.Mutex
	runs  []*pipeline.Run
	alike []*alikeRows
}

func (f *stageFilters) of(p *pipeline.Pipeline) stageMatcher {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := p.NewRun()
	if !f.endless {
		f.runs = append(f.runs, run)
	}
	return stageMatcher{run}
}

// ofFields is of for rows in columns. grow is asked for memory, which release gives back.
func (f *stageFilters) ofFields(p *pipeline.Pipeline, fields *pipeline.Fields, grow func(int64) bool) *fieldMatcher {
	if f.endless {
		grow = upTo(maxTailMemo)
	}
	m := newFieldMatcher(f.of(p), fields, grow)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.endless {
		f.alike = append(f.alike, &m.alike)
	}
	return m
}

// maxTailMemo is what a goroutine of a tail may remember of rows that are alike, in bytes.
const maxTailMemo = 2 << 20

// upTo returns a function that allows so many bytes.
func upTo(limit int64) (grow func(bytes int64) bool) {
	return func(bytes int64) bool {
		if bytes > limit {
			return false
		}
		limit -= bytes
		return true
	}
}

// release gives the memory of the runs back, once the query of the store has ended.
func (f *stageFilters) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, run := range f.runs {
		run.Release()
	}
	for _, a := range f.alike {
		a.release()
	}
	f.split.Release()
	f.runs, f.alike = nil, nil
}

// dropsLines reports whether a stage may keep a line from passing.
func dropsLines(stages []syntax.Stage) bool {
	for _, s := range stages {
		switch s.(type) {
		case *syntax.LineFilter, *syntax.LabelFilter:
			return true
		}
	}
	return false
}

// A stageMatcher runs stages over entries.
type stageMatcher struct{ run *pipeline.Run }

func (m stageMatcher) Stream(labels logstore.Labels) bool { return m.run.Stream(labels) }

func (m stageMatcher) Match(time int64, line []byte, metadata logstore.Labels) bool {
	return m.run.Process(time, line, metadata)
}
