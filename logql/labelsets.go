package logql

import (
	"encoding/binary"

	"github.com/stele-go/stele/logql/internal/pipeline"
)

// A labelSet is the labels of lines, by where they are from.
type labelSet struct {
	all, metadata, parsed []LabelPair
}

// maxLabelSets bounds the sets that are kept to be shared by lines.
const maxLabelSets = 10_000

// labelSets keeps one copy of each set of labels, which all of its lines share.
type labelSets struct {
	byKey map[string]*labelSet
	key   []byte
}

// of returns the labels of the last line of run.
func (l *labelSets) of(run *pipeline.Run) *labelSet {
	l.key = l.key[:0]
	run.Each(func(name string, value []byte, class pipeline.LabelClass) {
		l.key = appendText(l.key, name)
		l.key = appendText(l.key, value)
		l.key = append(l.key, byte(class))
	})
	if set := l.byKey[string(l.key)]; set != nil {
		return set
	}
	set := newLabelSet(run)
	if l.byKey == nil || len(l.byKey) >= maxLabelSets {
		l.byKey = map[string]*labelSet{}
	}
	l.byKey[string(l.key)] = set
	return set
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func newLabelSet(run *pipeline.Run) *labelSet {
	set := &labelSet{}
	run.Each(func(name string, value []byte, class pipeline.LabelClass) {
		pair := LabelPair{name, string(value)}
		set.all = append(set.all, pair)
		switch class {
		case pipeline.FromMetadata:
			set.metadata = append(set.metadata, pair)
		case pipeline.FromParser:
			set.parsed = append(set.parsed, pair)
		}
	})
	return set
}
