package labelindex

import "sync/atomic"

// A hashTable uses linear probing. Readers take no lock: a slot goes from empty
// to a stream to a tombstone and never back, and a table that becomes too full
// is replaced. One goroutine at a time may change it.
type hashTable struct {
	slots atomic.Pointer[[]atomic.Pointer[stream]] // a power of two of them
	used  int                                      // slots that are not empty
	live  int                                      // of those, slots that are not tombstones
}

// tombstone is in the slots of removed streams, so that probing continues past
// them.
var tombstone = &stream{}

func (t *hashTable) find(hash uint64, space uint32, enc string) *stream {
	p := t.slots.Load()
	if p == nil {
		return nil
	}
	slots := *p
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := slots[i].Load()
		if s == nil {
			return nil
		}
		if s.hash == hash && s.space == space && s.enc == enc && s != tombstone {
			return s
		}
	}
}

func (t *hashTable) slotCount() int {
	if slots := t.slots.Load(); slots != nil {
		return len(*slots)
	}
	return 0
}

// insert adds a stream that is not in the table.
func (t *hashTable) insert(s *stream) {
	var slots []atomic.Pointer[stream]
	if p := t.slots.Load(); p != nil {
		slots = *p
	}
	// Half full at most, so that probes stay short and end.
	if 2*(t.used+1) > len(slots) {
		slots = t.grow(slots)
	}
	put(slots, s)
	t.used++
	t.live++
}

func (t *hashTable) grow(old []atomic.Pointer[stream]) []atomic.Pointer[stream] {
	size := 64
	for size < 4*(t.live+1) {
		size *= 2
	}
	slots := make([]atomic.Pointer[stream], size)
	for i := range old {
		if s := old[i].Load(); s != nil && s != tombstone {
			put(slots, s)
		}
	}
	t.used = t.live
	t.slots.Store(&slots)
	return slots
}

func put(slots []atomic.Pointer[stream], s *stream) {
	mask := uint64(len(slots) - 1)
	i := s.hash & mask
	for slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].Store(s)
}

// remove removes a stream that is in the table.
func (t *hashTable) remove(s *stream) {
	slots := *t.slots.Load()
	mask := uint64(len(slots) - 1)
	i := s.hash & mask
	for slots[i].Load() != s {
		i = (i + 1) & mask
	}
	slots[i].Store(tombstone)
	t.live--
}
