package logstore

import "sync"

// A contentTable remembers for a search what it has made of chunks of labels, by
// segment2.Content.Hash: segments have most chunks in common, and so only the
// first one is decoded. It takes up to an eighth of the memory for what the search
// sums up, or maxContents. Many goroutines may use it at once.
type contentTable[V any] struct {
	memory *allowance

	mu    sync.Mutex
	known map[uint64]V
	bytes int64
}

const maxContents = 4 << 20

// contentMemory is about the memory of an entry, beside what is remembered.
const contentMemory = 48

// get returns what is known of a chunk.
func (t *contentTable[V]) get(hash uint64) (v V, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok = t.known[hash]
	return v, ok
}

// put remembers v, which takes so many bytes, unless there is no memory for it.
// Hash 0 is not known.
func (t *contentTable[V]) put(hash uint64, v V, bytes int64) {
	bytes += contentMemory
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.known[hash]; ok || hash == 0 || t.bytes+bytes > min(maxContents, t.memory.pool.sumBytes/8) {
		return
	}
	if t.memory.charge(bytes) != nil {
		_ = t.memory.charge(-bytes) // less is never refused
		return
	}
	if t.known == nil {
		t.known = map[uint64]V{}
	}
	t.known[hash] = v
	t.bytes += bytes
}
