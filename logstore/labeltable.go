package logstore

import (
	"hash/maphash"
	"strings"
	"sync"
)

// A labelTable has the labels that queries yielded last, so that the results of one
// stream share them. It forgets the others: those that are in use stay in memory, and
// the same labels may then be there twice. So nothing compares their addresses.
type labelTable struct {
	seed   maphash.Seed
	most   int64 // bytes of a generation of a shard
	shards [16]labelShard
}

// A labelShard has two generations: the old one is forgotten when the young one is full.
type labelShard struct {
	mu         sync.Mutex
	young, old map[string]Labels
	bytes      int64 // of young
	oldBytes   int64
}

const (
	// labelTablePart of what is for the cache of segments is for the labelTable.
	labelTablePart = 8
	// labelEntryBytes is about what an entry takes beside its labels.
	labelEntryBytes = 64
)

func newLabelTable(bytes int64) *labelTable {
	t := &labelTable{seed: maphash.MakeSeed()}
	t.most = bytes / int64(2*len(t.shards))
	return t
}

// of returns Labels of an encoding, which it copies unless it has them.
func (t *labelTable) of(enc string) Labels {
	s := &t.shards[maphash.String(t.seed, enc)%uint64(len(t.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.young[enc]
	if ok {
		return l
	}
	if l, ok = s.old[enc]; !ok {
		l = Labels{strings.Clone(enc)}
	}
	bytes := labelEntryBytes + int64(len(enc))
	if bytes > t.most {
		return l
	}
	if s.young == nil || s.bytes+bytes > t.most {
		s.old, s.oldBytes = s.young, s.bytes
		s.young, s.bytes = map[string]Labels{}, 0
	}
	s.young[l.enc] = l
	s.bytes += bytes
	return l
}

// memory returns about how many bytes the table takes.
func (t *labelTable) memory() (n int64) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += s.bytes + s.oldBytes
		s.mu.Unlock()
	}
	return n
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
