package logstore

import "testing"

// Readings keep what they have for the next source while all of them together take no more
// than their share, however few of them there are.
func TestReadingsAreKept(t *testing.T) {
	r := newReadPool(256<<20, 8)
	var taken []*reading
	for range cap(r.readings) {
		w := r.acquireReading(t.Context())
		w.picks = make([]pick, (3<<20)/pickBytes)
		taken = append(taken, w)
	}
	for _, w := range taken {
		r.releaseReading(w)
	}
	kept, used := 0, int64(0)
	for range cap(r.readings) {
		if w := r.acquireReading(t.Context()); cap(w.picks) > 0 {
			kept++
			used += w.weight()
		}
	}
	if share := decoderShare.of(256 << 20); kept < 2 || used > share || used != r.readingUsed.Load() || share-used > 3<<20 {
		t.Errorf("%d readings of %d bytes are kept, %d are told; want those that fit into %d", kept, used, r.readingUsed.Load(), share)
	}
}
