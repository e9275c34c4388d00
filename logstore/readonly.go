package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/wal"
)

// OpenReadOnly opens the store in dir for reading. It writes nothing, and works on a
// disk that is full, damaged or mounted for reading only. It returns once the
// records of the log that are in no segment are in memory.
//
// Damage is no error: what is intact is served. Of a damaged log all intact records
// are read, also behind the damage and without a log's META; a store without its log
// has its segments. Of a segment whose index is damaged the intact blocks are served
// from memory. Store.Report lists what was passed over. While a part of the log, or
// a whole segment, cannot be read, every query ends with ErrIncomplete, after all
// that there is; not for an EventGap, where the log does not say that there was a
// segment. So it does while there is a segment that Open would set aside, as it
// is not of the log, or refuse: then the log is served, and of the segments those in
// the way of none of its positions. An error of a damaged block of a segment comes as
// in any store. The whole records of a torn tail are served too, though Open would cut
// them: an EventTornTail says how many.
//
// Append, Seal, Compact and Tail return ErrReadOnly. Of the Options, those for
// writing and for retention mean nothing: entries that have expired are served as
// long as they are there. An eighth of Options.Memory is for what is kept in memory
// as segments, compressed: for the intact blocks of damaged segments, and for the
// records of the log beyond a pair of memtables.
//
// OpenReadOnly takes no lock: a process may open the store for writing afterwards,
// and then queries fail where it has replaced segments. Errors: ErrLocked, if a
// process has the store open; ErrMemory, if Options.Memory is too little for the
// log; wrong Options, for which errors.Is(err, fs.ErrInvalid) holds, and a directory
// that holds no store, for which errors.Is(err, fs.ErrNotExist) holds.
func OpenReadOnly(dir string, o Options) (*Store, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	s, err := openReadOnly(dir, o)
	if err != nil {
		return nil, fmt.Errorf("logstore: open %s for reading: %w", dir, err)
	}
	return s, nil
}

func openReadOnly(dir string, o Options) (*Store, error) {
	if err := checkStore(dir); err != nil {
		return nil, err
	}
	logs := filepath.Join(dir, logDir)
	if err := walError(wal.Locked(logs)); errors.Is(err, ErrLocked) {
		return nil, err
	}
	l := openReadLog(logs)
	return openReading(dir, o, l, func(ctx context.Context, scratch int64, o catalog.Options) (*catalog.Catalog, error) {
		return catalog.OpenReadOnly(ctx, dir, scratch, o)
	})
}

// checkStore returns an error if dir has neither segments nor a log, or is a snapshot
// that is not whole.
func checkStore(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if err := checkWhole(dir); err != nil {
		return err
	}
	for _, name := range []string{catalog.SegmentDir, logDir} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.IsDir() {
			return nil
		}
	}
	return fmt.Errorf("%w: %w", errNoStore, fs.ErrNotExist)
}

// OpenSegments opens segments for reading, wherever they lie and whatever their
// names: one of a store, a copy, or one in quarantine. It gives a Store as
// OpenReadOnly does, with the entries of all files, in the order of the arguments
// where streams and times are equal. A file that is named twice, or a segment beside
// the one that it was compacted into, is there twice. Query.Cursors and Query.After are
// refused unless each file has later positions of the log than the one before it:
// else two entries may have the same cursor.
//
// A file that is no segment is an error of every query, as any that cannot be read:
// ErrIncomplete. The error of OpenSegments is that of wrong Options, of no files at
// all, or of one that does not exist.
func OpenSegments(o Options, files ...string) (*Store, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, setting.Wrong("logstore: OpenSegments: files", 0, "at least 1")
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("logstore: %w", err)
		}
	}
	s, err := openReading(files[0], o, new(readLog), func(ctx context.Context, scratch int64, o catalog.Options) (*catalog.Catalog, error) {
		return catalog.OpenFiles(ctx, files, scratch, o)
	})
	if err != nil {
		return nil, fmt.Errorf("logstore: open %s for reading: %w", files[0], err)
	}
	s.noCursors, err = s.repeatsPositions()
	return s, err
}

// repeatsPositions reports whether a segment has positions that are not above those of
// all segments before it.
func (s *Store) repeatsPositions() (bool, error) {
	v, err := s.acquire()
	if err != nil {
		return false, err
	}
	defer v.release()
	upto := uint64(0)
	for seg := range v.segs.Segments() {
		info := seg.Info()
		if info.After < upto {
			return true, nil
		}
		upto = info.Upto
	}
	return false, nil
}

// openReading opens a store that is never written to. o is resolved.
func openReading(dir string, o Options, l *readLog, openSegments func(context.Context, int64, catalog.Options) (*catalog.Catalog, error)) (*Store, error) {
	o.Retention, o.RetainBytes = 0, 0
	s := newStore(dir, o)
	s.readOnly, s.log = true, l
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	err := s.openIntact(ctx, l, openSegments)
	if err == nil {
		s.events.endOpen()
		return s, nil
	}
	close(s.replay.ready)
	return nil, errors.Join(err, s.Close())
}

