package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/labelindex"
	"github.com/stele-go/stele/profile"
)

// logDir is the directory of the log below that of the store. The other
// names there are those of package catalog.
const logDir = "wal"

// A Store is an open store. Its methods may be called by many goroutines at
// once.
type Store struct {
	dir       string
	o         Options // every default filled in
	readOnly  bool    // see OpenReadOnly
	noCursors bool    // its entries have no cursors, see OpenSegments
	lost      []error // what a store that is open for reading only cannot read

	labels  *labelindex.Index
	names   *labelTable
	streams streamTable
	tenants tenantTable
	log     log
	catalog *catalog.Catalog
	reads   *readPool
	terms   terms
	// lastReading is the last result of reading.
	lastReading atomic.Pointer[clockReading]
	idempotency *idempotency
	// sourcesMu is held while a record says which sources there are, or are not.
	sourcesMu sync.Mutex
	census    *census

	events    *eventQueue
	roster    roster
	deletions deletions

	truncation truncation
	stateBytes atomic.Int64 // of records with state since the log was truncated, about
	torn       tornTotal    // cut by Open
	doubt      clockDoubt

	rejectedBytes atomic.Int64 // of the lists of refused entries, see rejectedSet

	lastAppend     atomic.Int64 // when an append began, about, in nanoseconds
	pool           memtablePool
	throttle       *throttle
	space          diskSpace
	seals          sealState
	replay         replayState
	maintainSignal signal
	recordSize     int   // largest record in bytes, see record.go
	sealAt         int64 // for tests: what sealSize returns, unless 0

	// mu makes one atomic step of what a query sees: mems and the catalog's
	// current version change together. It is never held while waiting.
	mu     sync.Mutex
	mems   []*memtable // oldest first; the last is active, or about to be. Copied on write.
	active atomic.Pointer[memtable]

	encoders sync.Pool // of *blockEncoder
	miner    lazyMiner // of all encoders of CodecColumns

	failed   atomic.Pointer[error]
	bgErrors backgroundErrors
	counts   counts

	// closeMu is held for reading by each Append: Close waits for those.
	closeMu sync.RWMutex
	// appending is held for reading from before a record gets its position until
	// queries find it, its source is noted, and tails have it; see follower.
	appending  sync.RWMutex
	closed     chan struct{}
	stop       context.CancelFunc
	background sync.WaitGroup
	closeOnce  sync.Once
	closeErr   error
}

