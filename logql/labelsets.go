package logql

import (
	"encoding/binary"
	"unsafe"

	"github.com/stele-go/stele/logql/internal/pipeline"
)

// A labelSet is the labels of lines, by where they are from.
type labelSet struct {
	all, metadata, parsed []LabelPair
}

// Bounds of the sets that are kept to be shared by lines.
const (
	maxLabelSets     = 10_000
	maxLabelSetBytes = 8 << 20
)

// labelSets keeps one copy of each set of labels, which all of its lines share.
type labelSets struct {
	byKey map[string]*labelSet
	key   []byte
	bytes int64 // of byKey
	made  int64 // bytes of all sets since takeMade
}

// takeMade returns the bytes of the sets that have been made since it was last called.
func (l *labelSets) takeMade() int64 {
	n := l.made
	l.made = 0
	return n
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
	if l.byKey == nil || len(l.byKey) >= maxLabelSets || l.bytes > maxLabelSetBytes {
		l.byKey, l.bytes = map[string]*labelSet{}, 0
	}
	size := int64(2*len(l.key) + pairBytes*cap(set.all) + pairBytes*cap(set.metadata) + pairBytes*cap(set.parsed) + labelSetBytes)
	l.bytes += size
	l.made += size
	l.byKey[string(l.key)] = set
	return set
}

// What a set takes beside its texts and pairs, and a pair beside its texts.
const (
	labelSetBytes = 160
	pairBytes     = int(unsafe.Sizeof(LabelPair{}))
)

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