// openIntact opens what is intact of the segments and the log.
func (s *Store) openIntact(ctx context.Context, l *readLog, openSegments func(context.Context, int64, catalog.Options) (*catalog.Catalog, error)) (err error) {
	o := &s.o
	l.tell(s.events.tell)
	l.tellTorn(s.events.tell)
	truncated := uint64(math.MaxUint64) // do not rely on the log
	if len(l.damage) == 0 && l.first > 0 {
		truncated = l.first - 1
	}
	contents, err := s.readContents(ctx)
	if err != nil {
		l.miss(s.events.tell, err)
	}
	if l.alone {
		contents.expected = nil
	}
	s.limitDeletions()
	s.deletions.begin(contents.deletions)
	var refused error
	of := contents.provenance(s.dir, l.ID(), l.first, l.next)
	s.catalog, err = openSegments(ctx, o.Memory/8, catalog.Options{
		SegmentSize: o.SegmentSize, SegmentSpan: o.SegmentSpan, SmallSpan: o.smallSpan(),
		BlockRaw: int(o.Codec.blockRaw()), Encoder: s.newMergeEncoder, Codec: uint16(o.Codec), CacheBytes: o.cacheBytes(), MergeBytes: o.share(compactionShare), Files: segmentDescriptors(), Rate: -1,
		Log: l.ID(), Truncated: truncated, Unsealed: contents.entries != 0,
		Clock: o.Clock, Events: s.tellSegment,
		Judge: func(found []catalog.Holding) (verdicts []catalog.Verdict, _ error) {
			verdicts, refused = of.judge(found)
			return verdicts, nil
		},
	})
	if err != nil {
		return err
	}
	s.beginTerms(s.catalog.Upto())
	s.replay.first, s.replay.last = max(l.first, s.catalog.Upto()+1), l.next
	s.replay.next.Store(s.replay.first)
	m := s.newMemtable(s.replay.first)
	s.mems = []*memtable{m}
	s.active.Store(m)
	seal, endSeal := context.WithCancel(ctx)
	s.background.Go(func() { s.sealer(seal) }) // into memory
	err = s.replayIntact(ctx, l)
	endSeal()
	s.background.Wait()
	if err != nil {
		return err
	}
	s.replay.next.Store(0)
	s.lost = slices.Concat(s.catalog.Missing(), s.missingSegments(of), l.damage)
	if refused != nil {
		s.events.tell(Event{Kind: EventOtherLog, File: l.dir, Reason: refused.Error()})
		s.lost = slices.Insert(s.lost, 0, refused)
	}
	s.tellOtherLogs(s.catalog.Holdings())
	if err := incomplete(s.lost); err != nil {
		s.replay.err.Store(&err)
	}
	close(s.replay.ready)
	return nil
}

// missingSegments tells which segments are missing that the log expects, which gaps there
// are, and what a repair has given up. It returns an error for each segment.
func (s *Store) missingSegments(of *provenance) (missing []error) {
	notes := s.tellRepaired()
	there := slices.Concat(s.catalog.Holdings(), s.catalog.Unreadable(), s.catalog.Passed())
	there = slices.DeleteFunc(there, func(h catalog.Holding) bool { return !of.covers(h) })
	if of.whole == 0 {
		of.expected = without(gapsIn(there, s.log.(*readLog).begin(), false), notes.lost())
	}
	there = append(there, catalog.Holding{After: s.replay.first - 1, Upto: s.replay.last - 1})
	missed := without(of.expected, append(there, marksIn(s.dir)...))
	s.tellMissing(missed)
	for _, e := range missed {
		if !e.isGap() {
			missing = append(missing, fmt.Errorf("segment %s is missing", e.Name()))
		}
	}
	return missing
}

// incomplete returns the error of a query where something cannot be read.
func incomplete(missing []error) error {
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: %w", ErrIncomplete, exportError(missing[0]))
	}
	return fmt.Errorf("%w: %w; and %d more, see Store.Report", ErrIncomplete, exportError(missing[0]), len(missing)-1)
}

// replayIntact inserts the intact records of the log that are in no segment.
func (s *Store) replayIntact(ctx context.Context, l *readLog) error {
	if s.replay.first >= s.replay.last {
		return nil
	}
	var set rowSet
	for rec, err := range l.Records(ctx, s.replay.first) {
		if err != nil {
			return err
		}
		err := s.replayOne(ctx, &set, rec)
		if errors.Is(err, catalog.ErrScratch) {
			return fmt.Errorf("%w at position %d of the log, which ends before %d", ErrMemory, rec.Position, s.replay.last)
		}
		if err != nil {
			l.miss(s.events.tell, fmt.Errorf("position %d of the log: %w", rec.Position, err))
		}
	}
	return nil
}

// scratchError returns why nothing can be sealed into the memory of a store that is
// open for reading only.
func (s *Store) scratchError() error {
	if err := s.seals.lastErr.Load(); err != nil {
		return *err
	}
	return nil
}
