package logstore

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/logstore/internal/catalog"
)

// Options are the settings of a store. The zero value is the safe one.
type Options struct {
	// Level is what an acknowledged batch survives. The default is Power. At
	// Kill, data is synced only every SyncEvery, when a memtable is sealed, and
	// by Close. None is refused.
	Level durability.Level
	// SyncEvery, at level Kill, is how long a batch may wait for its sync
	// against a power cut. The default, 0, syncs when its entries are sealed.
	SyncEvery time.Duration

	// LateWindow is how much older than the newest entry of its stream an entry
	// may be. The newest counts all entries before it, those of the same batch
	// included. 0 means an hour; a negative window accepts any time.
	LateWindow time.Duration
	// FutureWindow is how far ahead of the clock an entry may be. 0 means ten
	// minutes; a negative window accepts any time.
	FutureWindow time.Duration
	// MaxLine is the largest size of a line in bytes. 0 means 256 KiB; at most
	// 1 MiB.
	MaxLine int

	// MaxStreams is how many streams may get entries within an hour, or half an
	// hour less. The entries of a further stream are refused
	// (ErrTooManyStreams), unless the store knows it. 0 means one for each 256
	// bytes of Memory.
	MaxStreams int
	// MaxTenants is how many tenants (AppendOptions.Tenant), other than "", may get
	// entries within an hour, or half an hour less. A batch of a further one is refused
	// (ErrTooManyTenants), unless it has entries in memory. 0 means one for each 16 KiB
	// of Memory.
	MaxTenants int
	// Tenants, unless nil, returns the limits of a tenant; the zero TenantOptions are
	// none. It is called with its name for each batch and each query of it, and "" for
	// those of no tenant, so that another result counts at once. Many goroutines call
	// it at once, and wait for it. A panic in it, or limits below 0, are the error of
	// the call.
	Tenants func(tenant string) TenantOptions

	// KeyWindow is how long the store remembers AppendOptions.Key of a batch: at least
	// so long after the batch, also over restarts, unless so many batches have one that
	// a thirty-second of Memory does not suffice, at some 50 bytes each and 112 and its name for each tenant
	// (Stats.DroppedKeys). 0 means ten minutes.
	KeyWindow time.Duration

	// Retention is how long entries are kept, by their time. The default, 0,
	// keeps them forever. Segments are deleted whole, once their newest entry
	// is older, so entries stay a little longer: see SegmentSpan. A clock that
	// jumps ahead, or is more than a minute ahead of the newest segment and record
	// when the store is opened, deletes nothing by age until it has been so for 15
	// minutes: see Stats.ClockAhead. Where the store is never open for that long, these
	// minutes are those of several lives: then entries are deleted by what the clock said
	// at the first of them, so they stay for as long as it takes longer.
	// RetainBytes, if not 0, bounds the bytes of all segments: of the oldest, as
	// many are deleted as needed. The newest segment stays, however large.
	Retention   time.Duration
	RetainBytes int64
	// MinFree is how many bytes of the file system must stay free: appends are
	// refused (ErrLowSpace) below it. 0 means 1 GiB, or a twentieth of the file
	// system if that is less. It is never less than what the store may still
	// write: four log files, less those already preallocated, and the
	// memtables.
	MinFree int64

	// Memory bounds the bytes that the store holds in all: memtables and their
	// streams, results, sums, decoders and tails of queries, what is known of
	// segments, sealing, compaction, the keys of batches, lists of refused entries,
	// pending deletions, and the log. 0 means 256 MiB; at least 32 MiB, at most 128 GiB. Stats.Memory
	// tells the shares. Appends block when theirs is used up, queries wait, caches
	// evict, and with very many streams memtables are sealed earlier.
	//
	// With CodecColumns, what is known of templates takes about 1 MiB more, and up to 16
	// MiB where lines have very many. A seal takes at least 6 MiB and a compaction 12 MiB, more than their shares
	// where Memory is less than 128 MiB; a compaction of up to six segments takes 4
	// bytes a stream of each and 24 a stream of the result, however many those are.
	// A tenant with TenantOptions.MaxStreams takes up to 64 bytes for each stream that
	// got an entry within an hour, 2.1 MB at most, told with the log. A salvage of a
	// segment that has lost its index holds the labels of its streams.
	// Results and caches count the labels that they hold. Not counted are the batches of
	// callers, the labels and entries that callers keep, regular expressions of queries
	// (Match refuses one of more than 4 MiB; that of a filter is the caller's), the list of
	// what a query is about to read while it has memory (some 10 bytes a stream in
	// memtables, 200 a segment and block; none once it was idle and others waited, when it
	// keeps the at most 64 entries that it was about to yield), and what the garbage
	// collector has not freed yet: by default it lets the heap grow to twice of what is
	// held. In measurements the process had at most 0.7 times Memory while lines of 100,000
	// streams were appended, at most 1.2 times while all of 140 segments were summed up,
	// mapped pages of segments included, and 0.7 times the default, or 1.3 times 64 MiB,
	// while a query yielded all of 1,200,000 streams with a line each.
	Memory int64
	// SealAge is how long entries stay in a memtable before it is sealed, if it
	// does not fill before. 0 means 5 minutes.
	SealAge time.Duration
	// SegmentSize is the size in bytes up to which segments are compacted, and
	// SegmentSpan the longest time from the oldest to the newest entry of a
	// compacted segment. 0 means 256 MiB, and an eighth of Retention or a day,
	// whichever is less. With RetainBytes, SegmentSize is at most a sixteenth of
	// it, so that little more is deleted than must be. Segments of at most a
	// sixteenth of SegmentSize may span an eighth of Retention, or 64 days, so that
	// a store with few lines a day does not gain a segment each day.
	SegmentSize int64
	SegmentSpan time.Duration
	// Codec is how lines are encoded when memtables are sealed. The default, 0, is
	// CodecColumns. A store reads blocks of all codecs; see also Recode.
	Codec Codec
	// Workers is how many goroutines answer one query, and how many seal; half
	// of them while there are appends, unless memory is short. 0 means
	// GOMAXPROCS.
	Workers int
	// BackgroundRate is how many bytes a second compaction may read, and how
	// many it may write. 0 means 64 MiB; a negative rate is no limit.
	BackgroundRate int64

	// Profile is the file in which stele tune has described the disk. "" means
	// stele-profile.json in the directory of the store, if it is there. The
	// size of log files depends on Memory, whatever the profile says.
	Profile string

	// Clock is the time by which entries are refused (FutureWindow) and deleted
	// (Retention). nil is the clock of the machine.
	Clock Clock

	// Events, unless nil, is called with what happens to the store: damage,
	// quarantine, deletion by retention, torn tails, low space. One goroutine of the
	// store calls it, in order, the first times before Open returns. It may be slow:
	// nothing waits for it, and events beyond 1,024 are counted and dropped
	// (EventDropped). Close waits a second at most for it, so it must not call
	// Close. A panic in it is caught: see PanicError.
	Events func(Event)

	// For tests: free space, a smaller size of log files, the version of records, another
	// log, another place of segments, and what is called at each step of a snapshot.
	statfs         func(string) (sys.FSInfo, error)
	logSegmentSize int64
	recordVersion  int
	wrapLog        func(log) log
	wrapPlace      func(catalog.Place) catalog.Place
	snapshotStep   func()
}

