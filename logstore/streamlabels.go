package logstore

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stele-go/stele/logstore/internal/labelindex"
)

// A streamLabels is the labels of a stream; a search has one for each stream.
type streamLabels struct {
	stream  uint32
	labels  Labels
	sortKey string // see Labels.sortKey
}

// A labelCache has the labels of the streams that a search has met.
type labelCache struct {
	index    *labelindex.Index
	mu       sync.Mutex
	byStream map[uint32]*streamLabels
}

func (ns *labelCache) get(stream uint32) (*streamLabels, error) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if n := ns.byStream[stream]; n != nil {
		return n, nil
	}
	enc, ok := ns.index.Labels(stream)
	if !ok {
		return nil, fmt.Errorf("stream %d has no labels", stream)
	}
	n := &streamLabels{stream: stream, labels: Labels{enc}}
	n.sortKey = n.labels.sortKey()
	ns.byStream[stream] = n
	return n, nil
}

// sortKey returns a string whose bytes compare as the labels do, name by name
// and value by value: each ends with two zeros, and a zero in it is followed by
// a one.
func (l Labels) sortKey() string {
	b := make([]byte, 0, len(l.enc)+2*8)
	for name, value := range l.All() {
		for _, s := range [...]string{name, value} {
			if strings.IndexByte(s, 0) >= 0 {
				s = strings.ReplaceAll(s, "\x00", "\x00\x01")
			}
			b = append(append(b, s...), 0, 0)
		}
	}
	return string(b)
}