// Open opens the store in dir, and creates it if it does not exist. It returns
// once the end of every segment is read and the log is verified. Records not yet in a
// segment are replayed in the background; see Ready.
//
// Damaged segments, those of another store, and the bytes that a torn tail of the log is
// cut by, go to the directory quarantine, and the other segments are served. Segments
// that were deleted are told: see Report. The log is read twice, first for its roster
// of the segments.
//
// Errors: ErrLocked, if the store is open already; a *wal.CorruptError, if the log is
// damaged, and then nothing was changed: see Repair; one that says so, if the log is
// not that of the segments, or an old copy, and nothing was changed either; ENOSPC, if a
// torn tail has whole records and there is no space to keep it, and on a full btrfs,
// where Open for reading (OpenReadOnly) works; wrong Options, for which
// errors.Is(err, fs.ErrInvalid) holds; and those of the file system.
func Open(dir string, o Options) (*Store, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	s, err := open(dir, o)
	if isFull(err) {
		return nil, fmt.Errorf("logstore: open %s: %w; free some space, or read the store by OpenReadOnly, which needs none", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("logstore: open %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, o Options) (*Store, error) {
	if err := cmp.Or(checkInterrupted(dir), checkLog(dir)); err != nil {
		return nil, err
	}
	p, err := loadProfile(dir, o.Profile)
	if err != nil {
		return nil, err
	}
	s := newStore(dir, o)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	if err := s.openFiles(ctx, p); err != nil {
		stop()
		err = errors.Join(err, s.closeFiles())
		s.events.close()
		return nil, err
	}
	s.events.endOpen()
	s.stateBytes.Store(s.earlierState())
	m := s.newMemtable(s.replay.first)
	s.mems = []*memtable{m}
	s.active.Store(m)
	s.maintainSignal.wake()
	s.background.Go(func() { s.sealer(ctx) })
	s.background.Go(func() { s.maintainer(ctx) })
	s.background.Go(func() { s.space.run(ctx, s.maintainSignal.wake) })
	s.background.Go(func() { s.streams.released.repeat(ctx, maintainEvery, s.forgetReleased) })
	if s.replay.first <= s.replay.entries {
		s.background.Go(func() { s.runReplay(ctx) })
	} else { // at once: the first query is complete
		s.runReplay(ctx)
	}
	return s, nil
}

// newStore returns a store without its files. o is resolved.
func newStore(dir string, o Options) *Store {
	s := &Store{
		dir: dir, o: o,
		terms:          terms{current: newTerm()},
		census:         newCensus(o.MaxStreams),
		idempotency:    newIdempotency(o.KeyWindow, o.share(keyShare)),
		labels:         labelindex.New(splitLabels),
		names:          newLabelTable(o.share(cacheShare) / labelTablePart),
		reads:          newReadPool(o.Memory, o.Workers),
		seals:          sealState{signal: make(signal, 1)},
		replay:         replayState{ready: make(chan struct{})},
		bgErrors:       backgroundErrors{errs: map[string]error{}},
		maintainSignal: make(signal, 1),
		recordSize:     int(min(recordSize, o.logSegment()/4)),
		closed:         make(chan struct{}),
	}
	s.encoders.New = func() any {
		k := new(blockEncoder)
		k.enc = s.newEncoder(&k.turn)
		return k
	}
	if o.Level != durability.Power {
		s.counts.appends.OneOf = 16
	}
	s.events = newEventQueue(o.Events, o.now, func(err error) { s.bgErrors.set("telling events", err) })
	s.space.changed = s.tellSpace
	s.tenants.census = newCensus(o.MaxTenants)
	s.streams.labels, s.streams.released.signal = s.labels, make(signal, 1)
	s.pool = newMemtablePool(o.memtableBytes())
	s.throttle = newThrottle(o.memtableBytes(), s.closed, s.seals.wake)
	s.throttle.trim = s.pool.trim
	s.streams.onTake = s.throttle.take
	return s
}

// openFiles opens the log and the segments, and determines what to replay. After
// an error the caller calls closeFiles.
func (s *Store) openFiles(ctx context.Context, p *profile.Profile) (err error) {
	o := &s.o
	if s.log, err = openLog(filepath.Join(s.dir, logDir), o, p, &logKeeper{dir: s.dir, tell: s.events.tell, now: o.now, cut: &s.torn}); err != nil {
		return err
	}
	if o.wrapLog != nil {
		s.log = o.wrapLog(s.log)
	}
	if err := s.space.init(s.dir, o, s.preallocatedLog); err != nil {
		return err
	}
	contents, err := s.readContents(ctx)
	if err != nil {
		return err
	}
	s.replay.entries = contents.entries
	s.limitDeletions()
	s.deletions.begin(contents.deletions)
	s.doubt.saved = contents.doubt
	first, next := s.log.Bounds()
	at, err := catalog.OpenDir(s.dir, p)
	if err != nil {
		return err
	}
	if o.wrapPlace != nil {
		at = o.wrapPlace(at)
	}
	s.catalog, err = catalog.Open(ctx, at, catalog.Options{
		Retention: o.Retention, RetainBytes: o.RetainBytes,
		SegmentSize: o.SegmentSize, SegmentSpan: o.SegmentSpan, SmallSpan: o.smallSpan(),
		BlockRaw: int(o.Codec.blockRaw()), Encoder: s.newMergeEncoder, Codec: uint16(o.Codec), CacheBytes: o.cacheBytes(), MergeBytes: o.share(compactionShare), Files: segmentDescriptors(), Rate: o.BackgroundRate,
		Log: s.log.ID(), Truncated: first - 1, Unsealed: contents.entries != 0,
		CheckSpace: s.space.checkFree, Clock: o.Clock, Doubt: contents.doubt, KeyWindow: o.KeyWindow, Removing: s.removing, Gone: s.deletions.due(o.Clock), Taking: s.taking, Limits: s.catalogLimits(),
		Events: s.tellSegment,
		Judge:  contents.provenance(s.dir, s.log.ID(), first, next).judge,
		Accept: func(list []catalog.Holding) error { return checkPositions(list, next) },
	})
	if err != nil {
		return err
	}
	s.beginReplay(contents.terms)
	if err := s.loadBatches(ctx); err != nil {
		return err
	}
	s.reckon(contents)
	s.endDoubt()
	return nil
}

// preallocatedLog returns the bytes of preallocated log files.
func (s *Store) preallocatedLog() int64 { return s.log.Stats().Prepared }

// loadProfile loads the named profile, or that of the directory, if there is
// one.
func loadProfile(dir, name string) (*profile.Profile, error) {
	if name != "" {
		return profile.Load(name)
	}
	p, err := profile.Load(filepath.Join(dir, profile.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

func splitLabels(enc string) []labelindex.Label {
	var list []labelindex.Label
	for name, value := range (Labels{enc}).All() {
		list = append(list, labelindex.Label{Name: name, Value: value})
	}
	return list
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// sealError returns an error if waiting for memory is useless: the log has failed, or the
// disk is full. A seal that failed for another reason is tried again, and appends wait
// for that as for any seal; Stats.BackgroundError tells why they do.
func (s *Store) sealError() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	if err := s.seals.lastErr.Load(); err != nil && errors.Is(*err, ErrLowSpace) {
		return fmt.Errorf("memory is full and cannot be sealed: %w", *err)
	}
	return nil
}

// maxSealers is how many workers of a seal may run: half of them while there are appends,
// so that CPUs are left for the log and for the kernel threads that write it.
func (s *Store) maxSealers() int {
	if s.active.Load().appenders.Load() == 0 {
		return s.reads.workers
	}
	return max(1, s.reads.workers/2)
}

// appendsLinger is for how long after an append others are expected.
const appendsLinger = 50 * time.Millisecond

// maxReaders is how many workers of a query may run: half of them while a memtable is
// sealed, and while appends come. The runtime looks for what the network and timers have
// when a processor has nothing to do, and else every 10 ms; an append waits for several
// such looks.
func (s *Store) maxReaders() int {
	n := s.reads.workers
	if s.seals.active.Load() || s.active.Load().appenders.Load() > 0 || s.appendedWithin(time.Now(), appendsLinger) {
		n = max(1, n/2)
	}
	return n
}

// noteAppend notes that an append began.
func (s *Store) noteAppend(now time.Time) {
	// Seldom, so that appenders do not wait for the cache line.
	if !s.appendedWithin(now, appendsLinger/8) {
		s.lastAppend.Store(now.UnixNano())
	}
}

// appendedWithin reports whether an append began within d before now, or as much behind
// it; if it began later than that, the clock was set back.
func (s *Store) appendedWithin(now time.Time, d time.Duration) bool {
	ago := time.Duration(now.UnixNano() - s.lastAppend.Load())
	return -d < ago && ago < d
}

// maintainEvery is how often retention is checked when nothing is sealed.
const maintainEvery = 10 * time.Second

// maintainer compacts and applies retention until ctx is done.
func (s *Store) maintainer(ctx context.Context) {
	var watch clockWatch
	s.maintainSignal.repeat(ctx, maintainEvery, func() {
		s.bgErrors.set("maintenance of the segments", s.catalog.Maintain(ctx))
		s.forgetDeletions()
		watch.look(s)
		s.endDoubt()
	})
}

// Compact seals the memtables, and compacts segments until there is nothing
// left to compact, nor to be deleted (see Deletions), nor of version 1. All it writes is durable as at level Power. It changes
// nothing that a query finds. The error is ErrLowSpace if something was left undone for lack
// of space. A segment of which every entry is deleted, or has expired, goes without any.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.Seal(ctx); err != nil {
		return err
	}
	err := s.catalog.CompactAll(ctx)
	if err == nil {
		s.forgetDeletions()
	}
	if s.isClosed() && err != nil {
		return s.opError("compact", ErrClosed)
	}
	if ctx.Err() == nil {
		s.bgErrors.set("maintenance of the segments", err) // so what is mended is no error any more
	}
	if err != nil {
		return s.opError("compact", err)
	}
	return nil
}

// Close closes the store. Appends under way complete, and blocked ones return
// ErrClosed. Once everything acknowledged is durable as at level Power, queries
// and tails get ErrClosed at their next step. Close does not wait for them: one
// whose consumer stalls keeps its memory and its open files until it ends, and the
// store can be opened again meanwhile. Memtables are not sealed, so that Close
// takes no longer than two syncs: the next Open replays them. Call Seal before if
// the next Open must be fast. Later calls return the result of the first.
func (s *Store) Close() error {
	if s.log == nil {
		return fmt.Errorf("logstore: close: %w", errUnopened)
	}
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

// waitAppends returns when no append is under way. There is none after it once
// closed is.
func (s *Store) waitAppends() {
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
}

func (s *Store) close() error {
	s.mu.Lock()
	close(s.closed)
	s.mu.Unlock()
	s.waitAppends()
	s.keepDoubt()
	// First what was acknowledged. Closing the log tries again what fails, and then
	// releases the lock, when nothing writes any more.
	_ = s.log.Sync(context.Background())
	s.stop()
	s.background.Wait()
	err := s.closeFiles()
	s.reads.close()
	s.pool.chunks.Close()
	for _, m := range s.mems {
		m.release() // views keep it
	}
	s.events.close()
	return err
}

func (s *Store) closeFiles() error {
	var errs []error
	if s.catalog != nil {
		errs = append(errs, s.catalog.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	return errors.Join(errs...)
}
