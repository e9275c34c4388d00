// Package catalog holds the segments of a store: it opens, indexes, publishes,
// merges, retires and quarantines them.
//
// # Folder
//
//	DIR/segments/AFTER-UPTO-GENERATION.seg   hexadecimal, 16, 16 and 8 digits
//	DIR/segments/*.part                      is being written; in quarantine too
//	DIR/quarantine/AFTER-UPTO-GENERATION.seg a segment that was found damaged
//	DIR/quarantine/AFTER-UPTO-GENERATION.txt what was wrong, and what was saved
//
// A segment has the positions (AFTER, UPTO] of the log. Those that are served
// do not meet, so no entry is served twice. All that makes files here has the
// lock on the store.
//
// # What a crash leaves
//
// A segment is written under another name, synced, renamed, and the folder is
// synced: it is there whole or not at all. Then only does the owner truncate
// its log, and a merge give up its sources. Generations order what is there
// after a crash:
//
//	left                                     Open
//	*.part                                   removes it
//	a merge and some of its sources, whose   removes the sources
//	  positions it has, of lower generations
//	a salvage and the segment it is of, with moves the latter into quarantine
//	  the same positions
//	a deleted segment that is back           serves it: it is deleted once more
//
// The third line rests on this order: a merge is deleted, by retention or
// another merge, only after its sources were deleted and the folder was synced.
// Else a crash could bring back the sources of a merge that is gone, and with
// them what had been deleted long ago. Retention deletes only what the log has
// truncated, so that what it deleted is not replayed.
//
// # Damage
//
// A segment whose bytes are not as they were written is salvaged: what is
// intact goes into a segment of the next generation, the damaged file into
// quarantine, with a report. Until then its intact blocks are served from where
// they are, and each read of a damaged one is an error. Where the index is
// damaged nothing of it is served until it is salvaged; if the log still has
// all of it, and of what comes behind it too, it is replayed instead. A merge
// does not join segments with a gap between them. So a file that is moved back
// out of quarantine has no other where its positions are, unless it was
// salvaged, and then it is moved again.
//
// An error of the disk (EIO, too many open files) is not damage, and a segment
// of an unknown version is not damaged. At Open they are errors of Open: who
// went on without the file would replay or merge as if it were not there.
package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/labelindex"
	"github.com/stele-go/stele/profile"
)

// ErrClosed: the catalog has been closed.
var ErrClosed = errors.New("the segments are closed")

// Options are the settings of a catalog; see those of package logstore. All are
// set, but for those that say what their zero value is.
type Options struct {
	Retention   time.Duration // 0: for ever
	RetainBytes int64         // 0: any number
	SegmentSize int64
	SegmentSpan time.Duration
	BlockRaw    int
	CacheBytes  int64
	Files       int   // how many descriptors segments are read by at once, at most; 16 if it is less
	Rate        int64 // bytes a second, <= 0: no limit
	Streams     *labelindex.Index
	// CheckLabels tells why labels, which a segment has, are none: it is damaged then.
	CheckLabels func(enc string) error
	Profile     *profile.Profile // or nil
	// Truncated is the position before the first that the log still has, see SetFloor.
	Truncated uint64
	// HasSpace, unless nil, reports whether the file system has so many bytes for a
	// merge, which needs them until its sources are deleted.
	HasSpace func(bytes int64) bool
	// ForgetStreams, unless nil, is called when streams have no entry in any segment any
	// more; snapshots of before may still have some, and there may be new ones by
	// the time it looks. Each Maintain begins with a call that tells of none. It
	// is called by one goroutine at a time, and must not call Publish, Maintain or
	// Close.
	ForgetStreams func(streams []uint32)
	Now           func() time.Time
}

// A Catalog is the segments of one folder. Its methods may be called by many
// goroutines at once.
type Catalog struct {
	o        Options
	dir      string // the folder of the store, for errors
	root     sys.Dir
	segments *atomicfile.Dir // the folder of segments
	files    *fileCache
	runs     *runCache
	throttle *throttle

	current   atomic.Pointer[version] // nil: closed
	released  chan struct{}           // told when an old version is released
	upto      atomic.Uint64           // only grows, unlike that of the segments
	truncated atomic.Uint64
	ids       atomic.Uint64
	counters  counters

	// publishMu is held while a segment is published: they follow each other.
	publishMu sync.Mutex
	// maintenance holds one token: who has it merges, retires, repairs, deletes.
	maintenance chan struct{}
	// Of whoever has it:
	unreadable   []*file   // not served: the index is damaged
	compactAfter time.Time // nothing is merged before, as there was no writing
	syncErr      error     // the folder could not be synced: nothing is deleted any more

	// mu is held while the version is changed, so also while Publish calls step.
	// Nothing that readers call takes it.
	mu          sync.Mutex
	oldVersions []*version      // that may still be in use
	obsolete    []*obsoleteFile // files that have left the version, until they are gone

	ctx     context.Context // done: closed
	cancel  context.CancelFunc
	closeMu sync.RWMutex // read-held by calls that write
	closed  bool         // guarded by life
}

// Upto is the highest position of the log that a segment has, or has had.
func (c *Catalog) Upto() uint64 { return c.upto.Load() }

// SetTruncated says that the log no longer has positions up to this one: the owner
// calls it after truncating. Retention deletes nothing above.
func (c *Catalog) SetTruncated(upto uint64) {
	for {
		old := c.truncated.Load()
		if upto <= old || c.truncated.CompareAndSwap(old, upto) {
			return
		}
	}
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

// withClose returns a context that is done when ctx is, or the catalog is closed.
func (c *Catalog) withClose(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// Close ends what is under way, waits for snapshots to be released, and closes
// all files.
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
	for !c.allReleased() {
		<-c.released
	}
	err := c.deleteObsolete()
	c.files.close()
	c.runs.close()
	return errors.Join(err, c.segments.Close(), c.root.Close())
}

// allReleased reports whether no snapshot is in use.
func (c *Catalog) allReleased() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropOldVersions()
	return len(c.oldVersions) == 0
}

// dropOldVersions forgets those that nobody uses. mu is held.
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
