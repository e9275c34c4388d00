package logstore

import (
	"fmt"
	"runtime"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
)

// Options are the settings of a store. The zero value is the safe one.
type Options struct {
	// Level is what an acknowledged batch survives. The default is Power. At
	// Kill nothing is synced but every SyncEvery, when memory is sealed, and on
	// Close. None is refused.
	Level durability.Level
	// SyncEvery, at level Kill, is how long a batch may wait to be made durable
	// against a power cut. The default, 0, is until its entries are sealed.
	SyncEvery time.Duration

	// LateWindow is how much older than the newest entry of its stream an entry
	// may be; the newest is that of all entries before it, those of its own
	// batch too. 0 is an hour; a negative one is any time.
	LateWindow time.Duration
	// FutureWindow is how far ahead of the clock an entry may be. 0 is ten
	// minutes; a negative one is any time.
	FutureWindow time.Duration
	// MaxLine is the most bytes that a line may have. 0 is 256 KiB; at most 1 MiB.
	MaxLine int

	// Retention is how long entries are kept, by their time. The default, 0,
	// is for ever. Segments are deleted whole, once their newest entry is
	// older, so entries stay a little longer: see SegmentSpan. RetainBytes, if
	// not 0, is the most bytes that all segments may have; the oldest go first.
	Retention   time.Duration
	RetainBytes int64
	// MinFree is how many bytes of the file system stay free: appends are
	// refused (ErrLowSpace) where less is. 0 is 1 GiB, or a twentieth of the
	// file system if that is less, and never less than four files of the log,
	// without those it has ready, and what is in memory.
	MinFree int64

	// Memory is how many bytes the store may use in all, for what is not yet
	// sealed, for caches and for queries. 0 is 256 MiB; at least 32 MiB.
	// Appends wait where it is used up.
	Memory int64
	// SealAge is how long entries stay in memory until they are sealed into a
	// segment, if there are not enough of them before. 0 is 5 minutes.
	SealAge time.Duration
	// SegmentSize is the size in bytes that segments are merged up to, and
	// SegmentSpan the time from their oldest to their newest entry. 0 is 256
	// MiB, and an eighth of Retention or a day, whichever is less.
	SegmentSize int64
	SegmentSpan time.Duration
	// Workers is how many goroutines answer one query, and how many seal: half of
	// them while something is appended, unless memory is short. 0 is
	// GOMAXPROCS.
	Workers int
	// BackgroundRate is how many bytes a second merges may read and write
	// each. 0 is 64 MiB; a negative one is no limit.
	BackgroundRate int64

	// Profile is the file with what stele tune found out about the disk. "" is
	// stele-profile.json in the folder of the store, if it is there. The files of
	// the log have a size that goes with Memory, whatever it says of that.
	Profile string

	// Tests have their own clock and free space, and files of the log with fewer
	// bytes than logSegment says.
	now            func() time.Time
	statfs         func(string) (sys.FSInfo, error)
	logSegmentSize int64
}

const (
	minMemory      = 32 << 20
	minSegmentSize = 1 << 20
	// blockRaw is how many bytes of lines a block is to have: enough for zstd
	// to find what repeats, and few enough for a query that wants one line.
	blockRaw = 256 << 10
	// openFiles is how many segments are held open.
	openFiles = 256
	// minLogSegment is the least size of a file of the log: four records.
	minLogSegment = 4 * recordSize
	maxLogSegment = 256 << 20
)