const (
	minMemory      = 32 << 20
	maxMemory      = 128 << 30 // a memtable numbers its chunks, 1 MiB each, with 16 bits
	minSegmentSize = 1 << 20
	// minLogSegment is the smallest size of a log file: four records.
	minLogSegment = 4 * recordSize
	maxLogSegment = 256 << 20
)

// check returns an error for the first wrong setting.
func (o *Options) check() error {
	const pkg = "logstore: Options."
	levels := fmt.Sprintf("%v or %v", durability.Power, durability.Kill)
	switch {
	case o.Level == durability.None:
		return setting.Wrong(pkg+"Level", o.Level, "%s: acknowledged lines would be lost when the process exits", levels)
	case o.Level > durability.None:
		return setting.Wrong(pkg+"Level", o.Level, "%s", levels)
	case o.SyncEvery > 0 && o.Level != durability.Kill:
		return setting.Wrong(pkg+"SyncEvery", o.SyncEvery, "0 at level %v, which syncs every batch, or level %v", o.Level, durability.Kill)
	case o.MaxLine < 0 || o.MaxLine > maxLine:
		return setting.Wrong(pkg+"MaxLine", setting.Bytes(o.MaxLine), "0 (the default) to %d", maxLine)
	case o.Memory != 0 && (o.Memory < minMemory || o.Memory > maxMemory):
		return setting.Wrong(pkg+"Memory", setting.Bytes(o.Memory), "0 (the default), or %d to %d", minMemory, int64(maxMemory))
	case o.Codec > CodecColumns:
		return setting.Wrong(pkg+"Codec", o.Codec, "0 (the default), %v or %v", CodecLines, CodecColumns)
	case o.SegmentSize != 0 && o.SegmentSize < minSegmentSize:
		return setting.Wrong(pkg+"SegmentSize", setting.Bytes(o.SegmentSize), "0 (the default), or %d or more", minSegmentSize)
	}
	return cmp.Or(
		setting.AtLeast(pkg+"SyncEvery", o.SyncEvery, 0),
		setting.AtLeast(pkg+"MaxStreams", o.MaxStreams, 0),
		setting.AtLeast(pkg+"MaxTenants", o.MaxTenants, 0),
		setting.AtLeast(pkg+"KeyWindow", o.KeyWindow, 0),
		setting.AtLeast(pkg+"Retention", o.Retention, 0),
		setting.AtLeast(pkg+"RetainBytes", setting.Bytes(o.RetainBytes), 0),
		setting.AtLeast(pkg+"MinFree", setting.Bytes(o.MinFree), 0),
		setting.AtLeast(pkg+"SealAge", o.SealAge, 0),
		setting.AtLeast(pkg+"SegmentSpan", o.SegmentSpan, 0),
		setting.AtLeast(pkg+"Workers", o.Workers, 0),
	)
}

