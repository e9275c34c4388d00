package segment2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// A zone is what the section zones has of a group.
type zone struct {
	Zone
	blocks, runs part  // the two parts of the group
	frames       int64 // offset of the frame of the first block
	filters      int64 // offset of its filter
	filterBytes  uint32
}

func (z zone) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(z.blocks.off))
	for _, v := range [...]int{
		z.blocks.bytes, z.blocks.raw, int(z.blocks.sum), z.runs.bytes, z.runs.raw, int(z.runs.sum),
		z.First, z.Blocks, z.Runs, int(z.Rows),
	} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(z.frames))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(z.filters))
	for _, v := range [...]uint32{z.filterBytes, z.Low, z.High, 0} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	for _, v := range [...]int64{z.MinTime, z.MaxTime, z.Raw} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

// parseZone decodes a zone but for the offset of the second part.
func parseZone(p []byte) zone {
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(p[at:])) }
	i64 := func(at int) int64 { return int64(binary.LittleEndian.Uint64(p[at:])) }
	z := zone{
		Zone: Zone{
			First: u32(32), Blocks: u32(36), Runs: u32(40), Rows: int64(u32(44)), Low: uint32(u32(68)), High: uint32(u32(72)),
			MinTime: i64(80), MaxTime: i64(88), Raw: i64(96),
		},
		blocks: part{off: i64(0), bytes: u32(8), raw: u32(12), sum: uint32(u32(16))},
		runs:   part{bytes: u32(20), raw: u32(24), sum: uint32(u32(28))},
		frames: i64(48), filters: i64(56), filterBytes: uint32(u32(64)),
	}
	return z
}

// parseZones decodes the section zones. The groups fill their section, first the
// first parts and then the second ones, and the filters fill theirs: so each
// byte of these has a checksum.
func parseZones(p []byte, groups, filters section) ([]zone, error) {
	if len(p)%zoneSize != 0 {
		return nil, errForm
	}
	list := make([]zone, 0, len(p)/zoneSize)
	blocks, group, filter, frame := 0, groups.off, filters.off, int64(headerSize)
	for ; len(p) > 0; p = p[zoneSize:] {
		z := parseZone(p)
		switch {
		case z.First != blocks || z.Blocks == 0 || z.Blocks > GroupBlocks || z.Runs < z.Blocks || z.Runs > GroupRuns && z.Blocks > 1,
			z.Low > z.High, z.MinTime > z.MaxTime, z.Rows < int64(z.Runs), z.Raw < 0,
			z.blocks.bytes > MaxRead || z.runs.bytes > MaxRead,
			z.blocks.off != group, z.filters != filter, z.frames < frame, z.frames > groups.off,
			binary.LittleEndian.Uint32(p[76:]) != 0:
			return nil, fmt.Errorf("zone %d: %w", len(list), errForm)
		}
		blocks += z.Blocks
		group += int64(z.blocks.bytes)
		filter += int64(z.filterBytes)
		frame = z.frames + 1
		list = append(list, z)
	}
	for i := range list {
		list[i].runs.off = group
		group += int64(list[i].runs.bytes)
	}
	if blocks != int(groups.items) || group != groups.off+groups.bytes || filter != filters.off+filters.bytes {
		return nil, errTotals
	}
	return list, nil
}

// errTotals is the error of parts that do not add up to the whole.
var errTotals = errors.New("it does not add up")

// minBlock is the least that a block takes in a group, minRun a run.
const (
	minBlock = 21
	minRun   = 6
)

// A column encodes one field of a block, or sets it.
type column struct {
	get func(b *Block) uint64
	set func(b *Block, v uint64) bool // false if v is out of range
}

// blockColumns are the columns of a group that are uvarints, in order.
var blockColumns = [...]column{
	{func(b *Block) uint64 { return uint64(b.list) }, func(b *Block, v uint64) bool { b.list = uint32(v); return 0 < v && v <= MaxRead }},
	{func(b *Block) uint64 { return uint64(b.positions) }, func(b *Block, v uint64) bool { b.positions = uint32(v); return v <= MaxRead }},
	{func(b *Block) uint64 { return uint64(b.size) }, func(b *Block, v uint64) bool { b.size = uint32(v); return 0 < v && v <= MaxRead }},
	{func(b *Block) uint64 { return uint64(b.FilterBytes) }, func(b *Block, v uint64) bool { b.FilterBytes = uint32(v); return v <= MaxRead }},
	{func(b *Block) uint64 { return uint64(b.Codec) }, func(b *Block, v uint64) bool { b.Codec = uint16(v); return v <= math.MaxUint16 }},
	{func(b *Block) uint64 { return uint64(b.Dictionary) }, func(b *Block, v uint64) bool { b.Dictionary = uint16(v); return v <= math.MaxUint16 }},
	{func(b *Block) uint64 { return uint64(b.Rows) }, func(b *Block, v uint64) bool { b.Rows = uint32(v); return v <= math.MaxInt32 }},
	{func(b *Block) uint64 { return uint64(b.Raw) }, func(b *Block, v uint64) bool { b.Raw = uint32(v); return v <= math.MaxInt32 }},
	{func(b *Block) uint64 { return uint64(b.Runs) }, func(b *Block, v uint64) bool { b.Runs = uint32(v); return 0 < v && v <= uint64(b.Rows) }},
}

