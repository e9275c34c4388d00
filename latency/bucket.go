package latency

import (
	"math/bits"
	"time"
)

// Buckets are numbered from 0. Those of block 0 hold the durations from 0 to
// 15 ns, one nanosecond each. Block e holds those of e+4 bits, in perBlock
// buckets of 1<<(e-1) ns each.
const (
	subBits  = 4
	perBlock = 1 << subBits
	blocks   = 40
	buckets  = blocks * perBlock

	// top is the end of the last bucket, in nanoseconds.
	top = 1 << (blocks + subBits - 1)
)

// bucketOf returns the block of v, which is below top, and the bucket within it.
func bucketOf(v uint64) (block, sub int) {
	block = bits.Len64(v|(perBlock-1)) - subBits
	return block, int(v>>max(block-1, 0)) & (perBlock - 1)
}

// lowOf returns the least duration in bucket i.
func lowOf(i int) uint64 {
	block, sub := i/perBlock, uint64(i%perBlock)
	if block == 0 {
		return sub
	}
	return (perBlock + sub) << (block - 1)
}

// Bounds are the bounds of a bucket: it counts durations d with Low <= d < High.
type Bounds struct {
	Low, High time.Duration
}

func boundsOf(i int) Bounds { return Bounds{time.Duration(lowOf(i)), time.Duration(lowOf(i + 1))} }
