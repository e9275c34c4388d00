package segment

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// The package comment draws the layout. All of its numbers are here. Integers
// are little endian.
const (
	version = 1

	headerMagic = "STELESEG"
	footerMagic = "STELEEND"

	// headerSize is the size of the file's header, before the first frame.
	headerSize = 24
	// frameHeaderSize is the size of a frame before its list and its payload.
	frameHeaderSize = 28
	// blockEntrySize is the size of an entry of the table of blocks.
	blockEntrySize = 44
	// footerSize is the size of the footer.
	footerSize = 128

	// minStream is the least that a stream takes in the table of streams,
	// minBlockRun and minRun the least that a run takes in a list: they bound
	// memory by the size of the file.
	minStream   = 12
	minBlockRun = 7
	minRun      = 7

	// Each restartInterval-th label set is encoded in full, others as a suffix
	// of the one before. So labels take at most that many times their encoded
	// size.
	restartInterval = 16
	// maxLabels bounds the bytes of the labels of a stream.
	maxLabels = 64 << 10

	// maxPart bounds the bytes of a block or a filter. Those of the store have
	// less than 7 MiB: a quarter of a MiB of lines and one more entry, which is
	// less than 4 MiB, and 29 bytes beside each of at most 64 Ki rows.
	maxPart = segment2.MaxRead

	// groupSize is how many bytes of filters are collected before they are
	// written together, and the most that one call writes.
	groupSize = 256 << 10

	// tailSize is how many bytes Open reads first: they have the index of most
	// segments.
	tailSize = 64 << 10
)

// A kind is the kind of a frame.
type kind [4]byte

var (
	kindBlock  = kind{'B', 'L', 'O', 'K'}
	kindFilter = kind{'F', 'L', 'T', 'R'}
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// parseHeader decodes the header of a file; ok is false if it is damaged.
func parseHeader(p []byte) (ver uint32, salt uint64, ok bool) {
	if len(p) < headerSize || string(p[:8]) != headerMagic || binary.LittleEndian.Uint32(p[20:]) != checksum(p[:20]) {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(p[8:]), binary.LittleEndian.Uint64(p[12:]), true
}

// IsMarked reports whether a file begins or ends as a segment does, whatever lies in
// between.
func IsMarked(src io.ReaderAt, size int64) (bool, error) {
	var p [len(headerMagic)]byte
	for _, at := range []struct {
		off   int64
		magic string
	}{{0, headerMagic}, {size - int64(len(footerMagic)), footerMagic}} {
		if at.off < 0 {
			continue
		}
		n, err := src.ReadAt(p[:], at.off)
		if err != nil && err != io.EOF {
			return false, err
		}
		if string(p[:n]) == at.magic {
			return true, nil
		}
	}
	return false, nil
}

// A frame is the header of a block or a filter.
type frame struct {
	kind    kind
	number  uint32 // of the block
	list    uint32 // bytes of the list of runs
	payload uint32 // bytes of the block or filter
	listSum uint32
	sum     uint32 // of the payload
}

func (f frame) size() int64 { return frameHeaderSize + int64(f.list) + int64(f.payload) }

// parseFrame decodes the header of the frame at offset off; ok is false if it is
// not valid.
func parseFrame(p []byte, salt uint64, off int64) (f frame, ok bool) {
	if len(p) < frameHeaderSize || binary.LittleEndian.Uint32(p) != frameSum(salt, off, p[:frameHeaderSize]) {
		return frame{}, false
	}
	f.kind = kind(p[4:8])
	for i, v := range [...]*uint32{&f.number, &f.list, &f.payload, &f.listSum, &f.sum} {
		*v = binary.LittleEndian.Uint32(p[8+4*i:])
	}
	return f, f.payload <= maxPart && (f.kind == kindBlock || f.kind == kindFilter && f.list == 0)
}

// frameSum returns the checksum of the header of a frame, which covers the salt
// of the file and the offset too: so a frame copied to another offset or file
// is not valid, and no line can look like one.
func frameSum(salt uint64, off int64, head []byte) uint32 {
	return crc32.Update(addUint64(addUint64(0, salt), uint64(off)), castagnoli, head[4:frameHeaderSize])
}

// addUint64 continues the CRC-32C crc over v. It exists because a buffer passed
// to crc32.Update escapes.
func addUint64(crc uint32, v uint64) uint32 {
	crc = ^crc
	for range 8 {
		crc = castagnoli[byte(crc)^byte(v)] ^ crc>>8
		v >>= 8
	}
	return ^crc
}

// A blockEntry is the entry of a block in the table of blocks.
type blockEntry struct {
	off        int64 // of the frame
	list, size uint32
	sum        uint32 // of the block
	filterOff  int64  // of the filter's frame
	filterSize uint32
	rows, raw  uint32
	runs       uint32
}

func (r blockEntry) payload() int64 { return r.off + frameHeaderSize + int64(r.list) }

func (r blockEntry) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.off))
	for _, v := range [...]uint32{r.list, r.size, r.sum} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.filterOff))
	for _, v := range [...]uint32{r.filterSize, r.rows, r.raw, r.runs} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

func parseBlockEntry(p []byte) blockEntry {
	u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	return blockEntry{
		off: int64(u64(p)), list: u32(p[8:]), size: u32(p[12:]), sum: u32(p[16:]),
		filterOff: int64(u64(p[20:])), filterSize: u32(p[28:]),
		rows: u32(p[32:]), raw: u32(p[36:]), runs: u32(p[40:]),
	}
}

// A footer is the fixed end of a file.
type footer struct {
	info       segment2.Info
	index      int64 // offset of the lists of runs, behind the last frame
	blocks     int64 // offset of the table of blocks
	streams    int64 // offset of the table of streams, which reaches to the end
	salt       uint64
	blocksSum  uint32
	streamsSum uint32
}

// parseFooter decodes the footer and the version of its layout; ok is false if
// it is damaged. For another version e is meaningless: only the last 16 bytes
// are the same in all versions.
func parseFooter(p []byte) (e footer, ver uint32, ok bool) {
	if len(p) != footerSize || string(p[footerSize-8:]) != footerMagic || binary.LittleEndian.Uint32(p[footerSize-12:]) != checksum(p[:footerSize-12]) {
		return footer{}, 0, false
	}
	u64 := func(i int) uint64 { return binary.LittleEndian.Uint64(p[8*i:]) }
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(p[96+4*i:]) }
	e = footer{
		info: segment2.Info{
			Version: version, After: u64(0), Upto: u64(1), Created: int64(u64(2)), MinTime: int64(u64(3)), MaxTime: int64(u64(4)),
			Rows: int64(u64(5)), Raw: int64(u64(6)), Size: int64(u64(7)),
			Generation: u32(0), Streams: int(u32(1)),
		},
		index: int64(u64(8)), blocks: int64(u64(9)), streams: int64(u64(10)), salt: u64(11),
		blocksSum: u32(2), streamsSum: u32(3),
	}
	return e, u32(4), true
}
