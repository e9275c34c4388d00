package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/stele-go/stele/fileio"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/segment"
	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/wal"
)

// A VerifyProgress reports the progress of a verification.
type VerifyProgress struct {
	File string // that is being read
	Done int64  // bytes that have been read, of all segments so far
}

// A SegmentVerdict is the result of verifying a segment.
type SegmentVerdict struct {
	File   string
	Size   int64 // bytes
	Rows   int64
	Blocks int
	// Damage lists each damaged place, a *CorruptError, or the one error that
	// kept the segment from being read.
	Damage []error
}

// Err returns the first damage, nil if the segment is intact.
func (v SegmentVerdict) Err() error {
	if len(v.Damage) == 0 {
		return nil
	}
	return v.Damage[0]
}

// A Verification is the result of Verify.
type Verification struct {
	Segments []SegmentVerdict // by name
	// Missing are the segments that the log expects and that are not there.
	Missing []*MissingError
	// OtherLog are the segments that are not of the log.
	OtherLog []*OtherLogError
	// Log is the report on the log. LogErr is its damage, or else why it is not the log
	// of these segments. Torn reports whole records in its torn tail, nil if there are
	// none.
	Log    wal.Report
	LogErr error
	Torn   *TornTailError
}

// Verify verifies the store in dir: it reads all segments and the log, verifies
// every checksum, decodes every block, and compares all redundant fields.
// progress, unless nil, is called now and then, never concurrently. Like
// Inspect, Verify writes nothing and takes no lock.
//
// The error is nil if all is intact and there. Else it is the first damage, a
// *MissingError, a *TornTailError, or an *OtherLogError of a segment that is not served,
// and the Verification has the rest; or, without a Verification, the error of ctx or of a
// directory that cannot be read or holds no store. A torn tail of the log without a whole
// record is not damage: each crash may leave one.
func Verify(ctx context.Context, dir string, progress func(VerifyProgress)) (*Verification, error) {
	files, err := segmentFiles(dir)
	if err != nil {
		return nil, err
	}
	v := new(Verification)
	if v.Segments, err = verifySegments(ctx, files, progress); err != nil {
		return nil, err
	}
	logs := filepath.Join(dir, logDir)
	v.Log, v.Torn, v.LogErr = verifyLog(logs)
	c, err := compareSegments(dir, logs)
	if err != nil {
		return nil, err
	}
	v.Missing, v.OtherLog = c.missing, c.others
	if v.LogErr == nil {
		v.LogErr = cmp.Or(c.refused, c.unread)
	}
	for _, s := range v.Segments {
		if err := s.Err(); err != nil {
			return v, err
		}
	}
	switch {
	case v.LogErr != nil:
		return v, v.LogErr
	case len(v.Missing) > 0:
		return v, v.Missing[0]
	case v.Torn != nil:
		return v, v.Torn
	}
	for _, o := range v.OtherLog {
		if !o.Served {
			return v, o
		}
	}
	return v, nil
}

// VerifySegment verifies one segment, of a store or anywhere else. The error is
// that of ctx, or of a file that does not exist; damage is in the verdict.
func VerifySegment(ctx context.Context, file string, progress func(VerifyProgress)) (SegmentVerdict, error) {
	list, err := verifySegments(ctx, []string{file}, progress)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("logstore: %w", &fs.PathError{Op: "verify", Path: file, Err: fs.ErrNotExist})
	}
	if err != nil {
		return SegmentVerdict{}, err
	}
	return list[0], nil
}

// verifySegments verifies GOMAXPROCS segments at once. Files that vanish
// meanwhile, compacted or retired, are left out.
func verifySegments(ctx context.Context, files []string, progress func(VerifyProgress)) ([]SegmentVerdict, error) {
	verdicts := make([]SegmentVerdict, len(files))
	meter := &meter{report: progress}
	var workers sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := range next {
				verdicts[i] = verifySegment(ctx, files[i], meter)
			}
		})
	}
	for i := range files {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(verdicts, func(v SegmentVerdict) bool { return errors.Is(v.Err(), fs.ErrNotExist) }), nil
}

func verifySegment(ctx context.Context, file string, m *meter) (v SegmentVerdict) {
	v.File = file
	fail := func(err error) SegmentVerdict {
		v.Damage = append(v.Damage, exportError(err))
		return v
	}
	f, err := fileio.Open(file, fileio.Options{Way: fileio.Buffered, Pattern: fileio.Sequential})
	if err != nil {
		return fail(fmt.Errorf("logstore: %w", catalog.Irregular(file, err)))
	}
	defer f.Close()
	if v.Size, err = f.Size(); err != nil {
		return fail(fmt.Errorf("logstore: %w", err))
	}
	err = v.verify(ctx, meteredSource{f, m}, func(err error) { v.Damage = append(v.Damage, exportError(err)) })
	if _, damaged := asDamage(err); err != nil && (!damaged || len(v.Damage) == 0) {
		return fail(err)
	}
	return v
}

// verify calls bad with each damaged place of a segment that can be opened.
func (v *SegmentVerdict) verify(ctx context.Context, src segment2.Source, bad func(error)) error {
	card, err := segment2.OpenCard(src, v.Size)
	if err == nil {
		v.Rows, v.Blocks = card.Info().Rows, card.Info().Blocks
		return card.Verify(ctx, src, bad)
	}
	if !isVersion1(err) {
		return err
	}
	s, err := segment.Open(src, v.Size)
	if err != nil {
		return err
	}
	defer s.Close()
	v.Rows, v.Blocks = s.Info().Rows, s.Info().Blocks
	return s.Verify(ctx, bad)
}

// A meter counts bytes read. report may be nil.
type meter struct {
	mu     sync.Mutex
	done   int64
	report func(VerifyProgress)
}

func (m *meter) add(file string, n int) {
	if m.report == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += int64(n)
	m.report(VerifyProgress{file, m.done})
}

// A meteredSource is a segment's source that counts reads.
type meteredSource struct {
	file *fileio.Reader
	*meter
}

func (m meteredSource) Name() string { return m.file.Name() }

func (m meteredSource) ReadAt(p []byte, off int64) (int, error) {
	n, err := m.file.ReadAt(p, off)
	m.add(m.file.Name(), n)
	return n, err
}