// appendBlocks appends the first part of a group.
func appendBlocks(dst []byte, blocks []Block, z Zone) []byte {
	dst = append(dst, 0)
	for _, c := range &blockColumns {
		for i := range blocks {
			dst = binary.AppendUvarint(dst, c.get(&blocks[i]))
		}
	}
	time, ordinal := z.MinTime, z.Low
	for _, b := range blocks {
		dst = appendZigzag(dst, b.MinTime-time)
		time = b.MinTime
	}
	for _, b := range blocks {
		dst = binary.AppendUvarint(dst, uint64(b.MaxTime-b.MinTime))
	}
	for _, b := range blocks {
		dst = appendZigzag(dst, int64(b.Low)-int64(ordinal))
		ordinal = b.Low
	}
	for _, b := range blocks {
		dst = binary.AppendUvarint(dst, uint64(b.High-b.Low))
	}
	for _, b := range blocks {
		dst = binary.LittleEndian.AppendUint32(dst, b.sum)
	}
	for _, b := range blocks {
		dst = binary.LittleEndian.AppendUint32(dst, b.filterSum)
	}
	return dst
}

// decodeBlocks decodes the first part of a group.
func decodeBlocks(p []byte, z *zone) ([]Block, error) {
	c := decoder{p: p}
	if c.byte() != 0 || c.left()/minBlock < z.Blocks {
		return nil, errForm
	}
	blocks := make([]Block, z.Blocks)
	for _, column := range &blockColumns {
		c.each(len(blocks), func(i int, v uint64) bool { return column.set(&blocks[i], v) })
	}
	time, ordinal := z.MinTime, int64(z.Low)
	c.each(len(blocks), func(i int, v uint64) bool {
		time += signed(v)
		blocks[i].MinTime = time
		return true
	})
	c.each(len(blocks), func(i int, v uint64) bool {
		blocks[i].MaxTime = blocks[i].MinTime + int64(v)
		return blocks[i].MaxTime >= blocks[i].MinTime
	})
	c.each(len(blocks), func(i int, v uint64) bool {
		ordinal += signed(v)
		blocks[i].Low = uint32(ordinal)
		return ordinal >= 0 && ordinal <= math.MaxUint32
	})
	c.each(len(blocks), func(i int, v uint64) bool {
		blocks[i].High = blocks[i].Low + uint32(v)
		return v <= uint64(math.MaxUint32-blocks[i].Low)
	})
	for i := range blocks {
		blocks[i].sum = c.uint32()
	}
	for i := range blocks {
		blocks[i].filterSum = c.uint32()
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	off, filter := z.frames, z.filters
	for i := range blocks {
		b := &blocks[i]
		if !dictionaryFits(b.Codec, b.Dictionary) {
			return nil, errForm
		}
		b.Offset, b.FilterOffset = off, filter
		b.Bytes = blockHeaderSize + int64(b.list) + int64(b.positions) + int64(b.size)
		off += b.Bytes
		filter += int64(b.FilterBytes)
	}
	return blocks, nil
}

// parseGroup decodes the first part of a group, and compares it with the zone.
func parseGroup(p []byte, number int, z *zone) (*Group, error) {
	blocks, err := decodeBlocks(p, z)
	if err != nil {
		return nil, err
	}
	has := zoneOf(blocks)
	has.First, has.blocks, has.runs = z.First, z.blocks, z.runs
	if has != *z {
		return nil, errTotals
	}
	return &Group{Number: number, First: z.First, Blocks: blocks, checked: make([]atomic.Uint64, (len(blocks)+63)/64)}, nil
}

// zoneOf returns the zone of blocks, without the number of the first and where
// the parts of the group are.
func zoneOf(blocks []Block) zone {
	first := &blocks[0]
	z := zone{frames: first.Offset, filters: first.FilterOffset, Zone: Zone{
		Blocks: len(blocks), MinTime: first.MinTime, MaxTime: first.MaxTime, Low: first.Low, High: first.High,
	}}
	for i := range blocks {
		b := &blocks[i]
		z.MinTime, z.MaxTime = min(z.MinTime, b.MinTime), max(z.MaxTime, b.MaxTime)
		z.Low, z.High = min(z.Low, b.Low), max(z.High, b.High)
		z.Runs += int(b.Runs)
		z.Rows += int64(b.Rows)
		z.Raw += int64(b.Raw)
		z.filterBytes += b.FilterBytes
	}
	return z
}

// appendRuns appends the second part of a group: the runs of its blocks.
func appendRuns(dst []byte, runs Runs, blocks []Block, z Zone) []byte {
	dst = append(dst, 0)
	rest := runs
	for i := range blocks {
		last := blocks[i].Low
		for _, r := range rest[:blocks[i].Runs] {
			dst = binary.AppendUvarint(dst, uint64(r.Ordinal-last))
			last = r.Ordinal
		}
		rest = rest[blocks[i].Runs:]
	}
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, r.Seq)
	}
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, uint64(r.Rows))
	}
	time := z.MinTime
	for _, r := range runs {
		dst = appendZigzag(dst, r.MinTime-time)
		time = r.MinTime
	}
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, uint64(r.MaxTime-r.MinTime))
	}
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, uint64(r.Raw))
	}
	return dst
}

