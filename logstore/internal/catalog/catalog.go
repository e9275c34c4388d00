// Package catalog holds the segments of a store: it opens, publishes, compacts,
// retires and quarantines them. It writes version 2 (package segment2), and reads
// version 1 (package segment) too, which compactions convert.
//
// # Directory
//
//	DIR/segments/AFTER-UPTO-GENERATION.seg   hexadecimal, 16, 16 and 8 digits
//	DIR/segments/*.part                      being written; in quarantine too
//	DIR/quarantine/AFTER-UPTO-GENERATION.seg a segment that was found damaged
//	DIR/quarantine/AFTER-UPTO-GENERATION.txt what was wrong, and what was saved
//
// There is no manifest: the names of the segments are it. A segment holds the
// positions (AFTER, UPTO] of the log. The positions of served segments do not
// overlap, so no entry is served twice. Only the holder of the store's lock
// creates files here.
//
// # Memory
//
// Open reads the end of each segment, once, and keeps a card of it: 1 to 4 KiB
// in version 2, less in version 1. Beyond a quarter of Options.CacheBytes cards are
// slim, with less than 1 KiB. What a segment has of which streams is read when it is
// asked for, and kept within Options.CacheBytes, as are the cards, and the tables of
// segments of version 1, which can only be read whole: they may have half of it.
//
// # What a crash leaves
//
// A segment is written under a temporary name, synced and renamed, and the
// directory is synced: it is there whole or not at all. Only then does the
// store truncate its log, and a compaction delete its sources. Generations
// order what a crash leaves:
//
//	left                                     Open
//	*.part                                   removes it
//	a compaction and some of its sources,    removes the sources
//	  whose positions it has, of lower
//	  generations
//	a segment rewritten without deleted or   removes the latter
//	  expired rows, or of version 1, and the
//	  one before, with the same positions:
//	  see expiry.go
//	a salvage and the segment it is of, with moves the latter into quarantine
//	  the same positions
//	a deleted segment that is back           serves it: it is deleted once more
//
// The second case rests on this order: a compacted segment is deleted, by
// retention or another compaction, only after its sources were deleted and the
// directory was synced. Else a crash could bring back the sources of a segment
// that is gone, and with them entries deleted long ago. Retention deletes only
// positions that the log has truncated, so that what it deleted is not
// replayed.
//
// # Damage
//
// A segment whose bytes are not as they were written is salvaged: its intact
// blocks go into a segment of the next generation, the damaged file into
// quarantine, with a report. Until then its intact blocks are served from where
// they are, and each read of a damaged one is an error. If its end is damaged,
// which says where its index is (in version 1: if the index is), no block is
// served until the segment is salvaged; if the log still has all positions of it
// and of the segments after it, they are replayed instead. A
// compaction does not join segments with a gap between them. So a file that is
// moved back out of quarantine overlaps no other, unless it was salvaged, and
// then it is moved again.
//
// An error of the disk (EIO, too many open files) is not damage, and a segment
// of an unknown version is not damaged. Open returns them: without the file,
// the store would replay or compact as if it did not exist.
package catalog

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
	"github.com/stele-go/stele/profile"
)

// ErrClosed reports a call on a catalog that has been closed.
var ErrClosed = errors.New("the segments are closed")

