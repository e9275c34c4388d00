package segmenttest

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

const (
	version         = 1
	headerSize      = 24
	frameHeaderSize = 28
	footerSize      = 128

	// Each restartInterval-th label set is encoded in full.
	restartInterval = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

func appendUint32s(dst []byte, list ...uint32) []byte {
	for _, v := range list {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

func appendUint64s(dst []byte, list ...uint64) []byte {
	for _, v := range list {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// Header returns the header of a file.
func Header(salt uint64) []byte {
	p := appendUint32s([]byte("STELESEG"), version)
	p = appendUint64s(p, salt)
	return appendUint32s(p, checksum(p))
}

// A Frame is the header of the frame of a block or a filter.
type Frame struct {
	Kind          string // "BLOK" or "FLTR"
	Number        uint32 // of the block
	List, Payload uint32 // bytes
	ListSum, Sum  uint32
}

// Append appends the header of the frame at an offset of a file.
func (f Frame) Append(dst []byte, salt uint64, off int64) []byte {
	p := append(make([]byte, 4, frameHeaderSize), f.Kind...)
	p = appendUint32s(p, f.Number, f.List, f.Payload, f.ListSum, f.Sum)
	covered := append(appendUint64s(nil, salt, uint64(off)), p[4:]...)
	binary.LittleEndian.PutUint32(p, checksum(covered))
	return append(dst, p...)
}

// A BlockEntry is the entry of a block in the table of blocks.
type BlockEntry struct {
	Offset          int64  // of the frame
	List, Size, Sum uint32 // bytes, and the checksum of the block
	FilterOffset    int64  // of the filter's frame
	FilterSize      uint32
	Rows, Raw, Runs uint32
}

// Append appends the entry.
func (b BlockEntry) Append(dst []byte) []byte {
	dst = appendUint64s(dst, uint64(b.Offset))
	dst = appendUint32s(dst, b.List, b.Size, b.Sum)
	dst = appendUint64s(dst, uint64(b.FilterOffset))
	return appendUint32s(dst, b.FilterSize, b.Rows, b.Raw, b.Runs)
}

// A StreamEntry is the entry of a stream in the table of streams, but for its labels.
type StreamEntry struct {
	MinTime, MaxTime, Rows, Raw int64
	Seqs                        uint64
	Size, Sum                   uint32 // of its list
}

// Append appends the entry behind its labels. base is the first time of the segment.
func (s StreamEntry) Append(dst []byte, base int64) []byte {
	for _, v := range []int64{s.MinTime - base, s.MaxTime - s.MinTime, s.Rows, s.Raw} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	dst = binary.AppendUvarint(dst, s.Seqs)
	dst = binary.AppendUvarint(dst, uint64(s.Size))
	return appendUint32s(dst, s.Sum)
}

// A Footer is the fixed end of a file.
type Footer struct {
	Info                   segment2.Info
	Lists, Blocks, Streams int64 // offsets
	Salt                   uint64
	BlocksSum, StreamsSum  uint32
}

// Append appends the footer.
func (e Footer) Append(dst []byte) []byte {
	i := e.Info
	p := appendUint64s(nil, i.After, i.Upto, uint64(i.Created), uint64(i.MinTime), uint64(i.MaxTime), uint64(i.Rows), uint64(i.Raw), uint64(i.Size),
		uint64(e.Lists), uint64(e.Blocks), uint64(e.Streams), e.Salt)
	p = appendUint32s(p, i.Generation, uint32(i.Streams), e.BlocksSum, e.StreamsSum, version)
	p = appendUint32s(p, checksum(p))
	return append(append(dst, p...), "STELEEND"...)
}

func appendZigzag(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

// Labels encodes labels by their difference to the ones before.
type Labels struct {
	last  string
	count int
}

// Append appends the next labels.
func (w *Labels) Append(dst []byte, labels string) []byte {
	same := 0
	if w.count%restartInterval != 0 {
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

// appendBlockRuns appends the list of a block.
func appendBlockRuns(dst []byte, runs []Run) []byte {
	var labels Labels
	last := int64(0)
	for _, r := range runs {
		dst = labels.Append(dst, r.Labels)
		dst = binary.AppendUvarint(dst, r.Seq)
		dst = binary.AppendUvarint(dst, uint64(r.Rows))
		dst = appendZigzag(dst, r.MinTime-last)
		dst = binary.AppendUvarint(dst, uint64(r.MaxTime-r.MinTime))
		dst = binary.AppendUvarint(dst, uint64(r.Raw))
		last = r.MinTime
	}
	return dst
}

// appendStreamRuns appends the list of a stream, whose runs are by seq.
func appendStreamRuns(dst []byte, runs []Run) []byte {
	var last Run
	for _, r := range runs {
		dst = appendZigzag(dst, int64(r.block-last.block))
		dst = binary.AppendUvarint(dst, uint64(r.first))
		dst = binary.AppendUvarint(dst, uint64(r.Rows))
		dst = appendZigzag(dst, r.MinTime-last.MinTime)
		dst = binary.AppendUvarint(dst, uint64(r.MaxTime-r.MinTime))
		dst = binary.AppendUvarint(dst, uint64(r.Raw))
		dst = binary.AppendUvarint(dst, r.Seq-last.Seq)
		last = r
	}
	return dst
}