// parseRuns decodes the second part of a group, and compares it with the first.
func parseRuns(p []byte, g *Group, z Zone) (Runs, error) {
	c := decoder{p: p}
	if c.byte() != 0 || c.left()/minRun < z.Runs {
		return nil, errForm
	}
	runs, err := g.ordinals(&c, z.Runs)
	if err != nil {
		return nil, err
	}
	c.each(len(runs), func(i int, v uint64) bool {
		runs[i].Seq = v
		return v <= maxSeq
	})
	c.each(len(runs), func(i int, v uint64) bool {
		runs[i].Rows = uint32(v)
		return v <= math.MaxInt32
	})
	time := z.MinTime
	c.each(len(runs), func(i int, v uint64) bool {
		time += signed(v)
		runs[i].MinTime = time
		return true
	})
	c.each(len(runs), func(i int, v uint64) bool {
		runs[i].MaxTime = runs[i].MinTime + int64(v)
		return runs[i].MaxTime >= runs[i].MinTime
	})
	c.each(len(runs), func(i int, v uint64) bool {
		runs[i].Raw = int64(v)
		return v <= math.MaxInt32
	})
	if err := c.end(); err != nil {
		return nil, err
	}
	rest := runs
	for i := range g.Blocks {
		b := &g.Blocks[i]
		if !setRows(rest[:b.Runs], b) {
			return nil, errTotals
		}
		rest = rest[b.Runs:]
	}
	return runs, nil
}

// ordinals decodes the column of ordinals, and returns so many runs with these
// and their blocks.
func (g *Group) ordinals(c *decoder, count int) (Runs, error) {
	runs := make(Runs, count)
	rest := runs
	for i := range g.Blocks {
		b := &g.Blocks[i]
		if int64(b.Runs) > int64(len(rest)) {
			return nil, errTotals
		}
		of := rest[:b.Runs]
		ordinal := uint64(b.Low)
		c.each(len(of), func(j int, v uint64) bool {
			ordinal += v
			of[j].Ordinal, of[j].Block = uint32(ordinal), uint32(g.First+i)
			return v <= math.MaxUint32 && ordinal <= math.MaxUint32
		})
		rest = rest[b.Runs:]
	}
	if len(rest) > 0 {
		return nil, errTotals
	}
	return runs, nil
}

// setRows sets the first rows of the runs of a block, and reports whether they
// are what the block has.
func setRows(runs Runs, b *Block) bool {
	var rows, raw int64
	low, high, from, to := runs[0].Ordinal, runs[len(runs)-1].Ordinal, runs[0].MinTime, runs[0].MaxTime
	for i := range runs {
		r := &runs[i]
		if r.Rows == 0 {
			return false
		}
		r.First = uint32(rows)
		rows += int64(r.Rows)
		raw += r.Raw
		if rows > int64(b.Rows) {
			return false
		}
		from, to = min(from, r.MinTime), max(to, r.MaxTime)
	}
	return rows == int64(b.Rows) && raw == int64(b.Raw) && low == b.Low && high == b.High && from == b.MinTime && to == b.MaxTime
}
