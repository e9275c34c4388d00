package metacache

import (
	"sync"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

const (
	// The tuner looks at one key of sampled. Keys are chosen by their hash, so that all
	// requests for one are seen.
	sampled = 16
	// window is the number of sampled requests between two decisions. If they show
	// nothing, up to windows of them are taken together.
	window  = 512
	windows = 8
)

// shares of the bytes that the level of recency may have.
var shares = [...]float64{0.03, 0.1, 0.25, 0.5, 0.75, 0.9}

// A tuner runs a cache that evicts by frequency and one that evicts by recency over a
// sample of the keys, each with the sample's share of all bytes. It moves bytes to the
// one with more hits.
type tuner struct {
	share atomic.Int32 // index into shares

	mu       sync.Mutex
	recent   *recent[struct{}]
	frequent *otter.Cache[Key, *kept[struct{}]]
	seen     int
	// Recent requests that only one of the two hit. Those that both hit, or neither,
	// show nothing.
	onlyRecent, onlyFrequent int
}

func newTuner(bytes int64) *tuner {
	t := &tuner{
		recent:   newRecent[struct{}](bytes / sampled),
		frequent: newFrequent(bytes/sampled, func(*kept[struct{}]) {}),
	}
	t.share.Store(1)
	return t
}

// recency returns how many of bytes the level of recency may have.
func (t *tuner) recency(bytes int64) int64 { return int64(shares[t.share.Load()] * float64(bytes)) }

// wants reports whether the key is in the sample.
func (t *tuner) wants(k Key) bool {
	// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
	h := k.Segment*0x9e3779b97f4a7c15 + uint64(k.Part)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (h^h>>31)%sampled == 0
}

// see takes note of a request, and reports whether the share of recency has changed. If
// another goroutine is in see, the request is left out.
func (t *tuner) see(k Key, cost int64) (changed bool) {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	entry, _ := t.recent.take(k, 0)
	byRecency := entry != nil
	if entry == nil {
		entry = &kept[struct{}]{key: k, cost: cost}
	}
	t.recent.put(entry)
	_, byFrequency := t.frequent.GetIfPresent(k)
	if !byFrequency {
		t.frequent.Set(k, entry)
	}
	switch {
	case byRecency && !byFrequency:
		t.onlyRecent++
	case byFrequency && !byRecency:
		t.onlyFrequent++
	}
	if t.seen++; t.seen%window > 0 {
		return false
	}
	step := advice(t.onlyRecent, t.onlyFrequent)
	if step != 0 || t.seen >= windows*window {
		t.seen, t.onlyRecent, t.onlyFrequent = 0, 0, 0
	}
	was := t.share.Load()
	now := min(max(was+step, 0), int32(len(shares)-1))
	t.share.Store(now)
	return now != was
}

// advice returns 1 for more recency, -1 for less, and 0 if the difference may be chance:
// McNemar's test, at two standard deviations.
func advice(onlyRecent, onlyFrequent int) int32 {
	diff, sum := onlyRecent-onlyFrequent, onlyRecent+onlyFrequent
	switch {
	case diff*diff <= 4*sum:
		return 0
	case diff > 0:
		return 1
	}
	return -1
}

func (t *tuner) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent.drop(func(Key) bool { return true })
	t.frequent.InvalidateAll()
	t.frequent.StopAllGoroutines()
}
