package segment2

import (
	"container/heap"
	"errors"
	"slices"
)

// mergeStreams adds the streams of all sources to the Writer, from one chunk of
// each source, and notes their ordinals in the new segment.
func (m *merger) mergeStreams() error {
	var h keyHeap
	for i, s := range m.sources {
		if err := m.countSeqs(i); err != nil {
			return err
		}
		r := &keyReader{m: m, s: s, number: i}
		more, err := r.nextStaying()
		if err != nil {
			return err
		}
		if more {
			h = append(h, r)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		tenant, _, _ := splitKey(h[0].key())
		var failed error
		err := m.w.AddStreams(tenant, func(yield func(string) bool) {
			for len(h) > 0 {
				next, labels, _ := splitKey(h[0].key())
				if next != tenant || !yield(labels) {
					return
				}
				if failed = m.take(&h); failed != nil {
					return
				}
			}
		})
		switch {
		case failed != nil:
			return failed
		case errors.Is(err, errLabels):
			return h[0].s.corrupt(0, -1, err)
		case err != nil:
			return err
		}
		m.tenantEnds = append(m.tenantEnds, uint32(len(m.first)))
	}
	return nil
}

// countSeqs sets the base of a source.
func (m *merger) countSeqs(number int) error {
	if number == 0 {
		return nil
	}
	before, highest := m.sources[number-1], uint64(0)
	for part := 0; part*PartStreams < before.Info().Streams; part++ {
		p, err := before.Streams(m.ctx, part)
		if UnlessRebuilt(err) != nil {
			return err
		}
		for i := range p.Streams {
			highest = max(highest, p.Streams[i].Seqs)
		}
	}
	base := &m.sources[number].base
	if *base = before.base + highest; highest > maxSeq || *base > maxSeq {
		return before.corrupt(0, -1, errors.New("the seqs of its streams are too high"))
	}
	return nil
}

// take gives the lowest stream of all sources the next ordinal, and takes it
// from each source that has it.
func (m *merger) take(h *keyHeap) error {
	key, ordinal := (*h)[0].key(), uint32(len(m.first))
	m.first = append(m.first, uint16((*h)[0].number))
	for len(*h) > 0 && (*h)[0].key() == key {
		r := (*h)[0]
		r.s.ordinals = append(r.s.ordinals, ordinal)
		more, err := r.nextStaying()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(h, 0)
		} else {
			heap.Pop(h)
		}
	}
	return nil
}

// A keyReader reads the keys of a source, chunk by chunk.
type keyReader struct {
	m      *merger
	s      *mergeSource
	number int // of the source
	chunk  int // the next one
	keys   []string
	at     int
}

func (r *keyReader) key() string { return r.keys[r.at] }

// nextStaying comes to the next key of a stream that is not emptied.
func (r *keyReader) nextStaying() (more bool, err error) {
	for {
		more, err = r.next()
		if err != nil || !more || !r.s.removal.emptied(uint32(len(r.s.ordinals))) {
			return more, err
		}
		r.s.ordinals = append(r.s.ordinals, uint32(len(r.m.first)))
	}
}

// hasStream reports whether a stream of the new segment has rows of the source.
func (s *mergeSource) hasStream(ordinal uint32) bool {
	i, _ := slices.BinarySearch(s.ordinals, ordinal)
	for ; i < len(s.ordinals) && s.ordinals[i] == ordinal; i++ {
		if !s.removal.emptied(uint32(i)) {
			return true
		}
	}
	return false
}

// next comes to the next key. more is false behind the last one.
func (r *keyReader) next() (more bool, err error) {
	streams := r.s.Info().Streams
	last := ""
	if r.keys != nil {
		last = r.key()
		r.at++
	}
	if r.at == len(r.keys) {
		if len(r.s.ordinals) == streams {
			return false, nil
		}
		first, keys, err := r.s.Keys(r.m.ctx, r.chunk)
		if UnlessRebuilt(err) != nil {
			return false, err
		}
		if int(first) != len(r.s.ordinals) || len(keys) == 0 || len(keys) > streams-int(first) {
			return false, r.s.corrupt(0, -1, errors.New("the chunks of labels do not have the streams of the segment"))
		}
		if r.s.ordinals == nil {
			r.s.ordinals = make([]uint32, 0, streams)
		}
		r.chunk, r.keys, r.at = r.chunk+1, keys, 0
		r.m.tellMemory()
	}
	if _, _, ok := splitKey(r.key()); !ok || last >= r.key() {
		return false, r.s.corrupt(0, -1, errLabels)
	}
	return true, nil
}

// A keyHeap has the reader with the lowest key first, of equal ones that of the
// first source.
type keyHeap []*keyReader

func (h keyHeap) Len() int { return len(h) }

func (h keyHeap) Less(i, j int) bool {
	if a, b := h[i].key(), h[j].key(); a != b {
		return a < b
	}
	return h[i].number < h[j].number
}

func (h keyHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *keyHeap) Push(r any)   { *h = append(*h, r.(*keyReader)) }

func (h *keyHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}
