package logstore

import (
	"hash/maphash"
	"slices"
	"time"
	"unsafe"
)

// A keyID names a batch: keys of different tenants are different.
type keyID struct {
	key    [16]byte
	tenant uint32 // see tenantNames
}

// A keptBatch is what is known of a batch that has a key.
type keptBatch struct {
	position uint64 // of its last record
	handled  int    // entries; see recordHead
	more     bool
}

// A keyTable remembers batches by their keys, for a time and in bounded memory.
//
// The entries lie in a queue, in the order in which their keys came, so that the
// oldest are dropped first. The index is a hash table with linear
// probing: a slot has 32 bits of the hash and the place of the entry in the
// queue, so that most keys that are not there are told without a look at the
// queue. Nothing has a pointer that the garbage collector would follow.
//
// It is not safe for concurrent use.
type keyTable struct {
	window time.Duration
	most   int64                      // bytes
	used   func(tenant uint32, n int) // called with 1 and -1 as an entry comes and goes; or nil
	early  uint64                     // keys dropped before window was over, for the others
	seed   maphash.Seed

	chunks       [][]keyEntry // of keyChunk entries; the first has the oldest
	oldest, next uint64       // numbers of the oldest entry and of the next one
	index        []keySlot    // its length is a power of two
	marks        []keyMark    // by number; the first covers the oldest entry
}

type keyEntry struct {
	id       keyID
	handled  uint32 // times two, plus one if the batch goes on
	position uint64
}

// A keySlot has the low bits of the number of an entry, plus one, below the hash.
// 0 is an empty slot.
type keySlot uint64

func slotOf(hash uint32, number uint64) keySlot {
	return keySlot(hash)<<32 | keySlot(number&keyNumbers+1)
}

func (s keySlot) hash() uint32 { return uint32(s >> 32) }

// A keyMark says that the entries from a number on came at a time or later.
type keyMark struct {
	number uint64
	at     time.Duration
}

const (
	keyChunk = 1 << 10
	// keyNumbers masks the bits of a number that a slot has: more than there
	// are entries.
	keyNumbers = 1<<31 - 1
	// keysAtOnce is how many keys are dropped when there is no memory for another one.
	keysAtOnce = 64
	// keyMarks is how many marks there are for one window.
	keyMarks = 16

	keyChunkBytes = int64(keyChunk * unsafe.Sizeof(keyEntry{}))
	keySlotBytes  = int64(unsafe.Sizeof(keySlot(0)))
	minKeyIndex   = 1 << 8
)

func newKeyTable(window time.Duration, most int64) keyTable {
	return keyTable{window: window, most: most, seed: maphash.MakeSeed()}
}

func (t *keyTable) len() int { return int(t.next - t.oldest) }

// bytes returns the memory of n entries at most.
func (t *keyTable) bytes(n int) int64 {
	return int64(n/keyChunk+2)*keyChunkBytes + int64(keyIndexLen(n))*keySlotBytes
}

// keyIndexLen returns the size of the index for n entries, of which they fill
// three quarters at most.
func keyIndexLen(n int) int {
	size := minKeyIndex
	for n > size/4*3 {
		size *= 2
	}
	return size
}

func (t *keyTable) hash(id keyID) uint32 { return uint32(maphash.Comparable(t.seed, id) >> 32) }

func (t *keyTable) entry(number uint64) *keyEntry {
	first := t.oldest / keyChunk
	return &t.chunks[number/keyChunk-first][number%keyChunk]
}

// numberOf returns the number of the entry of a slot.
func (t *keyTable) numberOf(s keySlot) uint64 {
	low := uint64(uint32(s)) - 1
	return t.oldest + (low-t.oldest)&keyNumbers
}

// find returns what is known of a batch.
func (t *keyTable) find(id keyID, now time.Duration) (b keptBatch, ok bool) {
	t.expire(now)
	if e := t.lookup(id, t.hash(id)); e != nil {
		return e.batch(), true
	}
	return b, false
}

func (e *keyEntry) batch() keptBatch {
	return keptBatch{e.position, int(e.handled >> 1), e.handled&1 != 0}
}

