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
)

// A SegmentInspection is a segment opened for inspection. The caller closes it.
type SegmentInspection struct {
	SegmentInfo
	// Lost has an error for each part of a segment with a damaged index that
	// cannot be read.
	Lost []error

	file *fileio.Reader
	seg  *segment.Segment
}

// A StreamInfo describes a stream of a segment.
type StreamInfo struct {
	File             string // the segment
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
}

// InspectSegment opens a segment, of a store or anywhere else. If its index is
// damaged, it scans the blocks instead, and sets SegmentInfo.Err. A file that has
// neither the name nor an end of a segment is an error. It writes nothing.
func InspectSegment(file string) (*SegmentInspection, error) {
	f, err := fileio.Open(file, fileio.Options{Way: fileio.Buffered})
	if err != nil {
		return nil, fmt.Errorf("logstore: %w", err)
	}
	s := &SegmentInspection{SegmentInfo: SegmentInfo{File: file}, file: f}
	if err := s.open(); err != nil {
		f.Close()
		return nil, err
	}
	info := s.seg.Info()
	s.Size, s.After, s.Upto, s.Generation = info.Size, info.After, info.Upto, info.Generation
	s.MinTime, s.MaxTime, s.Rows, s.Raw = info.MinTime, info.MaxTime, info.Rows, info.Raw
	s.Streams, s.Blocks = info.Streams, info.Blocks
	if info.Created != 0 {
		s.Created = time.Unix(0, info.Created)
	}
	for i := range info.Blocks {
		b, err := s.seg.Block(i)
		if err != nil {
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
	if s.seg, err = segment.Open(s.file, size); err == nil {
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
	seg, lost, err := segment.Scan(context.Background(), s.file, size, info)
	if err != nil {
		return damage // no block is readable
	}
	for _, err := range lost {
		s.Lost = append(s.Lost, exportError(err))
	}
	s.seg, s.Err = seg, damage
	return nil
}

// exportError turns an error of package segment into one of this package.
func exportError(err error) error {
	if c, ok := errors.AsType[*segment.CorruptError](err); ok {
		reason := c.Reason
		if c.Block >= 0 {
			reason = fmt.Sprintf("block %d: %s", c.Block, reason)
		}
		return &CorruptError{c.File, c.Offset, reason}
	}
	return err
}

// labels returns the labels of the i-th stream.
func (s *SegmentInspection) labels(i int) (Labels, segment.Stream, error) {
	st, err := s.seg.Stream(i)
	if err != nil {
		return Labels{}, st, exportError(err)
	}
	labels, err := parseLabels(st.Labels)
	if err != nil {
		return Labels{}, st, &CorruptError{File: s.File, Reason: fmt.Sprintf("stream %d: %v", i, err)}
	}
	return labels, st, nil
}

// EachStream ranges over the streams, by the encoding of their labels. An error
// is the last step.
func (s *SegmentInspection) EachStream() iter.Seq2[StreamInfo, error] {
	return func(yield func(StreamInfo, error) bool) {
		for i := range s.Streams {
			labels, st, err := s.labels(i)
			if err != nil {
				yield(StreamInfo{}, err)
				return
			}
			info := StreamInfo{File: s.File, Labels: labels, MinTime: st.MinTime, MaxTime: st.MaxTime, Rows: st.Rows, Raw: st.Raw}
			runs, err := s.seg.Runs(i)
			info.Runs = len(runs)
			if !yield(info, exportError(err)) || err != nil {
				return
			}
		}
	}
}

// EachBlock ranges over the blocks, in the order of the file. An error is the
// last step.
func (s *SegmentInspection) EachBlock() iter.Seq2[BlockInfo, error] {
	return func(yield func(BlockInfo, error) bool) {
		blocks := make([]BlockInfo, s.Blocks)
		for i := range s.Streams {
			runs, err := s.seg.Runs(i)
			if err != nil {
				yield(BlockInfo{}, exportError(err))
				return
			}
			for _, r := range runs {
				b := &blocks[r.Block]
				if b.Rows == 0 {
					b.MinTime, b.MaxTime = r.MinTime, r.MaxTime
				}
				b.MinTime, b.MaxTime = min(b.MinTime, r.MinTime), max(b.MaxTime, r.MaxTime)
				b.Rows += int64(r.Rows)
			}
		}
		for i, b := range blocks {
			at, err := s.seg.Block(i)
			if err != nil {
				yield(BlockInfo{}, exportError(err))
				return
			}
			b.File, b.Number, b.Offset, b.Bytes, b.FilterOffset, b.FilterBytes = s.File, i, at.Offset, at.Bytes, at.FilterOffset, at.FilterBytes
			b.Rows, b.Raw, b.Streams = int64(at.Rows), at.Raw, at.Runs
			if !yield(b, nil) {
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
	s.seg.Close()
	return s.file.Close()
}
