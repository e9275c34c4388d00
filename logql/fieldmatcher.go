package logql

import (
	"github.com/stele-go/stele/logql/internal/pipeline"
	"github.com/stele-go/stele/logstore"
)

// fieldStages runs a pipeline over fields of rows in the place of lines.
type fieldStages struct {
	fields *pipeline.Fields
	run    *pipeline.Run

	text     []byte
	texts    [][]byte
	textEnds []int
}

func newFieldStages(f *pipeline.Fields, run *pipeline.Run) fieldStages {
	return fieldStages{fields: f, run: run, text: make([]byte, 0, 256), texts: make([][]byte, f.Len()), textEnds: make([]int, f.Len())}
}

// process reports whether a row of the last stream passes.
func (s *fieldStages) process(b *logstore.FieldBatch, row int) bool {
	s.text = s.text[:0]
	for i := range b.Fields {
		c := &b.Fields[i]
		s.text = c.AppendValue(s.text, c.Codes[row])
		s.textEnds[i] = len(s.text)
	}
	begin := 0
	for i, end := range s.textEnds {
		s.texts[i] = nil
		if b.Fields[i].Codes[row] > 0 {
			s.texts[i] = s.text[begin:end:end]
		}
		begin = end
	}
	return s.run.ProcessFields(s.fields, s.texts)
}

// A fieldMatcher is a stageMatcher that decides by fields, where the store has them: the
// pipeline runs once for rows that are alike.
type fieldMatcher struct {
	stageMatcher
	stages fieldStages

	classes map[logstore.Labels]*matchClass
	byKey   map[string]*matchClass
	keys    int // bytes of those of byKey
	key     []byte
	alike   alikeRows
}

// A matchClass is streams of which rows with equal fields are alike.
type matchClass struct {
	number int
	passes bool
}

// maxMatchClasses and maxMatchKeys, in bytes, bound the streams that a fieldMatcher keeps from one
// batch to the next.
const (
	maxMatchClasses = 1 << 11
	maxMatchKeys    = 1 << 18
)

// newFieldMatcher returns a fieldMatcher that holds what grow allows.
func newFieldMatcher(of stageMatcher, f *pipeline.Fields, grow func(int64) bool) *fieldMatcher {
	return &fieldMatcher{
		stageMatcher: of, stages: newFieldStages(f, of.run), alike: alikeRows{grow: grow},
		classes: map[logstore.Labels]*matchClass{}, byKey: map[string]*matchClass{},
	}
}

// MatchFields decides of the rows of a batch.
func (m *fieldMatcher) MatchFields(b *logstore.FieldBatch, matching []uint64) {
	m.alike.begin(b.Fields, -1, b.Rows)
	if len(m.classes) >= maxMatchClasses || m.keys >= maxMatchKeys {
		clear(m.classes)
		clear(m.byKey)
		m.keys = 0
	}
	for i := range b.Runs {
		m.matchRun(b, &b.Runs[i], matching)
	}
	m.alike.end()
}

// The numbers of a memo of rows.
const (
	rowPasses = 1 + iota
	rowFails
)

// matchRun decides of the rows of a stream.
func (m *fieldMatcher) matchRun(b *logstore.FieldBatch, run *logstore.FieldRun, matching []uint64) {
	class, began := m.class(run.Labels)
	if !class.passes {
		return
	}
	memo := m.alike.of(class.number)
	for row := run.First; row < run.First+run.Rows; row++ {
		code := m.alike.code(row)
		n := memo.get(code)
		if n == 0 {
			if !began {
				m.run.Stream(run.Labels)
				began = true
			}
			n = rowFails
			if m.stages.process(b, row) {
				n = rowPasses
			}
			memo.put(code, n)
		}
		if n == rowPasses {
			matching[row/64] |= 1 << (row % 64)
		}
	}
}

// class returns the class of a stream. began reports whether the run has begun the stream.
func (m *fieldMatcher) class(labels logstore.Labels) (c *matchClass, began bool) {
	if c := m.classes[labels]; c != nil {
		return c, false
	}
	passes := m.run.Stream(labels)
	m.key = m.run.AppendStreamKey(m.key[:0])
	if c = m.byKey[string(m.key)]; c == nil {
		c = &matchClass{number: len(m.byKey), passes: passes}
		m.byKey[string(m.key)] = c
		m.keys += len(m.key)
	}
	m.classes[labels] = c
	return c, true
}
