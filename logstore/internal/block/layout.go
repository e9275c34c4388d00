package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The layout is drawn in the package comment; its numbers are here.
const (
	version1 = 1

	headerSize  = 84
	sectionsAt  = 8
	sectionSize = 12
	headerSumAt = headerSize - 4

	// separator follows each line. UTF-8 never has it (RFC 3629, section 3).
	separator = 0xff

	// maxTimesHeader is the largest size of a times section before its varints:
	// the first time, the unit, the order, the width.
	maxTimesHeader = 8 + binary.MaxVarintLen64 + 2

	// maxTimeBits leaves space in 64 bits for the rest of the last byte.
	maxTimeBits = 56
)

// Sections in the order of the layout.
const (
	sectionTimes = iota
	sectionTimeBits
	sectionLines
	sectionLineLengths
	sectionMeta
	sectionMetaLengths
	sections
)

const (
	// MaxRows bounds the rows of a block.
	MaxRows = 1 << 20
	// MaxRaw bounds the bytes of lines and metadata of a block.
	MaxRaw = 16 << 20
)

// ErrDamaged is wrapped by every error about bytes that are not a block, of this version
// or a later one. Of a later one is a *VersionError.
var ErrDamaged = errors.New("the block is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// A section is the header's entry of a section.
type section struct {
	stored, raw, sum uint32
	compressed       bool
}

// maxSection returns the most raw bytes of a section of a block of rows rows.
func maxSection(id int, rows int) int {
	switch id {
	case sectionTimes:
		return maxTimesHeader + (rows-1)*binary.MaxVarintLen64
	case sectionTimeBits:
		return timeBits(rows, maxTimeBits)
	case sectionLines, sectionMeta:
		return MaxRaw + rows // a separator each
	default:
		return rows * binary.MaxVarintLen32
	}
}

// A header is the first bytes of a block of version 1.
type header struct {
	rows     int
	sections [sections]section
}

func (h *header) put(p []byte) {
	clear(p[:headerSize])
	p[0] = version1
	binary.LittleEndian.PutUint32(p[4:], uint32(h.rows))
	for i, s := range h.sections {
		if s.compressed {
			p[1] |= 1 << i
		}
		at := p[sectionsAt+i*sectionSize:]
		binary.LittleEndian.PutUint32(at, s.stored)
		binary.LittleEndian.PutUint32(at[4:], s.raw)
		binary.LittleEndian.PutUint32(at[8:], s.sum)
	}
	binary.LittleEndian.PutUint32(p[headerSumAt:], checksum(p[:headerSumAt]))
}

// parse decodes the header of the block p, and verifies its bounds.
func (h *header) parse(p []byte) error {
	size, err := h.parseStart(p)
	if err == nil && size != uint64(len(p)) {
		return damaged("%d bytes; want %d", len(p), size)
	}
	return err
}

// parseStart is parse of the first bytes of a block, and returns how many there are in
// all.
func (h *header) parseStart(p []byte) (size uint64, err error) {
	if len(p) < headerSize {
		return 0, damaged("%d bytes; want a header of %d", len(p), headerSize)
	}
	if binary.LittleEndian.Uint32(p[headerSumAt:]) != checksum(p[:headerSumAt]) {
		return 0, damaged("the checksum of the header does not match")
	}
	rows := binary.LittleEndian.Uint32(p[4:])
	if p[1]>>sections != 0 || p[2] != 0 || p[3] != 0 {
		return 0, damaged("the header has unknown bits")
	}
	if rows == 0 || rows > MaxRows {
		return 0, damaged("%d rows; want 1 to %d", rows, MaxRows)
	}
	h.rows = int(rows)
	size = uint64(headerSize)
	for i := range h.sections {
		at := p[sectionsAt+i*sectionSize:]
		s := section{
			stored:     binary.LittleEndian.Uint32(at),
			raw:        binary.LittleEndian.Uint32(at[4:]),
			sum:        binary.LittleEndian.Uint32(at[8:]),
			compressed: p[1]>>i&1 != 0,
		}
		if int64(s.raw) > int64(maxSection(i, h.rows)) {
			return 0, damaged("section %d has %d bytes for %d rows", i, s.raw, rows)
		}
		if s.compressed && s.stored >= s.raw || !s.compressed && s.stored != s.raw {
			return 0, damaged("section %d stores %d bytes in %d", i, s.raw, s.stored)
		}
		size += uint64(s.stored)
		h.sections[i] = s
	}
	if int(h.sections[sectionLines].raw)+int(h.sections[sectionMeta].raw) > MaxRaw+2*h.rows {
		return 0, damaged("more than %d bytes of lines and metadata", MaxRaw)
	}
	return size, nil
}
