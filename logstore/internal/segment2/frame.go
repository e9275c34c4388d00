package segment2

import (
	"encoding/binary"
	"math"
)

// A labelFrame is the header of a label frame.
type labelFrame struct {
	number  uint32 // of the chunk
	raw     uint32 // bytes of the keys before compression
	first   uint32 // ordinal
	streams uint32
	stored  uint32 // bytes of the keys
	sum     uint32 // of these
}

func (f labelFrame) size() int64 { return labelHeaderSize + int64(f.stored) }

// append appends the header of a frame at offset off.
func (f labelFrame) append(dst []byte, salt uint64, off int64) []byte {
	return appendFrame(dst, salt, off, kindLabels, f.number, f.raw, f.first, f.streams, f.stored, f.sum)
}

// parseLabelFrame decodes the header of the label frame at offset off; ok is
// false if it is not valid.
func parseLabelFrame(p []byte, salt uint64, off int64) (f labelFrame, ok bool) {
	if !isFrame(p, salt, off, kindLabels, labelHeaderSize) {
		return labelFrame{}, false
	}
	for i, v := range [...]*uint32{&f.number, &f.raw, &f.first, &f.streams, &f.stored, &f.sum} {
		*v = binary.LittleEndian.Uint32(p[8+4*i:])
	}
	return f, f.streams > 0 && f.streams <= chunkStreams && f.streams <= math.MaxUint32-f.first && f.stored <= f.raw && f.raw <= MaxRead
}

// A blockFrame is the header of a block frame.
type blockFrame struct {
	number                     uint32 // of the block
	codec, dictionary          uint16
	list, positions, size      uint32 // bytes of the parts, size that of the block
	listSum, positionsSum, sum uint32 // of the parts
}

func (f blockFrame) bytes() int64 {
	return blockHeaderSize + int64(f.list) + int64(f.positions) + int64(f.size)
}

// append appends the header of a frame at offset off.
func (f blockFrame) append(dst []byte, salt uint64, off int64) []byte {
	return appendFrame(dst, salt, off, kindBlock, f.number, uint32(f.codec)|uint32(f.dictionary)<<16,
		f.list, f.positions, f.size, f.listSum, f.positionsSum, f.sum)
}

// parseBlockFrame decodes the header of the block frame at offset off; ok is
// false if it is not valid.
func parseBlockFrame(p []byte, salt uint64, off int64) (f blockFrame, ok bool) {
	if !isFrame(p, salt, off, kindBlock, blockHeaderSize) {
		return blockFrame{}, false
	}
	f.codec, f.dictionary = binary.LittleEndian.Uint16(p[12:]), binary.LittleEndian.Uint16(p[14:])
	f.number = binary.LittleEndian.Uint32(p[8:])
	for i, v := range [...]*uint32{&f.list, &f.positions, &f.size, &f.listSum, &f.positionsSum, &f.sum} {
		*v = binary.LittleEndian.Uint32(p[16+4*i:])
	}
	return f, dictionaryFits(f.codec, f.dictionary) && f.size > 0 && f.list > 0 && f.list <= MaxRead && f.positions <= MaxRead && f.size <= MaxRead
}

// dictionaryFits reports whether a block of the codec may have this number of a dictionary:
// those of CodecLines have none, and those of CodecColumns one.
func dictionaryFits(codec, dictionary uint16) bool {
	switch codec {
	case CodecLines:
		return dictionary == 0
	case CodecColumns:
		return dictionary > 0
	}
	return true // of a newer program
}

// appendFrame appends the header of a frame.
func appendFrame(dst []byte, salt uint64, off int64, k kind, fields ...uint32) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(dst, k[:]...)
	for _, v := range fields {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	binary.LittleEndian.PutUint32(dst[at:], frameSum(salt, off, dst[at:]))
	return dst
}

func isFrame(p []byte, salt uint64, off int64, k kind, size int) bool {
	return len(p) >= size && kind(p[4:8]) == k && binary.LittleEndian.Uint32(p) == frameSum(salt, off, p[:size])
}

// appendList appends the list of a block, whose runs cover all its rows in
// order, with ordinals that do not decrease.
func appendList(dst []byte, runs []FrameRun) []byte {
	last := uint32(0)
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, uint64(r.Ordinal-last))
		dst = binary.AppendUvarint(dst, r.Seq)
		dst = binary.AppendUvarint(dst, uint64(r.Rows))
		last = r.Ordinal
	}
	return dst
}

// parseList appends the runs of the list of a block, and returns how many rows
// they have.
func parseList(dst []FrameRun, list []byte) (runs []FrameRun, rows int, err error) {
	c := decoder{p: list}
	ordinal, next := uint64(0), uint32(0)
	for c.left() > 0 {
		ordinal += c.atMost(math.MaxUint32 - ordinal)
		r := FrameRun{Ordinal: uint32(ordinal), First: next, Seq: c.atMost(maxSeq)}
		r.Rows = uint32(c.atMost(uint64(math.MaxInt32 - next)))
		if c.bad || r.Rows == 0 {
			return dst, 0, errForm
		}
		next += r.Rows
		dst = append(dst, r)
	}
	if next == 0 {
		return dst, 0, errForm
	}
	return dst, int(next), nil
}
