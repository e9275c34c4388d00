package lokiclient

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"
)

// The body of a push is a message of protocol buffers, compressed by snappy:
//
//	PushRequest  1: Stream, repeated
//	Stream       1: labels, a string   2: Entry, repeated
//	Entry        1: Timestamp          2: line, a string      100: offset, ours, skipped by others
//	Timestamp    1: seconds            2: nanoseconds
const (
	tagBytes1    = 1<<3 | 2
	tagBytes2    = 2<<3 | 2
	tagVarint1   = 1 << 3
	tagVarint2   = 2 << 3
	tagVarint100 = 100 << 3
)

func (p *Push) encode() []byte {
	stream := appendBytes(nil, tagBytes1, []byte(p.Labels))
	var entry, time []byte
	for _, e := range p.Entries {
		time = binary.AppendUvarint(append(time[:0], tagVarint1), uint64(e.Time/1e9))
		time = binary.AppendUvarint(append(time, tagVarint2), uint64(e.Time%1e9))
		entry = appendBytes(entry[:0], tagBytes1, time)
		entry = appendBytes(entry, tagBytes2, e.Line)
		if p.Source != "" {
			entry = binary.AppendUvarint(binary.AppendUvarint(entry, tagVarint100), e.Offset)
		}
		stream = appendBytes(stream, tagBytes2, entry)
	}
	return s2.EncodeSnappy(nil, appendBytes(nil, tagBytes1, stream))
}

func appendBytes(dst []byte, tag byte, data []byte) []byte {
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(data)))
	return append(dst, data...)
}
