package segment2

import (
	"slices"

	"github.com/stele-go/stele/logstore/internal/filter"
)

const (
	// filterParts is the most parts that the stream filter has, a power of two,
	// and filterPart about how many keys one has, as long as there are fewer.
	filterParts = 64
	filterPart  = 32 << 10
)

// streamKeys collects the hashes of the keys of all streams, by their highest
// bits.
type streamKeys struct {
	parts [filterParts][]uint64
	count int
}

func (s *streamKeys) add(key []byte) {
	h := filter.KeyOf(key)
	i := partOfHash(h, filterParts)
	s.parts[i] = append(s.parts[i], h)
	s.count++
}

// memory returns about how many bytes of memory the hashes take.
func (s *streamKeys) memory() int64 { return 10 * int64(s.count) }

// sets returns the sets of the parts of the stream filter, a power of two of
// them, and frees the hashes.
func (s *streamKeys) sets() [][]byte {
	n := 1
	for n < filterParts && s.count/n > filterPart {
		n *= 2
	}
	sets := make([][]byte, n)
	var b filter.SetBuilder
	for i := range sets {
		each := filterParts / n
		for j := i * each; j < (i+1)*each; j++ {
			for _, h := range s.parts[j] {
				b.Add(h)
			}
			s.parts[j] = nil
		}
		sets[i] = slices.Clip(b.Append(nil))
	}
	return sets
}

// partOfHash returns which of so many parts, a power of two, has a hash.
func partOfHash(h uint64, parts int) int { return int(h >> 32 * uint64(parts) >> 32) }
