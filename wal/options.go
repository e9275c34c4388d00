package wal

import (
	"cmp"
	"io"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/profile"
)

// A Position is the sequence number of a record in the log. The first record
// of a log has position 1, or that of CreateOptions, and each later one the next
// number; 0 is no position. A
// number is used again only after a crash has cut off its record, which at level
// Power was never acknowledged.
type Position uint64

// MaxRecord is the maximum length of a record in bytes: 16 MiB less one.
const MaxRecord = 1<<24 - 1

// A Mechanism is the way a log makes bytes durable. All mechanisms promise the
// same.
type Mechanism string

const (
	// SyncAuto takes the mechanism of Options.Profile if there is one. Else Open
	// measures the others on the disk and takes the fastest.
	SyncAuto Mechanism = ""
	// SyncFdatasync is pwrite(2), then fdatasync(2).
	SyncFdatasync Mechanism = "fdatasync"
	// SyncDsync is pwritev2(2) with RWF_DSYNC: one call, and one command on a
	// device with FUA.
	SyncDsync Mechanism = "dsync"
	// SyncDirect is SyncDsync of whole blocks past the page cache (O_DIRECT).
	// A Reader that follows the log then reads from the disk.
	SyncDirect Mechanism = "direct"
)

// Options are the settings of a log. The zero value is safe: level Power.
type Options struct {
	// Level is what an acknowledged record survives. The default is Power.
	//
	// At Kill a record is in the page cache when it is acknowledged. At None it
	// is in memory, and written once the buffer is half full (64 KiB, or half of
	// MaxBatch if that is less) or a Reader asks for it. At both levels only
	// Sync, SyncEvery, Close, TruncateBefore and the change to a new segment
	// sync; a power cut loses the end of the log, never a part within it.
	Level durability.Level
	// SyncEvery, below level Power, is the interval between syncs: the longest
	// time that a record stays unsynced. The default, 0, is forever.
	SyncEvery time.Duration

	// SegmentSize is the size of a segment in bytes, a multiple of 4,096 from
	// 64 KiB to 1 GiB. The default, 0, is 64 MiB. A record has at most a quarter
	// of it. A log with segments of another size opens as well; new segments get
	// this size.
	SegmentSize int64
	// Spares is the number of segments prepared ahead of use, recycled ones if
	// TruncateBefore has freed any. The default, 0, is 1. Each takes SegmentSize
	// on the disk.
	Spares int

	// MaxDelay is how long a flush waits for more records after the first, to
	// save syncs. The default, 0, is not to wait: a flush takes the records that
	// came during the one before.
	MaxDelay time.Duration
	// MaxBatch is the most bytes of records that one write takes, from 4 KiB to
	// 64 MiB; a single longer record is written alone. The default, 0, is 1 MiB.
	// It bounds the memory of the log to about three times as much: two waiting
	// in AppendAsync, one being written.
	MaxBatch int
	// Queue is the most appends that wait at once, up to 1<<20. Further ones
	// block. The default, 0, is 4,096.
	Queue int

	// Sync is how appends are made durable at level Power. The default is
	// SyncAuto. Open refuses a mechanism that the file system does not have, and
	// below level Power any but SyncFdatasync.
	Sync Mechanism
	// Profile, unless nil, sets the fields that are zero here: SegmentSize, and
	// at level Power Sync and MaxDelay. If the file system does not have the
	// profile's mechanism, as it is of another disk, Sync is SyncAuto.
	Profile *profile.Profile

	// LazyVerify makes Open verify the checksums of the last segment only; those
	// of the others are verified when they are read. Prepared segments, of which
	// Open then reads the headers, are not searched for records either. By default Open verifies
	// every record, at more than 1 GiB/s from the page cache.
	LazyVerify bool

	// SaveTorn, unless nil, is called by Open if it finds a torn tail, before it
	// changes anything. r reads the bytes that are about to be overwritten with
	// zeros, during the call only. Open fails with its error, and has changed
	// nothing then. After a crash before the end of Open, the next one may call it
	// again, with a part of the bytes zeros already: keep the first copy.
	SaveTorn func(t TornTail, r io.Reader) error
	// SetAside, unless nil, is called by Open for each prepared segment that is
	// damaged and was never used, before Open removes the file: it may link it
	// elsewhere, copy or move it. Open fails with its error. After a crash or an
	// error the next Open may call it again for the same file.
	SetAside func(path string) error

	advised bool // Sync is the profile's
}

// fill returns o with defaults in place of zeros, or an error for a value that
// is out of range.
func (o Options) fill() (Options, error) {
	if p := o.Profile; p != nil {
		if o.Level == durability.Power { // below, no sync is saved by waiting
			if o.Sync == SyncAuto {
				o.Sync, o.advised = Mechanism(p.WAL.Sync), true
			}
			o.MaxDelay = cmp.Or(o.MaxDelay, p.WAL.MaxDelay)
		}
		o.SegmentSize = cmp.Or(o.SegmentSize, p.WAL.SegmentSize)
	}
	o.SegmentSize = cmp.Or(o.SegmentSize, defaultSegmentSize)
	o.Spares = cmp.Or(o.Spares, 1)
	o.MaxBatch = cmp.Or(o.MaxBatch, 1<<20)
	o.Queue = cmp.Or(o.Queue, 4096)

	return o, cmp.Or(
		o.checkLevel(),
		o.checkSegmentSize(),
		setting.AtLeast("wal: Options.Spares", o.Spares, 0),
		setting.AtLeast("wal: Options.MaxDelay", o.MaxDelay, 0),
		setting.InRange("wal: Options.MaxBatch", setting.Bytes(o.MaxBatch), 4<<10, 64<<20),
		setting.InRange("wal: Options.Queue", o.Queue, 1, 1<<20),
		o.checkSync(),
	)
}

func (o *Options) checkLevel() error {
	switch {
	case o.Level > durability.None:
		return setting.Wrong("wal: Options.Level", o.Level, "power, kill or none")
	case o.SyncEvery > 0 && o.Level == durability.Power:
		return setting.Wrong("wal: Options.SyncEvery", o.SyncEvery, "0s at level power, where each append syncs")
	}
	return setting.AtLeast("wal: Options.SyncEvery", o.SyncEvery, 0)
}

func (o *Options) checkSegmentSize() error {
	if o.SegmentSize < minSegmentSize || o.SegmentSize > maxSegmentSize || o.SegmentSize%firstOffset != 0 {
		return setting.Wrong("wal: Options.SegmentSize", setting.Bytes(o.SegmentSize), "a multiple of %d from %d to %d", firstOffset, minSegmentSize, maxSegmentSize)
	}
	return nil
}

func (o *Options) checkSync() error {
	switch o.Sync {
	case SyncAuto, SyncFdatasync:
		return nil
	case SyncDsync, SyncDirect:
		if o.Level == durability.Power {
			return nil
		}
		return setting.Wrong("wal: Options.Sync", string(o.Sync), "%q or \"\" at level %v", SyncFdatasync, o.Level)
	}
	return setting.Wrong("wal: Options.Sync", string(o.Sync), `%q, %q, %q or ""`, SyncFdatasync, SyncDsync, SyncDirect)
}

// A Record is a record of the log. Data is valid until the next call of the
// Reader that returned it.
type Record struct {
	Position Position
	Data     []byte
}
