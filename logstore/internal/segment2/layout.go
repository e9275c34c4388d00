package segment2

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// The package comment draws the layout. All of its numbers are here. Integers
// are little endian.
const (
	version = 2

	headerMagic = "STELESEG"
	footerMagic = "STELEEND"

	// headerSize is the size of the file's header, before the first frame.
	headerSize = 96
	// labelHeaderSize is the size of a label frame before its keys.
	labelHeaderSize = 32
	// blockHeaderSize is the size of a block frame before its list.
	blockHeaderSize = 40
	// dictionaryHeaderSize is the size of a dictionary frame before the dictionary.
	dictionaryHeaderSize = 32
	// sectionSize is the size of an entry of the section table.
	sectionSize = 40
	// zoneSize is the size of a zone.
	zoneSize = 104
	// originSize is the size of the section of that name.
	originSize = 24
	// footerSize is the size of the footer.
	footerSize = 128

	// MaxLabels bounds the bytes of the labels of a stream, MaxTenant those of
	// the name of a tenant.
	MaxLabels = 64 << 10
	MaxTenant = 255
	maxKey    = 1 + MaxTenant + MaxLabels

	// A chunk of labels has chunkStreams streams at most, and chunkBytes bytes of
	// keys unless it is one stream.
	chunkStreams = 512
	chunkBytes   = 16 << 10

	// parityChunks is how many chunks a parity group has, unless there would be
	// more than maxParity groups.
	parityChunks = 16
	maxParity    = 256

	// filterChunks is how many chunks have their filters in one part.
	filterChunks = 64

	// maxPostingValues bounds the values of a name with postings, maxPostingText
	// the bytes of the name and of each value; postingsPart is the size of a part
	// of them, and postingsMemory bounds what they take while a segment is
	// written.
	maxPostingValues = 1 << 10
	maxPostingText   = 1 << 10
	postingsPart     = 64 << 10
	postingsMemory   = 8 << 20

	// maxBlockRuns bounds the runs of a block: its list and its entries are less
	// than MaxRead. maxBlockRows is what package block takes at most.
	maxBlockRuns = 128 << 10
	maxBlockRows = 1 << 20

	// maxDictionaries bounds the dictionaries of a segment: a block has the number of
	// its own in 16 bits, where 0 is of a block without one.
	maxDictionaries = math.MaxUint16

	// maxSeq is the highest seq of a run.
	maxSeq = math.MaxInt64 - 1

	// maxSummary bounds the label summary, and summaryValues the values of a name
	// that are listed in it.
	maxSummary    = 2 << 10
	summaryValues = 32

	// writeSize is the most that one call writes.
	writeSize = 256 << 10

	// tailSize is how many bytes are read first. They have the section table, the
	// zones and the label summary of most segments.
	tailSize = 64 << 10
)

// A kind is the kind of a frame.
type kind [4]byte

var (
	kindLabels     = kind{'L', 'A', 'B', 'L'}
	kindBlock      = kind{'B', 'L', 'O', 'K'}
	kindDictionary = kind{'S', 'L', 'O', 'T'}
)

var errForm = errors.New("not well-formed")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// appendHeader appends the header of a file, without its totals and
// Applied.
func appendHeader(dst []byte, salt uint64, i Info) []byte {
	at := len(dst)
	dst = append(dst, headerMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint64(dst, salt)
	dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
	dst = append(dst, i.Log[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, i.After)
	dst = binary.LittleEndian.AppendUint64(dst, i.Upto)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(i.Generation))
	for _, v := range [...]uint64{i.Term, i.TermBefore, uint64(i.Created)} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[at+24:]))
}

// parseVersion decodes the first 24 bytes of the header, which are the same in
// all versions; ok is false if they are damaged.
func parseVersion(p []byte) (ver uint32, salt uint64, ok bool) {
	if len(p) < 24 || string(p[:8]) != headerMagic || binary.LittleEndian.Uint32(p[20:]) != checksum(p[:20]) {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint32(p[8:]), binary.LittleEndian.Uint64(p[12:]), true
}

// parseHeader decodes the header of a file of this version; ok is false if it is
// damaged.
func parseHeader(p []byte) (salt uint64, i Info, ok bool) {
	ver, salt, ok := parseVersion(p)
	if !ok || ver != version || len(p) < headerSize || binary.LittleEndian.Uint32(p[92:]) != checksum(p[24:92]) {
		return 0, Info{}, false
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(p[at:]) }
	i = Info{
		After: u64(40), Upto: u64(48), Generation: binary.LittleEndian.Uint32(p[56:]), Created: int64(u64(80)),
		Version: ver, Log: [16]byte(p[24:40]), Term: u64(64), TermBefore: u64(72),
	}
	return salt, i, binary.LittleEndian.Uint32(p[60:]) == 0 && binary.LittleEndian.Uint32(p[88:]) == 0
}

// A footer is the fixed end of a file.
type footer struct {
	info       Info // without blocks and what the section origin has
	salt       uint64
	table      int64 // offset of the section table, which reaches to the footer
	tableBytes uint32
	tableSum   uint32
}

func (f footer) append(dst []byte) []byte {
	at, i := len(dst), f.info
	for _, v := range [...]uint64{
		i.After, i.Upto, uint64(i.Created), uint64(i.MinTime), uint64(i.MaxTime), uint64(i.Rows), uint64(i.Raw), uint64(i.Size),
	} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = append(dst, i.Log[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, f.salt)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(f.table))
	for _, v := range [...]uint32{i.Generation, f.tableBytes, f.tableSum, uint32(i.Streams), version} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = binary.LittleEndian.AppendUint32(dst, checksum(dst[at:]))
	return append(dst, footerMagic...)
}

// parseFooter decodes the last footerSize bytes of a file, and the version of
// its layout; ok is false if they are damaged. For another version f is
// meaningless: only the last 16 bytes are the same in all versions.
func parseFooter(p []byte) (f footer, ver uint32, ok bool) {
	if len(p) != footerSize || string(p[footerSize-8:]) != footerMagic || binary.LittleEndian.Uint32(p[footerSize-12:]) != checksum(p[:footerSize-12]) {
		return footer{}, 0, false
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(p[at:]) }
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(p[at:]) }
	f = footer{
		info: Info{
			After: u64(0), Upto: u64(8), Created: int64(u64(16)), MinTime: int64(u64(24)), MaxTime: int64(u64(32)),
			Rows: int64(u64(40)), Raw: int64(u64(48)), Size: int64(u64(56)),
			Version: u32(112), Log: [16]byte(p[64:80]), Generation: u32(96), Streams: int(u32(108)),
		},
		salt: u64(80), table: int64(u64(88)), tableBytes: u32(100), tableSum: u32(104),
	}
	return f, u32(112), true
}

// appendOrigin appends the section origin.
func appendOrigin(dst []byte, i Info) []byte {
	for _, v := range [...]uint64{i.Term, i.TermBefore, i.Applied} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// parseOrigin sets the fields of i that the section origin has.
func parseOrigin(i *Info, p []byte) error {
	if len(p) != originSize {
		return errForm
	}
	for at, v := range [...]*uint64{&i.Term, &i.TermBefore, &i.Applied} {
		*v = binary.LittleEndian.Uint64(p[8*at:])
	}
	return nil
}

// frameSum returns the checksum of the header of a frame, which covers the salt
// of the file and the offset too: so a frame copied to another offset or file
// is not valid, and no line can look like one.
func frameSum(salt uint64, off int64, head []byte) uint32 {
	return crc32.Update(addUint64(addUint64(0, salt), uint64(off)), castagnoli, head[4:])
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
