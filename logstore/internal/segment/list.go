package segment

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
)

// This file decodes data of variable length: lists of runs, and labels that share a
// prefix with the previous ones: the length of the common prefix (uvarint), the length
// of the rest (uvarint), the rest. Each restartInterval-th label set has no common prefix.

var (
	errForm   = errors.New("not well-formed")
	errLabels = errors.New("labels are not well-formed")
)

// A decoder decodes varints from the front of p. After an invalid one bad is
// set, and all later ones are 0.
type decoder struct {
	p   []byte
	bad bool
}

func (c *decoder) uvarint() uint64 {
	if len(c.p) > 0 && c.p[0] < 0x80 {
		v := c.p[0]
		c.p = c.p[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.p)
	if n <= 0 {
		c.p, c.bad = nil, true
		return 0
	}
	c.p = c.p[n:]
	return v
}

// atMost decodes a uvarint of at most limit.
func (c *decoder) atMost(limit uint64) uint64 {
	v := c.uvarint()
	if v > limit {
		c.p, c.bad = nil, true
		return 0
	}
	return v
}

// zigzag decodes a signed varint.
func (c *decoder) zigzag() int64 {
	v := c.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (c *decoder) take(n uint64) []byte {
	if n > uint64(len(c.p)) {
		c.p, c.bad = nil, true
		return nil
	}
	p := c.p[:n]
	c.p = c.p[n:]
	return p
}

// A labelReader decodes labels into parts of one string.
type labelReader struct {
	all   strings.Builder
	last  string
	count int
}

func (r *labelReader) next(c *decoder) string {
	same := c.atMost(uint64(len(r.last)))
	rest := c.take(c.atMost(maxLabels - same))
	if same != 0 && r.count%restartInterval == 0 {
		c.p, c.bad = nil, true
		return ""
	}
	r.count++
	at := r.all.Len()
	r.all.WriteString(r.last[:same])
	r.all.Write(rest)
	r.last = r.all.String()[at:]
	return r.last
}

// A blockRun is a run in the list of a block, with the labels of its stream and
// its order among the runs of the stream.
type blockRun struct {
	Labels string
	Run
	// seq grows with the order of the runs of a stream. It has gaps where runs
	// were merged into one.
	seq uint64
}

// parseBlockRuns appends the runs of the list of a block, and sets Block.
func parseBlockRuns(dst []blockRun, list []byte, block int) (runs []blockRun, rows, raw int64, err error) {
	c := decoder{p: list}
	var labels labelReader
	last := int64(0)
	for len(c.p) > 0 {
		r := blockRun{Labels: labels.next(&c)}
		r.seq = c.atMost(math.MaxInt64)
		r.Block = block
		r.First = int(rows)
		r.Rows = int(c.atMost(uint64(math.MaxInt32 - rows)))
		r.MinTime = last + c.zigzag()
		r.MaxTime = r.MinTime + int64(c.uvarint())
		r.Raw = int64(c.atMost(uint64(math.MaxInt32 - raw)))
		if c.bad || r.Rows == 0 || r.MaxTime < r.MinTime {
			return dst, 0, 0, errForm
		}
		rows += int64(r.Rows)
		raw += r.Raw
		last = r.MinTime
		dst = append(dst, r)
	}
	if rows == 0 {
		return dst, 0, 0, errForm
	}
	return dst, rows, raw, nil
}

// A seqRun is a run in the list of a stream.
type seqRun struct {
	Run
	seq uint64
}

// parseList appends the runs of the list of a stream to dst. blocks returns the
// entry of a run's block, and whether there is one.
func parseList(dst []seqRun, list []byte, blocks func(i int64) (blockEntry, bool)) ([]seqRun, error) {
	runs := slices.Grow(dst, min(len(list)/minRun+1, 1<<10))
	c := decoder{p: list}
	var last seqRun
	for len(c.p) > 0 {
		var r seqRun
		block := int64(last.Block) + c.zigzag()
		b, ok := blocks(block)
		if !ok {
			return dst, errForm
		}
		r.Block = int(block)
		r.First = int(c.atMost(uint64(b.rows)))
		r.Rows = int(c.atMost(uint64(int64(b.rows) - int64(r.First))))
		r.MinTime = last.MinTime + c.zigzag()
		r.MaxTime = r.MinTime + int64(c.uvarint())
		r.Raw = int64(c.atMost(uint64(b.raw)))
		step := c.atMost(math.MaxInt64)
		r.seq = last.seq + step
		if c.bad || r.Rows == 0 || r.MaxTime < r.MinTime || step == 0 && len(runs) > len(dst) || r.seq > math.MaxInt64 {
			return dst, errForm
		}
		runs = append(runs, r)
		last = r
	}
	if len(runs) == len(dst) {
		return dst, errForm
	}
	return runs, nil
}
