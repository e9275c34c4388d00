package segment2

import (
	"sort"
)

// salvagedStreams are the streams whose labels are known. A stream has a place:
// its rank among them.
type salvagedStreams struct {
	chunks  []salvagedChunk
	tenants []uint32 // the place of the first stream of each tenant but the first
	count   int
	used    []bool   // by place: a kept row is of the stream
	ordinal []uint32 // by place, of those that are used, in the new segment
}

// A salvagedChunk is streams that have adjacent ordinals and places.
type salvagedChunk struct {
	first   uint32 // ordinal
	streams int
	place   int // of the first
}

// placeOf returns the place of a stream; ok is false if its labels are lost.
func (s *salvagedStreams) placeOf(ordinal uint32) (place int, ok bool) {
	i := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].first > ordinal }) - 1
	if i < 0 || int64(ordinal)-int64(s.chunks[i].first) >= int64(s.chunks[i].streams) {
		return 0, false
	}
	return s.chunks[i].place + int(ordinal-s.chunks[i].first), true
}

// tenantOf returns the number of the tenant of a stream.
func (s *salvagedStreams) tenantOf(place int) int {
	return sort.Search(len(s.tenants), func(i int) bool { return int64(s.tenants[i]) > int64(place) })
}

func (s *salvagedStreams) add(ordinal uint32) {
	if n := len(s.chunks); n > 0 && int64(s.chunks[n-1].first)+int64(s.chunks[n-1].streams) == int64(ordinal) {
		s.chunks[n-1].streams++
	} else {
		s.chunks = append(s.chunks, salvagedChunk{ordinal, 1, s.count})
	}
	s.count++
}

// readStreams finds the streams whose labels are known.
func (v *salvager) readStreams() error {
	last := ""
	err := v.eachKey(v.lose, func(ordinal uint32, key, tenant string) {
		if before, _, _ := splitKey(last); last != "" && before != tenant {
			v.streams.tenants = append(v.streams.tenants, uint32(v.streams.count))
		}
		v.streams.add(ordinal)
		last = key
	})
	v.streams.used = make([]bool, v.streams.count)
	return err
}

// eachKey calls f with each key that can be read, in order. Damage is passed to
// lose.
func (v *salvager) eachKey(lose func(error) error, f func(ordinal uint32, key, tenant string)) error {
	chunks, err := v.r.chunks(v.ctx)
	if err != nil {
		return err
	}
	last := ""
	for i := range chunks {
		first, keys, err := v.r.keys(v.ctx, i)
		if err := lose(err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		for n, key := range keys {
			tenant, labels, ok := splitKey(key)
			if !ok || key <= last || !WellFormed(labels) {
				if err := lose(corrupt(v.src, 0, -1, "stream %d: %v", int(first)+n, errLabels)); err != nil {
					return err
				}
				continue
			}
			f(first+uint32(n), key, tenant)
			last = key
		}
	}
	return nil
}

// writeStreams adds the streams of kept rows.
func (v *salvager) writeStreams() error {
	s := &v.streams
	s.ordinal = make([]uint32, s.count)
	place, next := 0, uint32(0)
	var failed error
	err := v.eachKey(func(err error) error {
		if isCorrupt(err) {
			return nil // it is noted already
		}
		return err
	}, func(ordinal uint32, key, tenant string) {
		at, ok := s.placeOf(ordinal)
		if failed != nil || !ok || at != place {
			if failed == nil {
				failed = corrupt(v.src, 0, -1, "stream %d: its labels were lost, and can be read now", ordinal)
			}
			return
		}
		place++
		if s.used[at] {
			_, labels, _ := splitKey(key)
			s.ordinal[at] = next
			next++
			failed = v.w.AddStreams(tenant, func(yield func(string) bool) { yield(labels) })
		}
	})
	if err == nil {
		err = failed
	}
	if err == nil && place != s.count {
		err = corrupt(v.src, 0, -1, "the labels of %d streams could be read before; now those of %d", s.count, place)
	}
	s.used = nil
	return err
}
