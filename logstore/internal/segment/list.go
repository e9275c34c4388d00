package segment

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

// What varies in length is encoded here: lists of runs, and labels that begin
// as those before them.

var (
	errForm   = errors.New("it is not well-formed")
	errLabels = errors.New("labels are not well-formed")
)

// A cursor takes varints off the front of p. After the first that is none, bad
// is set, and all further ones are 0.
type cursor struct {
	p   []byte
	bad bool
}

func (c *cursor) uvarint() uint64 {
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

// most is a uvarint that may be limit at most.
func (c *cursor) most(limit uint64) uint64 {
	v := c.uvarint()
	if v > limit {
		c.p, c.bad = nil, true
		return 0
	}
	return v
}

// zigzag is a signed one.
func (c *cursor) zigzag() int64 {
	v := c.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.p)) {
		c.p, c.bad = nil, true
		return nil
	}
	p := c.p[:n]
	c.p = c.p[n:]
	return p
}

func appendZigzag(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

// A labelWriter encodes labels that resemble those before them: how many bytes
// are the same (uvarint), how many follow (uvarint), those. Each restart-th
// stands for itself.
type labelWriter struct {
	last  string
	count int
}

func (w *labelWriter) append(dst []byte, labels string) []byte {
	same := 0
	if w.count%restart != 0 {
		for same < min(len(labels), len(w.last)) && labels[same] == w.last[same] {
			same++
		}
	}
	w.last = labels
	w.count++
	dst = binary.AppendUvarint(dst, uint64(same))
	dst = binary.AppendUvarint(dst, uint64(len(labels)-same))
	return append(dst, labels[same:]...)
}

// A labelReader decodes them into parts of one string.
type labelReader struct {
	all   strings.Builder
	last  string
	count int
}

func (r *labelReader) next(c *cursor) string {
	same := c.most(uint64(len(r.last)))
	rest := c.take(c.most(maxLabels - same))
	if same != 0 && r.count%restart == 0 {
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

// A placed is a run in the list of a block: with the labels of its stream, and
// its place among the runs of the stream.
type placed struct {
	StreamRun
	// seq grows with the order of the runs of a stream. It has gaps where runs
	// were merged into one.
	seq uint64
}

// appendPlaced appends the list of a block, whose runs cover its rows from the
// first to the last.
func appendPlaced(dst []byte, runs []placed) []byte {
	var labels labelWriter
	last := int64(0)
	for _, r := range runs {
		dst = labels.append(dst, r.Labels)
		dst = binary.AppendUvarint(dst, r.seq)
		dst = binary.AppendUvarint(dst, uint64(r.Rows))
		dst = appendZigzag(dst, r.MinTime-last)
		dst = binary.AppendUvarint(dst, uint64(r.MaxTime-r.MinTime))
		dst = binary.AppendUvarint(dst, uint64(r.Raw))
		last = r.MinTime
	}
	return dst
}

// parsePlaced appends the runs of the list of a block, whose number it puts
// into them.
func parsePlaced(dst []placed, list []byte, block int) (runs []placed, rows, raw int64, err error) {
	c := cursor{p: list}
	var labels labelReader
	last := int64(0)
	for len(c.p) > 0 {
		r := placed{StreamRun: StreamRun{Labels: labels.next(&c)}}
		r.seq = c.most(math.MaxInt64)
		r.Block = block
		r.First = int(rows)
		r.Rows = int(c.most(uint64(math.MaxInt32 - rows)))
		r.MinTime = last + c.zigzag()
		r.MaxTime = r.MinTime + int64(c.uvarint())
		r.Raw = int64(c.most(uint64(math.MaxInt32 - raw)))
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

// A listed is a run in the list of a stream.
type listed struct {
	Run
	seq uint64
}

// A listWriter encodes the list of a stream.
type listWriter struct{ last listed }

func (w *listWriter) append(dst []byte, r listed) []byte {
	dst = appendZigzag(dst, int64(r.Block-w.last.Block))
	dst = binary.AppendUvarint(dst, uint64(r.First))
	dst = binary.AppendUvarint(dst, uint64(r.Rows))
	dst = appendZigzag(dst, r.MinTime-w.last.MinTime)
	dst = binary.AppendUvarint(dst, uint64(r.MaxTime-r.MinTime))
	dst = binary.AppendUvarint(dst, uint64(r.Raw))
	dst = binary.AppendUvarint(dst, r.seq-w.last.seq)
	w.last = r
	return dst
}

// parseList decodes the list of a stream. blocks tells of the block of a run,
// and whether there is one.
func parseList(list []byte, blocks func(i int64) (record, bool)) ([]listed, error) {
	runs := make([]listed, 0, min(len(list)/minRun+1, 1<<10))
	c := cursor{p: list}
	var last listed
	for len(c.p) > 0 {
		var r listed
		block := int64(last.Block) + c.zigzag()
		b, ok := blocks(block)
		if !ok {
			return nil, errForm
		}
		r.Block = int(block)
		r.First = int(c.most(uint64(b.rows)))
		r.Rows = int(c.most(uint64(int64(b.rows) - int64(r.First))))
		r.MinTime = last.MinTime + c.zigzag()
		r.MaxTime = r.MinTime + int64(c.uvarint())
		r.Raw = int64(c.most(uint64(b.raw)))
		step := c.most(math.MaxInt64)
		r.seq = last.seq + step
		if c.bad || r.Rows == 0 || r.MaxTime < r.MinTime || step == 0 && len(runs) > 0 || r.seq > math.MaxInt64 {
			return nil, errForm
		}
		runs = append(runs, r)
		last = r
	}
	if len(runs) == 0 {
		return nil, errForm
	}
	return runs, nil
}
