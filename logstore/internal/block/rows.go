package block

import "bytes"

// rows are the rows of a block in memory, by columns.
type rows struct {
	times       []int64
	lines, meta texts // meta is empty if no row has any
	raw         int   // bytes of lines and meta, no separators
}

func (r *rows) add(time int64, line, meta []byte) {
	if len(meta) > 0 || !r.meta.empty() {
		for r.meta.len() < len(r.times) {
			r.meta.add(nil) // the rows before the first with metadata
		}
		r.meta.add(meta)
	}
	r.lines.add(line)
	r.times = append(r.times, time)
	r.raw += len(line) + len(meta)
}

func (r *rows) reset() {
	r.times = r.times[:0]
	r.lines.reset()
	r.meta.reset()
	r.raw = 0
}

// A texts has one text of each row.
type texts struct {
	text      []byte   // each text, and a separator
	starts    []uint32 // of each text, and one more: len(text); or nothing at all
	ambiguous bool     // some text has a separator in it
}

func (c *texts) empty() bool { return len(c.starts) == 0 }

func (c *texts) len() int { return max(len(c.starts)-1, 0) }

// at returns the i-th text. Appending to it does not overwrite the next one.
func (c *texts) at(i int) []byte {
	from, to := c.starts[i], c.starts[i+1]-1
	return c.text[from:to:to]
}

// add adds a text. The Encoder refuses what would not fit in 32 bits before
// the starts are used.
func (c *texts) add(text []byte) {
	if len(c.starts) == 0 {
		c.starts = append(c.starts, 0)
	}
	c.ambiguous = c.ambiguous || bytes.IndexByte(text, separator) >= 0
	if need := len(c.text) + len(text) + 1; need > cap(c.text) && need <= maxRoom {
		c.grow(need)
	}
	c.text = append(append(c.text, text...), separator)
	c.starts = append(c.starts, uint32(len(c.text)))
}

// Memory for texts: maxRoom is for blocks of 1 MiB, and the one before it for those of a quarter
// of a MiB, also if their lines are short or the last one is long.
const (
	minRoom = 68 << 10
	midRoom = 5 * minRoom
	maxRoom = 16 * minRoom
)

// grow makes room for texts of need bytes, at most maxRoom: in few steps, as each leaves the
// memory of the one before.
func (c *texts) grow(need int) {
	room := maxRoom
	if need <= minRoom {
		room = minRoom
	} else if need <= midRoom {
		room = midRoom
	}
	c.text = append(make([]byte, 0, room), c.text...)
}

func (c *texts) weight() int64 { return int64(cap(c.text)) + 4*int64(cap(c.starts)) }

func (c *texts) reset() {
	c.text, c.starts, c.ambiguous = c.text[:0], c.starts[:0], false
}
