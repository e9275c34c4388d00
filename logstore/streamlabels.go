package logstore

import (
	"hash/maphash"
	"runtime"
	"strings"
	"sync"
	"weak"
)

// A streamLabels is the labels of a stream. While it is in use it is the only
// one for these labels in its store, so that a search compares pointers.
type streamLabels struct {
	labels  Labels
	sortKey string // see Labels.sortKey
}

// A labelTable has the streamLabels of a store that are in use. It does not keep
// them in memory.
type labelTable struct {
	seed   maphash.Seed
	shards [32]labelShard
}

type labelShard struct {
	mu       sync.Mutex
	byLabels map[string]weak.Pointer[streamLabels]
}

func newLabelTable() *labelTable {
	t := &labelTable{seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].byLabels = map[string]weak.Pointer[streamLabels]{}
	}
	return t
}

// of returns the streamLabels of encoded labels, of which it keeps a copy.
func (t *labelTable) of(enc string) *streamLabels {
	s := &t.shards[maphash.String(t.seed, enc)%uint64(len(t.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.byLabels[enc].Value(); n != nil {
		return n
	}
	n := &streamLabels{labels: Labels{strings.Clone(enc)}}
	n.sortKey = n.labels.sortKey()
	s.byLabels[n.labels.enc] = weak.Make(n)
	runtime.AddCleanup(n, s.drop, n.labels.enc)
	return n
}

// drop forgets labels that are not in use any more, unless they are again.
func (s *labelShard) drop(enc string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.byLabels[enc]; ok && p.Value() == nil {
		delete(s.byLabels, enc)
	}
}

// sortKey returns a string whose bytes compare as the labels do, name by name
// and value by value: each ends with two zeros, and a zero in it is followed by
// a one.
func (l Labels) sortKey() string {
	var short [256]byte
	return string(l.appendSortKey(short[:0]))
}

// appendSortKey appends the sortKey.
func (l Labels) appendSortKey(dst []byte) []byte {
	for rest := l.enc; rest != ""; {
		var s string
		s, rest = cutString(rest) // a name or a value
		if strings.IndexByte(s, 0) >= 0 {
			s = strings.ReplaceAll(s, "\x00", "\x00\x01")
		}
		dst = append(append(dst, s...), 0, 0)
	}
	return dst
}