// Options are the settings of a catalog; see those of package logstore. All are
// set, but for those whose zero value is described.
type Options struct {
	Retention   time.Duration // 0: forever
	RetainBytes int64         // 0: any number
	SegmentSize int64
	SegmentSpan time.Duration
	SmallSpan   time.Duration // of segments of at most a sixteenth of SegmentSize, see policy.go
	BlockRaw    int
	// Encoder, unless nil, returns what encodes blocks of a compaction that are not
	// copied; else codec 1 does. Codec is that of its blocks.
	Encoder    func() segment2.BlockEncoder
	Codec      uint16
	CacheBytes int64
	MergeBytes int64            // of memory for a compaction; 0: no bound
	Files      int              // bound of open file descriptors; at least 16
	Rate       int64            // bytes a second of compaction; <= 0: no limit
	Profile    *profile.Profile // of OpenReadOnly and OpenFiles, or nil
	// Log identifies the store's log, whose positions segments have; zero: it is
	// not known.
	Log [16]byte
	// Truncated is the position before the first of the log, see SetTruncated.
	Truncated uint64
	Unsealed  bool // the log has records
	// Judge, unless nil, is called by Open with the segments that it has found under
	// their own names, before anything is changed, and returns a Verdict for each. A
	// segment whose index is damaged is among them, with what its name says. Open
	// returns its error.
	Judge func([]Holding) ([]Verdict, error)
	// Accept, unless nil, is called by Open with the segments that will be served, or
	// salvaged, before anything is changed. Open returns its error.
	Accept func([]Holding) error
	// CheckSpace, unless nil, returns an error if the file system has not so many bytes
	// for a compaction, which needs them until its sources are deleted.
	CheckSpace func(bytes int64) error
	Clock      Clock
	// Doubt is what Doubt returned at the end of the last life.
	Doubt Doubt
	// KeyWindow is how long the keys of batches are kept by compactions.
	KeyWindow time.Duration
	// Removing, unless nil, is called before files leave the directory of segments
	// that no other segment replaces, and by Open before files go to quarantine.
	// After an error they stay. It must not call the catalog's Maintain or Close.
	Removing func([]Holding) error
	// Gone, unless nil, returns the rows that are gone: all deletes at positions below
	// applied are in the list, or have been applied to all segments. Compactions leave
	// them out. It must call nothing of the catalog.
	Gone func() (list []Gone, applied uint64)
	// Taking, unless nil, is called before a compaction leaves out rows of the deletes at
	// some positions. ok is false if one of them is no delete any more; then what is gone is
	// asked for again. After an error nothing changes. It must call nothing of the catalog.
	Taking func(positions []uint64) (ok bool, err error)
	// Limits, unless nil, returns those of a tenant, see expiry.go. After an error nothing
	// of that tenant expires. It must call nothing of the catalog.
	Limits func(tenant string) (TenantLimits, error)
	// ReadOnly is set by OpenReadOnly and OpenFiles, and anyPositions by the latter.
	ReadOnly     bool
	anyPositions bool
	// Events, unless nil, is called with what happens. Locks are held: it must
	// return at once, and call nothing of the catalog.
	Events func(Event)
}

// A Catalog is the segments of one directory. Its methods may be called by many
// goroutines at once.
type Catalog struct {
	o        Options
	place    Place
	files    *fileCache
	parts    *partCache
	throttle *throttle
	clock    *trustedClock

	current   atomic.Pointer[version] // nil: closed
	upto      atomic.Uint64           // only grows, unlike that of the segments
	truncated atomic.Uint64
	ids       atomic.Uint64
	counters  counters
	unserved  atomic.Pointer[[]error] // see Unserved
	missing   []error                 // see Missing; not changed after Open
	passed    []Holding               // see Passed; not changed after Open

	// publishMu serializes Publish.
	publishMu sync.Mutex
	// maintenance holds one token: its holder compacts, retires, repairs and
	// deletes, and owns the fields below.
	maintenance  chan struct{}
	unreadable   []*file  // not served, as the index is damaged; changed with mu held, too
	writeFailure *failure // of a compaction: others would fail too, and fill the disk again
	syncFailure  *failure // of the directories' last sync

	limitsFailure error           // of Options.Limits, when expire last looked
	postponed     []postponedFile // for lack of space, in this round of maintenance

	// mu is held while the version changes, so also while Publish calls step.
	// No method that reads segments takes it.
	mu          sync.Mutex
	oldVersions []*version      // that snapshots may still use
	obsolete    []*obsoleteFile // files that left the version, until their removal is durable

	ctx     context.Context // done: closed
	cancel  context.CancelFunc
	closeMu sync.RWMutex // read-held by calls that write
	closed  bool         // guarded by closeMu
	ending  atomic.Bool  // the last snapshot to be released closes the files
	ended   sync.Once    // they are closed
}

