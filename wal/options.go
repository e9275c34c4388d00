package wal

import (
	"cmp"
	"fmt"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/profile"
)

// A Position is the place of a record in the log: a sequence number. The first
// record of a log is 1, each other one is one more than that before it. A
// number is not used again, but for those of records that a crash has cut off,
// which at level Power nobody was told of. 0 is no position.
type Position uint64

// MaxRecord is the most bytes a record may have: 16 MiB less one.
const MaxRecord = 1<<24 - 1

// Mechanism is how a log makes bytes durable. All of them promise the same.
type Mechanism string

const (
	// SyncAuto measures the others on the disk when the log is opened, unless
	// Options.Profile says which to take, and takes the fastest.
	SyncAuto Mechanism = ""
	// SyncFdatasync is pwrite(2), then fdatasync(2).
	SyncFdatasync Mechanism = "fdatasync"
	// SyncDsync is pwritev2(2) with RWF_DSYNC: one call, and where the device
	// can (FUA) one command.
	SyncDsync Mechanism = "dsync"
	// SyncDirect is SyncDsync of whole blocks past the page cache (O_DIRECT).
	// A reader that follows the log then reads from the disk.
	SyncDirect Mechanism = "direct"
)

// Options are the settings of a log. The zero value is the safe one.
type Options struct {
	// Level is what an acknowledged record survives. The default is Power.
	//
	// At Kill nothing is synced but by Sync, Close, TruncateBefore, and every
	// SyncEvery. At None records are kept in memory until 64 KiB of them wait,
	// or half of MaxBatch, or one of these comes, or a Reader does. What is
	// lost by a power cut is then the end of the log, never a part within it.
	Level durability.Level
	// SyncEvery, at levels below Power, is how long a record may wait to be
	// made durable all the same. The default, 0, is for ever.
	SyncEvery time.Duration

	// SegmentSize is how many bytes a file of the log has, in bytes, a
	// multiple of 4,096 from 64 KiB to 1 GiB. 0 is 64 MiB. A record must fit:
	// it may be a quarter of it at most. Logs of another size are opened all
	// the same; new segments get this one.
	SegmentSize int64
	// Spares is how many files are kept ready ahead of use, recycled where
	// TruncateBefore has freed some. 0 is 1; they take their whole room.
	Spares int

	// MaxDelay is how long a flush may wait for more records once one is
	// there, for fewer syncs. The default, 0, is not to wait at all: a flush
	// takes what came while the one before it was under way.
	MaxDelay time.Duration
	// MaxBatch is how many bytes of records are written at once, at most, but
	// for a single record that is longer: from 4 KiB to 64 MiB. 0 is 1 MiB. It
	// bounds the memory of the log to about three times that: twice as much
	// may wait in AppendAsync, and one is being written.
	MaxBatch int
	// Queue is how many appends may wait at once; one that comes then waits
	// for a place. 0 is 4,096; the most is 1 << 20.
	Queue int

	// Sync is how appends are made durable at level Power. The default is
	// SyncAuto. What the file system cannot do is refused by Open. Below Power
	// nothing else than fdatasync(2) is of use, and any other is refused.
	Sync Mechanism
	// Profile, unless nil, is used for what is not set here: for SegmentSize,
	// and at level Power for Sync and MaxDelay. A mechanism that cannot be had
	// here, as the profile is of another disk, leaves it to SyncAuto.
	Profile *profile.Profile

	// LazyVerify leaves the checksums of all but the last segment to those who
	// read them. The default is to verify every record on Open, at more than
	// 1 GiB/s from the page cache.
	LazyVerify bool

	advised bool // Sync is the profile's
}

// fill returns o with every default in place of a zero, or says what is out of
// range.
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

	bad := func(field, why string, args ...any) (Options, error) {
		return o, fmt.Errorf("wal: Options.%s: "+why, append([]any{field}, args...)...)
	}
	switch {
	case o.Level > durability.None:
		return bad("Level", "%v; want power, kill or none", o.Level)
	case o.SyncEvery < 0 || o.SyncEvery > 0 && o.Level == durability.Power:
		return bad("SyncEvery", "%v at level %v; want 0, or more at a level below power", o.SyncEvery, o.Level)
	case o.SegmentSize < minSegmentSize || o.SegmentSize > maxSegmentSize || o.SegmentSize%firstOffset != 0:
		return bad("SegmentSize", "%d bytes; want a multiple of 4096 from %d to %d", o.SegmentSize, minSegmentSize, maxSegmentSize)
	case o.Spares < 0:
		return bad("Spares", "%d; want 0 (one) or more", o.Spares)
	case o.MaxDelay < 0:
		return bad("MaxDelay", "%v; want 0 or more", o.MaxDelay)
	case o.MaxBatch < 4<<10 || o.MaxBatch > 64<<20:
		return bad("MaxBatch", "%d bytes; want 4 KiB to 64 MiB", o.MaxBatch)
	case o.Queue < 1 || o.Queue > 1<<20:
		return bad("Queue", "%d; want 1 to %d", o.Queue, 1<<20)
	}
	switch o.Sync {
	case SyncAuto, SyncFdatasync:
	case SyncDsync, SyncDirect:
		if o.Level != durability.Power {
			return bad("Sync", "%q at level %v; want %q below level power", o.Sync, o.Level, SyncFdatasync)
		}
	default:
		return bad("Sync", "%q; want %q, %q, %q or \"\"", o.Sync, SyncFdatasync, SyncDsync, SyncDirect)
	}
	return o, nil
}

// A Record is a record of the log. Data is valid until the next call of the
// reader that returned it.
type Record struct {
	Position Position
	Data     []byte
}
