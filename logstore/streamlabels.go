package logstore

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stele-go/stele/logstore/internal/labelindex"
)

// A name is the labels of a stream, of which a search has one each.
type name struct {
	stream uint32
	labels Labels
	order  string // see order
}

// names are the streams that a search has met.
type names struct {
	labels *labelindex.Index
	mu     sync.Mutex
	known  map[uint32]*name
}

func (ns *names) of(stream uint32) (*name, error) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if n := ns.known[stream]; n != nil {
		return n, nil
	}
	enc, ok := ns.labels.Labels(stream)
	if !ok {
		return nil, fmt.Errorf("stream %d has no labels", stream)
	}
	n := &name{stream: stream, labels: Labels{enc}}
	n.order = n.labels.order()
	ns.known[stream] = n
	return n, nil
}

// order returns a text whose bytes compare as the labels do, name by name and
// value by value: each ends with two zeros, and a zero in it is followed by a one.
func (l Labels) order() string {
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