func (t *keyTable) lookup(id keyID, h uint32) *keyEntry {
	if len(t.index) == 0 {
		return nil
	}
	mask := uint32(len(t.index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s := t.index[i]; {
		case s == 0:
			return nil
		case s.hash() == h:
			if e := t.entry(t.numberOf(s)); e.id == id {
				return e
			}
		}
	}
}

// put remembers a batch, or what became of one that it knows. It returns what it
// knew; knew is false if that was nothing, or something newer, which stays.
func (t *keyTable) put(id keyID, b keptBatch, now time.Duration) (was keptBatch, knew bool) {
	t.expire(now)
	handled := uint32(b.handled) << 1
	if b.more {
		handled |= 1
	}
	h := t.hash(id)
	if e := t.lookup(id, h); e != nil {
		if b.position < e.position {
			return was, false
		}
		was = e.batch()
		e.handled, e.position = handled, b.position
		return was, true
	}
	for t.len() > 0 && t.bytes(t.len()+1) > t.most {
		// Many at once, as then the processor waits for the memory of all of them together.
		for range min(keysAtOnce, t.len()) {
			t.dropOldest()
			t.early++
		}
	}
	if last := len(t.marks) - 1; last < 0 || now-t.marks[last].at >= t.window/keyMarks {
		t.marks = append(t.marks, keyMark{t.next, now})
	}
	if t.next%keyChunk == 0 || len(t.chunks) == 0 {
		t.chunks = append(t.chunks, make([]keyEntry, keyChunk))
	}
	number := t.next
	t.next++
	*t.entry(number) = keyEntry{id, handled, b.position}
	if t.used != nil {
		t.used(id.tenant, 1)
	}
	if n := keyIndexLen(t.len()); n > len(t.index) {
		old := t.index
		t.index = make([]keySlot, n)
		for _, s := range old {
			if s != 0 {
				t.insert(s)
			}
		}
	}
	t.insert(slotOf(h, number))
	return was, false
}

// each calls f with the entries of the numbers from one on, at most keyChunk,
// and when each came at the latest. It returns the number to go
// on with; more is false at the end.
func (t *keyTable) each(from uint64, now time.Duration, f func(e *keyEntry, came time.Duration)) (next uint64, more bool) {
	from = max(from, t.oldest)
	next = min(from+keyChunk, t.next)
	mark := 0
	for number := from; number < next; number++ {
		for mark+1 < len(t.marks) && t.marks[mark+1].number <= number {
			mark++
		}
		f(t.entry(number), min(now, t.marks[mark].at+t.window/keyMarks))
	}
	return next, next < t.next
}

func (t *keyTable) insert(s keySlot) {
	mask := uint32(len(t.index) - 1)
	i := s.hash() & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = s
}

// expire drops the entries that are older than the window. One is dropped with
// the last of those that have its mark, so up to a sixteenth of a window later.
func (t *keyTable) expire(now time.Duration) {
	for len(t.marks) > 0 {
		end, at := t.next, t.marks[0].at+t.window/keyMarks
		if len(t.marks) > 1 {
			end, at = t.marks[1].number, t.marks[1].at
		}
		if now-at < t.window {
			return
		}
		for t.oldest < end {
			t.dropOldest()
		}
		t.marks = t.marks[1:]
	}
}

func (t *keyTable) dropOldest() {
	e := t.entry(t.oldest)
	t.remove(slotOf(t.hash(e.id), t.oldest))
	if t.used != nil {
		t.used(e.id.tenant, -1)
	}
	t.oldest++
	if t.oldest%keyChunk == 0 {
		t.chunks = slices.Delete(t.chunks, 0, 1)
	}
}

// remove empties a slot and closes the gap: it moves a slot back if the gap lies
// between its home and its place.
func (t *keyTable) remove(s keySlot) {
	mask := uint32(len(t.index) - 1)
	gap := s.hash() & mask
	for t.index[gap] != s {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; t.index[i] != 0; i = (i + 1) & mask {
		home := t.index[i].hash() & mask
		if (i-home)&mask >= (i-gap)&mask {
			t.index[gap] = t.index[i]
			gap = i
		}
	}
	t.index[gap] = 0
}
