package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// A SegmentInfo describes a segment as its index does; see Err.
type SegmentInfo struct {
	File string
	Size int64 // bytes
	// The segment holds the records of the log after position After up to Upto.
	// Generation counts the compactions and repairs behind it.
	After, Upto uint64
	Generation  uint32
	Created     time.Time
	// Over all entries: the first and the last time, in nanoseconds since the
	// Unix epoch, their number, and the bytes of lines and metadata.
	MinTime, MaxTime int64
	Rows, Raw        int64
	Streams, Blocks  int
	// BlockBytes and FilterBytes are the bytes of all blocks and of all filters.
	BlockBytes, FilterBytes int64

	// Leftover reports that another segment holds everything this one does.
	// Open removes it.
	Leftover bool
	// Err is a *CorruptError if the index is damaged: then the other fields
	// come from the blocks. It is another error if the file cannot be read, or
	// is of a later version.
	Err error
}

// A QuarantinedFile is a damaged segment in quarantine, or what Open has cut from
// the log.
type QuarantinedFile struct {
	File   string
	Size   int64
	Report string // path of the report, "" without one
}

// An IndexInfo counts what the indexes of all segments have.
type IndexInfo struct {
	Tenants int // with entries in segments
	Streams int // with entries in segments, those of each tenant
	Names   int // of labels
	Values  int // of labels, counted for each name
	// Items is the number of pairs of a segment and a stream.
	Items int64
}

// An Inspection describes a store without opening it.
type Inspection struct {
	Dir string
	// Segments are ordered by positions of the log.
	Segments    []SegmentInfo
	Quarantined []QuarantinedFile
	Index       IndexInfo
	// Deletions are those of which there may still be entries, by position, as in
	// Store.Deletions. Segments and Index count these entries too.
	Deletions []PendingDeletion

	// Log describes the log, and LogErr is why it cannot be read. See package
	// wal for more.
	LogDir string
	Log    *wal.Inspection
	LogErr error
}

// Inspect reads the ends of the segments of the store in dir, the labels of its
// streams, and its log. It writes nothing and takes no lock,
// so it can be used beside the process that has the store open; its result is
// then a little older than the store. The error is that of a directory that
// cannot be read or holds no store. Damage is reported in the fields, and by
// Verify.
//
// It takes some 20 MiB of memory, whatever the number of streams, unless a segment has
// lost its index: it reads the labels of segments again for each million streams and
// values of labels, and tells them apart by hashes of 64 bits.
func Inspect(dir string) (*Inspection, error) {
	in := &Inspection{Dir: dir, LogDir: filepath.Join(dir, logDir)}
	deletions := surveyDeletions(in.LogDir) // before the segments, which may lose their entries meanwhile
	files, err := segmentFiles(dir)
	if err != nil {
		return nil, err
	}
	count := newDistinctCount(maxDistinct)
	for _, file := range files {
		s, err := InspectSegment(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // compacted or retired meanwhile
		}
		if err != nil {
			in.Segments = append(in.Segments, SegmentInfo{File: file, Err: err})
			continue
		}
		deletions.segment(s)
		in.Index.Items += int64(s.SegmentInfo.Streams)
		s.Err = cmp.Or(s.Err, s.content.checkRuns(), s.countDistinct(count))
		in.Segments = append(in.Segments, s.SegmentInfo)
		s.Close()
	}
	if err := count.further(dir); err != nil {
		return nil, err
	}
	n := &count.total
	in.Index = IndexInfo{n[distinctTenants], n[distinctStreams], n[distinctNames], n[distinctValues], in.Index.Items}
	in.sortSegments()
	in.Deletions = deletions.pending(dir, in.Segments)
	if in.Quarantined, err = listQuarantined(dir); err != nil {
		return nil, err
	}
	in.Log, in.LogErr = wal.Inspect(in.LogDir)
	return in, nil
}

var errNoStore = errors.New("there is no store in this directory")

// segmentFiles returns the paths of all segments of a store: none if their directory is
// gone, and the log is there.
func segmentFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, catalog.SegmentDir))
	if errors.Is(err, fs.ErrNotExist) {
		if _, noLog := wal.Inspect(filepath.Join(dir, logDir)); !errors.Is(noLog, fs.ErrNotExist) {
			return nil, nil // the log tells what is missing
		}
		if _, there := os.Stat(dir); there == nil {
			err = cmp.Or(allGoneError(dir), errNoStore)
		}
		return nil, fmt.Errorf("logstore: %w", &fs.PathError{Op: "inspect", Path: dir, Err: cause(err)})
	}
	if err != nil {
		return nil, fmt.Errorf("logstore: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), catalog.SegmentSuffix) {
			files = append(files, filepath.Join(dir, catalog.SegmentDir, e.Name()))
		}
	}
	return files, nil
}

// cause returns the error below a path.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// sortSegments sorts by positions, and marks leftovers.
func (in *Inspection) sortSegments() {
	slices.SortFunc(in.Segments, func(a, b SegmentInfo) int {
		return cmp.Or(cmp.Compare(a.After, b.After), cmp.Compare(b.Upto, a.Upto), cmp.Compare(b.Generation, a.Generation))
	})
	for i := range in.Segments {
		s := &in.Segments[i]
		s.Leftover = slices.ContainsFunc(in.Segments, func(o SegmentInfo) bool {
			return o.Err == nil && o.After <= s.After && s.Upto <= o.Upto && o.Generation > s.Generation
		})
	}
}

func listQuarantined(dir string) (list []QuarantinedFile, err error) {
	quarantine := filepath.Join(dir, catalog.QuarantineDir)
	entries, err := os.ReadDir(quarantine)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("logstore: %w", err)
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), catalog.SegmentSuffix)
		if !ok {
			base, ok = strings.CutSuffix(e.Name(), logSuffix)
		}
		if !ok {
			continue
		}
		q := QuarantinedFile{File: filepath.Join(quarantine, e.Name())}
		if fi, err := e.Info(); err == nil {
			q.Size = fi.Size()
		}
		report := filepath.Join(quarantine, base+catalog.ReportSuffix)
		if _, err := os.Stat(report); err == nil {
			q.Report = report
		}
		list = append(list, q)
	}
	return list, nil
}
