package logstore

import (
	"fmt"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A Codec is how the lines of a block are encoded. It is chosen when a memtable is
// sealed, for each block, so segments, and blocks of one segment, may have different
// ones: a store reads all of them, whatever Options.Codec is. The zero value is the
// default.
type Codec uint16

// The numbers of codecs are those in the frames of segments.
const (
	// CodecLines compresses the text of consecutive lines.
	CodecLines Codec = 1
	// CodecColumns splits each line into a template, that lines share, and variables,
	// which it stores in columns by type.
	CodecColumns Codec = 2

	defaultCodec = CodecColumns
)

var codecNames = [...]string{CodecLines: "lines", CodecColumns: "columns"}

// String returns "lines" or "columns"; "default" for the zero value.
func (c Codec) String() string {
	switch {
	case c == 0:
		return "default"
	case int(c) < len(codecNames):
		return codecNames[c]
	}
	return fmt.Sprintf("logstore.Codec(%d)", uint16(c))
}

// MarshalText returns the text of String. A codec outside the constants is an error.
func (c Codec) MarshalText() ([]byte, error) {
	if int(c) >= len(codecNames) {
		return nil, fmt.Errorf("logstore: %v is no codec; want %v or %v", c, CodecLines, CodecColumns)
	}
	return []byte(c.String()), nil
}

// UnmarshalText accepts exactly what MarshalText returns.
func (c *Codec) UnmarshalText(text []byte) error {
	for _, of := range [...]Codec{0, CodecLines, CodecColumns} {
		if of.String() == string(text) {
			*c = of
			return nil
		}
	}
	return fmt.Errorf("logstore: %q is no codec; want %q or %q", text, CodecLines, CodecColumns)
}

// blockRaw is the target size of a block in bytes of lines: enough to find repetitions,
// and little enough for a query that wants one line. Columns of half the size take 3 % more
// bytes for services, and 4 to 8 % for logs with other lines; of half as much again, no fewer.
func (c Codec) blockRaw() int64 {
	if c == CodecColumns {
		return 1 << 20
	}
	return 256 << 10
}

// encoderBytes is about the memory of a blockEncoder for the lines of most logs, with two
// encoded blocks; encodedBlock.weight has that of others.
func (c Codec) encoderBytes() int64 {
	if c == CodecColumns {
		return 6 << 20
	}
	return 4 << 20
}

// newEncoder returns an encoder of the store's codec, which gives up the processor by t.
func (s *Store) newEncoder(t *turn) segment2.BlockEncoder {
	if s.o.Codec == CodecColumns {
		return segment2.NewColumnsEncoder(s.miner.get(s.learnTemplates), t.pass)
	}
	return segment2.NewLinesEncoder()
}

// newMergeEncoder returns an encoder for merges.
func (s *Store) newMergeEncoder() segment2.BlockEncoder { return s.newEncoder(new(turn)) }
