package metacache

import "sync"

// A recent is the level that evicts by recency: a list of values in the order of put,
// bounded by their cost.
type recent[V any] struct {
	mu   sync.Mutex
	max  int64
	cost int64
	at   map[Key]*link[V]
	ring link[V] // ring.next is the latest, ring.prev the next to be evicted
}

type link[V any] struct {
	next, prev *link[V]
	kept       *kept[V]
}

func newRecent[V any](max int64) *recent[V] {
	r := &recent[V]{max: max, at: map[Key]*link[V]{}}
	r.ring.next, r.ring.prev = &r.ring, &r.ring
	return r
}

// put makes a value the latest and drops the oldest ones until all fit. It returns the
// number of values that it dropped.
func (r *recent[V]) put(k *kept[V]) (dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.at[k.key]; old != nil {
		r.remove(old)
	}
	if k.cost > r.max {
		return 1
	}
	l := &link[V]{kept: k, prev: &r.ring, next: r.ring.next}
	l.prev.next, l.next.prev = l, l
	r.at[k.key] = l
	r.cost += k.cost
	return r.shrink()
}

// shrink drops the oldest values until all fit. mu is held.
func (r *recent[V]) shrink() (dropped int) {
	for r.cost > r.max {
		r.remove(r.ring.prev)
		dropped++
	}
	return dropped
}

// remove removes a link. mu is held.
func (r *recent[V]) remove(l *link[V]) {
	delete(r.at, l.kept.key)
	l.prev.next, l.next.prev = l.next, l.prev
	r.cost -= l.kept.cost
}

// take removes and returns the value if its version is this one. stale reports that it is
// another one; an older one is removed as well.
func (r *recent[V]) take(k Key, version uint64) (found *kept[V], stale bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.at[k]
	switch {
	case l == nil:
		return nil, false
	case l.kept.version > version:
		return nil, true
	}
	r.remove(l)
	if l.kept.version < version {
		return nil, true
	}
	return l.kept, false
}

func (r *recent[V]) drop(which func(Key) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, l := range r.at {
		if which(k) {
			r.remove(l)
		}
	}
}

// resize sets the limit, and returns the number of values that it dropped.
func (r *recent[V]) resize(max int64) (dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.max = max
	return r.shrink()
}

func (r *recent[V]) size() (cost, entries, max int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cost, int64(len(r.at)), r.max
}