// resolve returns o with every default filled in, or the first wrong setting.
func (o Options) resolve() (Options, error) {
	if err := o.check(); err != nil {
		return o, err
	}
	or := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	or(&o.LateWindow, time.Hour)
	or(&o.FutureWindow, 10*time.Minute)
	or(&o.SealAge, 5*time.Minute)
	or(&o.KeyWindow, keyWindow)
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
	if o.MaxStreams == 0 {
		o.MaxStreams = int(min(o.Memory/256, math.MaxInt32))
	}
	if o.MaxTenants == 0 {
		o.MaxTenants = int(o.Memory / (16 << 10))
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = 256 << 20
	}
	if o.RetainBytes > 0 {
		o.SegmentSize = min(o.SegmentSize, max(o.RetainBytes/16, minSegmentSize))
	}
	if o.Codec == 0 {
		o.Codec = defaultCodec
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.BackgroundRate == 0 {
		o.BackgroundRate = 64 << 20
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.statfs == nil {
		o.statfs = sys.StatFS
	}
	return o, nil
}

// nowAt is now for a caller that has read the clock of the machine.
func (o *Options) nowAt(machine time.Time) time.Time {
	if _, ok := o.Clock.(systemClock); ok {
		return machine
	}
	return o.Clock.Now()
}

// now reads the clock. It may be wrong for a while: see Store.catalog.Time.
func (o *Options) now() time.Time { return o.Clock.Now() }

// segmentDescriptors bounds those that segments are read through: a quarter of
// those that the process may have, 256 to 2,048.
func segmentDescriptors() int {
	soft, _, err := sys.FileLimits()
	if err != nil {
		return 256
	}
	return int(min(max(soft/4, 256), 2048))
}

// smallSpan is the longest time that a small segment spans: see SegmentSpan.
func (o *Options) smallSpan() time.Duration {
	if o.Retention > 0 {
		return max(o.SegmentSpan, o.Retention/8)
	}
	return max(o.SegmentSpan, 64*24*time.Hour)
}

// memtableBytes is for memtables: the active one and the one being sealed.
func (o *Options) memtableBytes() int64 { return o.share(memtableShare) }

// cacheBytes is for what is known of segments.
func (o *Options) cacheBytes() int64 {
	return o.share(cacheShare) / labelTablePart * (labelTablePart - 1)
}

// logSegment is the size of a log file: a quarter of a memtable pair, so that
// each seal frees several files.
func (o *Options) logSegment() int64 {
	if o.logSegmentSize != 0 {
		return o.logSegmentSize
	}
	const round = 1 << 20
	need := (o.memtableBytes()/4 + round - 1) / round * round
	return min(max(need, minLogSegment), maxLogSegment)
}

// logSpares is how many log files are preallocated, and how many truncated ones
// are kept for reuse. The log must not run out of them while a memtable is
// being sealed: appends would wait until a file was filled with zeros.
const logSpares = 3

// minFree returns MinFree for a file system of total bytes.
func (o *Options) minFree(total int64) int64 {
	if o.MinFree != 0 {
		return o.MinFree
	}
	return min(1<<30, total/20)
}

// reservedFree is what the store may still write for entries it has accepted:
// log files and memtables.
func (o *Options) reservedFree() int64 { return (logSpares+1)*o.logSegment() + o.memtableBytes() }
