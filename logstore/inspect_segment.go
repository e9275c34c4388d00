package logstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// A SegmentInspection is a segment opened for inspection. The caller closes it.
type SegmentInspection struct {
	SegmentInfo
	// Lost has an error for each part of a segment with a damaged index that
	// cannot be read.
	Lost []error

	file       *fileio.Reader
	content    segmentContent
	blockSizes *blockSizes // once they were asked for
}

// A segmentContent is what a segment has, by its index or, if that is damaged, by
// its blocks.
type segmentContent interface {
	info() segment2.Info
	// streams ranges over the streams, in order, labels over their labels alone, in
	// bounded memory, and blocks over the blocks. An error is the last step.
	streams() iter.Seq2[StreamInfo, error]
	labels() iter.Seq2[ordinalLabels, error]
	blocks() iter.Seq2[BlockInfo, error]
	// checkRuns reads what the index says of streams in blocks.
	checkRuns() error
}

// ordinalLabels is the labels of the stream with an ordinal in a segment.
type ordinalLabels struct {
	ordinal uint32
	tenant  string
	labels  Labels
}

// A StreamInfo describes a stream of a segment.
type StreamInfo struct {
	File             string // the segment
	Tenant           string // whose the stream is
	Labels           Labels
	MinTime, MaxTime int64 // ns since 1970, of the first and the last entry
	Rows, Raw        int64 // entries, and bytes of their lines and metadata
	Runs             int   // pieces, each in a block
}

// A BlockInfo describes a block of a segment.
type BlockInfo struct {
	File                      string // the segment
	Number                    int
	Offset, Bytes             int64
	FilterOffset, FilterBytes int64 // 0 bytes: it has no filter
	MinTime, MaxTime          int64 // ns since 1970
	Rows, Raw                 int64
	Streams                   int // with entries in the block
	Codec                     Codec
}

// InspectSegment opens a segment, of a store or anywhere else. If its index is
// damaged, it scans the blocks instead, and sets SegmentInfo.Err. A file that has
// neither the name nor an end of a segment is an error. It writes nothing.
func InspectSegment(file string) (*SegmentInspection, error) {
	f, err := fileio.Open(file, fileio.Options{Way: fileio.Buffered})
	if err != nil {
		return nil, fmt.Errorf("logstore: %w", catalog.Irregular(file, err))
	}
	s := &SegmentInspection{SegmentInfo: SegmentInfo{File: file}, file: f}
	if err := s.open(); err != nil {
		f.Close()
		return nil, err
	}
	info := s.content.info()
	s.Size, s.After, s.Upto, s.Generation = info.Size, info.After, info.Upto, info.Generation
	s.MinTime, s.MaxTime, s.Rows, s.Raw = info.MinTime, info.MaxTime, info.Rows, info.Raw
	s.Streams, s.Blocks = info.Streams, info.Blocks
	if info.Created != 0 {
		s.Created = time.Unix(0, info.Created)
	}
	for b, err := range s.content.blocks() {
		if _, damaged := asDamage(err); damaged {
			s.Err = exportError(err) // the blocks before are counted
			break
		} else if err != nil {
			s.Close()
			return nil, exportError(err)
		}
		s.BlockBytes += b.Bytes
		s.FilterBytes += b.FilterBytes
	}
	return s, nil
}

func (s *SegmentInspection) open() error {
	size, err := s.file.Size()
	if err != nil {
		return fmt.Errorf("logstore: %w", err)
	}
	if s.content, err = openContent(s.file, size); err == nil {
		return nil
	}
	damage := exportError(err)
	if _, ok := errors.AsType[*CorruptError](damage); !ok {
		return err
	}
	// The name has the fields that the footer would have.
	info, named := catalog.ParseName(filepath.Base(s.File))
	if marked, err := segment.IsMarked(s.file, size); err != nil {
		return fmt.Errorf("logstore: %w", err)
	} else if !marked && !named {
		return fmt.Errorf("logstore: %s: not a segment of a log store: neither its name nor its first or last bytes are those of one", s.File)
	}
	content, lost, err := scanContent(s.file, size, info)
	if err != nil {
		return damage // no block is readable
	}
	for _, err := range lost {
		s.Lost = append(s.Lost, exportError(err))
	}
	s.content, s.Err = content, damage
	return nil
}

// openContent opens a segment of any version by its index.
func openContent(f segment2.Source, size int64) (segmentContent, error) {
	card, err := segment2.OpenCard(f, size)
	if err == nil {
		return &indexContent{file: f.Name(), card: card, index: card.Index(f, &partsInUse{})}, nil
	}
	if !isVersion1(err) {
		return nil, err
	}
	seg, err := segment.Open(f, size)
	if err != nil {
		return nil, err
	}
	return &indexContent{file: f.Name(), index: seg.Index(&partsInUse{})}, nil
}

// isVersion1 reports whether OpenCard has found a segment of version 1.
func isVersion1(err error) bool {
	v, ok := errors.AsType[*segment2.VersionError](err)
	return ok && v.Version == 1
}

// scanContent reads a segment whose end is damaged by its blocks. Those of one
// version are not found by a scan for the other.
func scanContent(f segment2.Source, size int64, info segment2.Info) (content segmentContent, lost []error, err error) {
	scanned, lost, err := segment2.Scan(context.Background(), f, size, info)
	if err != nil || scanned.Info().Blocks == 0 {
		seg, lost, err1 := segment.Scan(context.Background(), f, size, info)
		if err1 == nil && (err != nil || seg.Info().Blocks > 0) {
			return &indexContent{file: f.Name(), index: seg.Index(&partsInUse{})}, lost, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	content, more, err := newScannedContent(f.Name(), scanned)
	return content, append(lost, more...), err
}

// exportError turns an error of package segment into one of this package.
func exportError(err error) error {
	if c, ok := errors.AsType[*segment2.CorruptError](err); ok {
		reason := c.Reason
		if c.Block >= 0 {
			reason = fmt.Sprintf("block %d: %s", c.Block, reason)
		}
		return &CorruptError{c.File, c.Offset, reason}
	}
	return err
}

// streamLabelsOf parses the labels of a stream of a segment.
func streamLabelsOf(file string, ordinal int, enc string) (Labels, error) {
	l, err := parseLabels(enc)
	if err != nil {
		return l, &CorruptError{File: file, Reason: fmt.Sprintf("stream %d: %v", ordinal, err)}
	}
	return l, nil
}

// EachStream ranges over the streams, by the encoding of their labels. An error
// is the last step.
func (s *SegmentInspection) EachStream() iter.Seq2[StreamInfo, error] {
	return func(yield func(StreamInfo, error) bool) {
		if s.content == nil {
			return
		}
		for st, err := range s.content.streams() {
			if !yield(st, exportError(err)) || err != nil {
				return
			}
		}
	}
}

// EachBlock ranges over the blocks, in the order of the file. An error is the
// last step.
func (s *SegmentInspection) EachBlock() iter.Seq2[BlockInfo, error] {
	return func(yield func(BlockInfo, error) bool) {
		if s.content == nil {
			return
		}
		for b, err := range s.content.blocks() {
			if !yield(b, exportError(err)) || err != nil {
				return
			}
		}
	}
}

// Close closes the file.
func (s *SegmentInspection) Close() error {
	if s.file == nil {
		return fmt.Errorf("logstore: close: %w", errUnopened)
	}
	return s.file.Close()
}
