package segment2

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A Type is the type of a section.
type Type uint16

const (
	TypeLabels       Type = 1 + iota // label directory
	TypeParity                       // of label frames
	TypePostings                     // of label values
	TypeStreamFilter                 // of keys
	TypeStreams                      // totals of streams
	TypeGroups                       // entries of blocks and runs
	TypeZones                        // of groups
	TypeFilters                      // of blocks
	TypeSummary                      // of labels
	TypeTenants
	TypeRoster     // reserved, as the log alone has the roster of segments
	TypeKeys       // of batches
	TypeSources    // of batches
	TypeDeletes    // reserved, as the log alone has the pending ones
	TypeLosses     // reserved
	TypeDictionary // of templates
	TypeOrigin
	TypeTables          // templates of blocks
	TypeDictionaryFrame // the copy of a dictionary, which has a frame
	typeEnd             // the first unknown one
)

// Flags are properties of a section.
type Flags uint16

const (
	// FlagNeeded: a reader that does not know the type refuses the segment.
	FlagNeeded Flags = 1 << iota
	// FlagKept: a merge copies the section though it does not know the type.
	FlagKept
	// flagParts: the section has parts, and a table of them at its end.
	flagParts
)

// A section is an entry of the section table.
type section struct {
	kind     Type
	flags    Flags
	items    uint32
	off      int64
	bytes    int64 // as stored
	raw      int64 // before compression; with flagParts the size of the part table
	sum      uint32
	instance uint32
}

func (s section) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(s.kind))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(s.flags))
	dst = binary.LittleEndian.AppendUint32(dst, s.items)
	for _, v := range [...]int64{s.off, s.bytes, s.raw} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	dst = binary.LittleEndian.AppendUint32(dst, s.sum)
	return binary.LittleEndian.AppendUint32(dst, s.instance)
}

// parseSections decodes the section table, which ends at end. Sections follow
// each other without gaps up to the table, so each byte behind the first of
// them has a checksum.
func parseSections(p []byte, end int64) ([]section, error) {
	if len(p)%sectionSize != 0 {
		return nil, errForm
	}
	list := make([]section, 0, len(p)/sectionSize)
	for ; len(p) > 0; p = p[sectionSize:] {
		u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
		s := section{
			kind: Type(binary.LittleEndian.Uint16(p)), flags: Flags(binary.LittleEndian.Uint16(p[2:])), items: u32(p[4:]),
			off: int64(u64(p[8:])), bytes: int64(u64(p[16:])), raw: int64(u64(p[24:])), sum: u32(p[32:]), instance: u32(p[36:]),
		}
		switch {
		case s.off < headerSize || s.bytes < 0 || s.raw < 0 || s.bytes > end-s.off:
			return nil, fmt.Errorf("section %d: %d bytes at offset %d, before compression %d: %w", s.kind, s.bytes, s.off, s.raw, errForm)
		case s.flags&flagParts != 0 && s.raw > s.bytes:
			return nil, fmt.Errorf("section %d: a part table of %d bytes in a section of %d: %w", s.kind, s.raw, s.bytes, errForm)
		}
		if n := len(list); n > 0 && list[n-1].off+list[n-1].bytes != s.off {
			return nil, fmt.Errorf("section %d: offset %d; want %d: %w", s.kind, s.off, list[n-1].off+list[n-1].bytes, errForm)
		}
		list = append(list, s)
	}
	if n := len(list); n > 0 && list[n-1].off+list[n-1].bytes != end {
		return nil, fmt.Errorf("the last section ends at offset %d; want %d: %w", list[n-1].off+list[n-1].bytes, end, errForm)
	}
	return list, nil
}

// open verifies the bytes of a section that has neither parts nor checksums
// elsewhere, and decompresses them.
func (s section) open(p []byte) ([]byte, error) {
	if int64(len(p)) != s.bytes || s.flags&flagParts != 0 || checksum(p) != s.sum {
		return nil, fmt.Errorf("section %d: the checksum does not match", s.kind)
	}
	return unzip(nil, p, int(s.raw))
}

// A part is an entry of the part table of a section.
type part struct {
	off   int64 // in the file
	bytes int   // as stored
	raw   int   // before compression
	sum   uint32
}

// minPart is the least that a part takes in the part table.
const minPart = 6

func (p part) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.bytes))
	dst = binary.AppendUvarint(dst, uint64(p.raw))
	return binary.LittleEndian.AppendUint32(dst, p.sum)
}

// partTable returns where the part table of a section is.
func (s section) partTable() (off int64, bytes int64) { return s.off + s.bytes - s.raw, s.raw }

// parseParts verifies and decodes the part table of a section.
func (s section) parseParts(table []byte) ([]part, error) {
	if s.flags&flagParts == 0 || int64(len(table)) != s.raw || checksum(table) != s.sum {
		return nil, fmt.Errorf("section %d: the checksum of the part table does not match", s.kind)
	}
	list := make([]part, 0, len(table)/minPart)
	c := decoder{p: table}
	off, end := s.off, s.off+s.bytes-s.raw
	for c.left() > 0 {
		p := part{off: off, bytes: int(c.atMost(uint64(end - off))), raw: int(c.atMost(math.MaxInt64)), sum: c.uint32()}
		if c.bad || p.raw != p.bytes && p.raw > MaxRead {
			return nil, errForm
		}
		off += int64(p.bytes)
		list = append(list, p)
	}
	if off != end {
		return nil, errForm
	}
	return list, nil
}

// open verifies the bytes of a part and decompresses them, into the memory of
// buf if they are compressed and it is large enough.
func (p part) open(buf, stored []byte) ([]byte, error) {
	if len(stored) != p.bytes || checksum(stored) != p.sum {
		return nil, fmt.Errorf("the checksum of the part at offset %d does not match", p.off)
	}
	return unzip(buf, stored, p.raw)
}