// resolve returns the options with every default filled in, or says what is
// wrong with them.
func (o Options) resolve() (Options, error) {
	switch {
	case o.Level == durability.None:
		return o, fmt.Errorf("Options.Level: %v: acknowledged lines would be lost when the process exits; want %v or %v", o.Level, durability.Power, durability.Kill)
	case o.Level > durability.None:
		return o, fmt.Errorf("Options.Level: %v; want %v or %v", o.Level, durability.Power, durability.Kill)
	case o.SyncEvery < 0:
		return o, fmt.Errorf("Options.SyncEvery: %v; want 0 or more", o.SyncEvery)
	case o.SyncEvery > 0 && o.Level != durability.Kill:
		return o, fmt.Errorf("Options.SyncEvery: %v at level %v, where every batch is synced; want 0, or level %v", o.SyncEvery, o.Level, durability.Kill)
	case o.MaxLine < 0 || o.MaxLine > maxLine:
		return o, fmt.Errorf("Options.MaxLine: %d bytes; want 0 to %d", o.MaxLine, maxLine)
	case o.Retention < 0:
		return o, fmt.Errorf("Options.Retention: %v; want 0 (for ever) or more", o.Retention)
	case o.RetainBytes < 0:
		return o, fmt.Errorf("Options.RetainBytes: %d bytes; want 0 (no limit) or more", o.RetainBytes)
	case o.MinFree < 0:
		return o, fmt.Errorf("Options.MinFree: %d bytes; want 0 (the default) or more", o.MinFree)
	case o.Memory != 0 && o.Memory < minMemory:
		return o, fmt.Errorf("Options.Memory: %d bytes; want 0, or at least %d", o.Memory, minMemory)
	case o.SealAge < 0:
		return o, fmt.Errorf("Options.SealAge: %v; want 0 (the default) or more", o.SealAge)
	case o.SegmentSpan < 0:
		return o, fmt.Errorf("Options.SegmentSpan: %v; want 0 (the default) or more", o.SegmentSpan)
	case o.SegmentSize != 0 && o.SegmentSize < minSegmentSize:
		return o, fmt.Errorf("Options.SegmentSize: %d bytes; want 0, or at least %d", o.SegmentSize, minSegmentSize)
	case o.Workers < 0:
		return o, fmt.Errorf("Options.Workers: %d; want 0 or more", o.Workers)
	}
	or := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	or(&o.LateWindow, time.Hour)
	or(&o.FutureWindow, 10*time.Minute)
	or(&o.SealAge, 5*time.Minute)
	span := 24 * time.Hour
	if o.Retention > 0 {
		span = max(min(span, o.Retention/8), time.Nanosecond)
	}
	or(&o.SegmentSpan, span)
	if o.MaxLine == 0 {
		o.MaxLine = 256 << 10
	}
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = 256 << 20
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.BackgroundRate == 0 {
		o.BackgroundRate = 64 << 20
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.statfs == nil {
		o.statfs = sys.StatFS
	}
	return o, nil
}

// The shares of Options.Memory.

// memtableBytes is for memtables: the one that fills and the one that is sealed.
func (o *Options) memtableBytes() int64 { return o.Memory / 8 * 3 }

// cacheBytes is for what is known of segments.
func (o *Options) cacheBytes() int64 { return o.Memory / 8 }

// logSegment is the size of a file of the log: a quarter of what is in memory
// while it is sealed, so that the log is done with several files each time.
func (o *Options) logSegment() int64 {
	if o.logSegmentSize != 0 {
		return o.logSegmentSize
	}
	const round = 1 << 20
	need := (o.memtableBytes()/4 + round - 1) / round * round
	return min(max(need, minLogSegment), maxLogSegment)
}

// logSpares is how many files the log has ready, and as many it keeps to be used
// again. It must not run out of them while a memtable is being sealed: appends
// would wait until a file was filled with zeros.
const logSpares = 3

// minFree is MinFree on a file system of so many bytes.
func (o *Options) minFree(total int64) int64 {
	if o.MinFree != 0 {
		return o.MinFree
	}
	return min(1<<30, total/20)
}

// reservedFree is what the store may yet write of what it has accepted: files of the
// log, and what is in memory.
func (o *Options) reservedFree() int64 { return (logSpares+1)*o.logSegment() + o.memtableBytes() }