// Upto returns the highest position of the log that a segment has, or has had.
func (c *Catalog) Upto() uint64 { return c.upto.Load() }

// SetTruncated records that the log no longer has positions up to upto. The
// store calls it after truncating the log. Retention deletes no position above.
func (c *Catalog) SetTruncated(upto uint64) {
	for {
		old := c.truncated.Load()
		if upto <= old || c.truncated.CompareAndSwap(old, upto) {
			return
		}
	}
}

// Time returns the time by which entries are deleted, in Unix nanoseconds: that of
// Options.Clock, unless that has jumped ahead. Then ahead is by how much, until it
// is trusted again.
func (c *Catalog) Time() (now int64, ahead time.Duration) { return c.clock.read() }

// IsTimeKnown reports whether something beside the first readings of the clock has told the
// time. Before that, nothing is old.
func (c *Catalog) IsTimeKnown() bool { return c.clock.proven() }

// Witness tells that Created was once a time, in seconds since the Unix epoch, as a
// record of the log says. 0 is unknown.
func (c *Catalog) Witness(seconds int64) {
	if seconds > 0 && seconds < math.MaxInt64/int64(2*time.Second) {
		c.clock.witness(seconds * int64(time.Second))
	}
}

// Doubt returns the doubt in which the life of the store would end now, for
// Options.Doubt of the next one. Its Agreed is 0 if there is none to go on from.
func (c *Catalog) Doubt() Doubt { return c.clock.doubt() }

// Created returns Time for a new segment, by which the next Open judges the clock;
// 0, which is unknown, if the time is not to be relied on, as after the clock was set
// back.
func (c *Catalog) Created() int64 { return c.clock.created() }

// Latest returns what Time would be if the clock had not been set back, in Unix
// nanoseconds: what came by it never seems to have come earlier.
func (c *Catalog) Latest() int64 { return c.clock.latest() }

func (c *Catalog) now() int64 {
	now, _ := c.clock.read()
	return now
}

// keepOpen keeps the catalog open until leave is called.
func (c *Catalog) keepOpen() (leave func(), err error) {
	c.closeMu.RLock()
	if c.closed {
		c.closeMu.RUnlock()
		return nil, ErrClosed
	}
	return c.closeMu.RUnlock, nil
}

// withClose returns a context that is done when ctx is, or the catalog is
// closed.
func (c *Catalog) withClose(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// Close cancels compactions and repairs. When it returns nothing is written any
// more. Snapshots stay readable, unless another catalog opens the directory; the
// files are closed once the last one is released. A file that one of them uses and
// that should have been removed is left to the next Open.
func (c *Catalog) Close() error {
	c.cancel()
	c.closeMu.Lock()
	defer c.closeMu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.closed = true
	c.mu.Lock()
	last := c.current.Swap(nil)
	c.oldVersions = append(c.oldVersions, last)
	c.mu.Unlock()
	c.unref(last)
	c.syncFailure = nil // one more attempt
	err := c.deleteObsolete(context.Background())
	if c.syncFailure != nil {
		err = errors.Join(err, c.syncFailure.err)
	}
	c.ending.Store(true)
	c.closeReleased()
	return errors.Join(err, c.place.Close())
}

// closeReleased closes all files if no snapshot is in use. The catalog is closed.
func (c *Catalog) closeReleased() {
	if !c.allReleased() {
		return
	}
	c.ended.Do(func() {
		c.files.close()
		c.parts.close()
	})
}

// allReleased reports whether no snapshot is in use.
func (c *Catalog) allReleased() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropOldVersions()
	return len(c.oldVersions) == 0
}

// dropOldVersions forgets the versions that no snapshot uses. mu is held.
func (c *Catalog) dropOldVersions() {
	kept := c.oldVersions[:0]
	for _, v := range c.oldVersions {
		if v.refs.Load() > 0 {
			kept = append(kept, v)
		}
	}
	clear(c.oldVersions[len(kept):])
	c.oldVersions = kept
}
