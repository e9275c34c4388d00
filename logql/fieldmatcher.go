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
	key     []byte
	rows    rowCodes
	memo    rowMemo
}

// A matchClass is streams of which rows with equal fields are alike.
type matchClass struct {
	number int
	passes bool
}

// maxMatchClasses bounds the streams that a fieldMatcher keeps from one batch to the next.
const maxMatchClasses = 1 << 11

func newFieldMatcher(of stageMatcher, f *pipeline.Fields) *fieldMatcher {
	return &fieldMatcher{
		stageMatcher: of, stages: newFieldStages(f, of.run),
		classes: map[logstore.Labels]*matchClass{}, byKey: map[string]*matchClass{},
	}
}

// MatchFields decides of the rows of a batch.
func (m *fieldMatcher) MatchFields(b *logstore.FieldBatch, matching []uint64) {
	m.rows.set(b.Fields, -1, b.Rows)
	m.memo.begin(b.Rows)
	if len(m.classes) >= maxMatchClasses {
		clear(m.classes)
		clear(m.byKey)
	}
	for i := range b.Runs {
		m.matchRun(b, &b.Runs[i], matching)
	}
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
	memo := m.memo.of(class.number, m.rows.size)
	for i, code := range m.rows.codes[run.First : run.First+run.Rows] {
		row := run.First + i
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
	}
	m.classes[labels] = c
	return c, true
}
