package fileio

import (
	"fmt"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
)

// A Policy says when a Writer makes written bytes durable. The zero value is
// OnCommit. What survives:
//
//	policy            once Write has returned    once Commit has
//	OnCommit          none                       power
//	EachWrite         power                      power
//	EveryBytes(n)     none; power for all but    power
//	                  the last n bytes
//	EveryInterval(d)  none; power after d and    power
//	                  the time of a sync
//	Never             none                       kill
//
// none, kill and power are durability.Levels: bytes in the Writer's buffer are lost
// when the process exits, and go to the kernel when the buffer is full, or by Flush.
// Sync, and Close unless the policy is Never, make everything durable.
//
// A crash in the middle leaves durability.Torn: any part of the bytes written since
// the last sync. With the mechanism SyncRange, power is never reached; see
// Mechanism.
type Policy struct {
	kind  policyKind
	bytes int64
	every time.Duration
}

type policyKind uint8

const (
	onCommit policyKind = iota
	eachWrite
	everyBytes
	everyInterval
	never
)

// OnCommit makes all written bytes durable in Commit.
func OnCommit() Policy { return Policy{} }

// EachWrite makes each Write durable before it returns, without a copy to the buffer.
func EachWrite() Policy { return Policy{kind: eachWrite} }

// EveryBytes makes all bytes durable in the Write that brings those not yet durable to
// n, 1 or more.
func EveryBytes(n int64) Policy { return Policy{kind: everyBytes, bytes: n} }

// EveryInterval begins a sync no later than d, above 0, after the first Write since
// the last one, in a goroutine that exists only while there is something to sync.
// Writes continue during the sync. If it fails, every later call returns the error.
func EveryInterval(d time.Duration) Policy { return Policy{kind: everyInterval, every: d} }

// Never makes bytes durable only in Sync.
func Never() Policy { return Policy{kind: never} }

// String returns, for example, "every 1048576 bytes".
func (p Policy) String() string {
	switch p.kind {
	case onCommit:
		return "on commit"
	case eachWrite:
		return "each write"
	case everyBytes:
		return fmt.Sprintf("every %d bytes", p.bytes)
	case everyInterval:
		return fmt.Sprintf("every %v", p.every)
	}
	return "never"
}

func (p Policy) check() error {
	switch {
	case p.kind == everyBytes && p.bytes < 1:
		return setting.Wrong("fileio: WriterOptions.Policy", p, "every 1 byte or more")
	case p.kind == everyInterval && p.every <= 0:
		return setting.Wrong("fileio: WriterOptions.Policy", p, "an interval above 0s")
	}
	return nil
}

// due reports whether a Write that leaves unsynced bytes not durable must sync.
func (p Policy) due(unsynced int64) bool {
	return p.kind == eachWrite && unsynced > 0 || p.kind == everyBytes && unsynced >= p.bytes
}

// A Mechanism is how a Writer makes bytes durable.
//
//	mechanism      data  size and  times,  device's  file's
//	                     blocks    mode    cache     name
//	SyncFdatasync  yes   yes       no      emptied   no
//	SyncFsync      yes   yes       yes     emptied   no
//	SyncDsync      yes   yes       no      emptied   no
//	SyncODsync     yes   yes       no      emptied   no
//	SyncRange      sent  no        no      no        no
//
// Size and blocks are the metadata needed to read the data: fdatasync(2) and
// O_DSYNC, "synchronized I/O data integrity completion", in fsync(2) and open(2).
// Emptied means flushed or written through with FUA (blkdev_issue_flush in
// ext4_sync_file, xfs_file_fsync). The name needs an fsync of the directory (fsync(2),
// NOTES), though ext4, XFS and btrfs make that of a new file durable too; package
// newfile and package atomicfile do it.
//
// After a failed sync every call of the Writer fails: the kernel has marked the pages
// clean that it could not write, so the next sync would succeed although the bytes
// are lost (fsync(2), EIO; Rebello et al., "Can Applications Recover from fsync
// Failures?", USENIX ATC 2020).
type Mechanism string

const (
	// SyncAuto is the fastest mechanism of WriterOptions.Profile, else
	// SyncFdatasync. It is never SyncRange, which promises less.
	SyncAuto Mechanism = ""
	// SyncFdatasync is fdatasync(2).
	SyncFdatasync Mechanism = "fdatasync"
	// SyncFsync is fsync(2).
	SyncFsync Mechanism = "fsync"
	// SyncDsync makes the write itself durable (pwritev2(2) with RWF_DSYNC), so
	// that a commit is one call, if one write holds all bytes that are not durable.
	// Otherwise it is fdatasync(2), because the flag covers the bytes of that write
	// only; so the first commit of a Writer that does not begin at offset 0 is
	// fdatasync(2) too. On file systems without the flag it is SyncFdatasync; see
	// Stats.
	SyncDsync Mechanism = "dsync"
	// SyncODsync opens the file again with O_DSYNC, unless it was opened so, and
	// makes no calls to sync: every write to the kernel is durable, whatever the
	// policy, also one caused by a full buffer. A Writer that does not begin at
	// offset 0 makes one fdatasync(2), at its first commit. It needs /proc.
	SyncODsync Mechanism = "o_dsync"
	// SyncRange is sync_file_range(2), which only sends the data to the device and
	// waits for its answer. It bounds the dirty bytes and makes nothing durable: it
	// writes neither the file's size nor the location of its blocks, nor does it
	// flush the device's cache (sync_file_range(2), "Warning"). It promises Kill.
	SyncRange Mechanism = "sync_file_range"
)

func mechanisms() []Mechanism {
	return []Mechanism{SyncFdatasync, SyncFsync, SyncDsync, SyncODsync, SyncRange}
}

// promises returns what a Writer with policy p and mechanism m promises once Write
// has returned, and once Commit has.
func (p Policy) promises(m Mechanism) (write, commit durability.Promise) {
	durable := durability.Power
	if m == SyncRange {
		durable = durability.Kill
	}
	write = durability.Promise{Level: durability.None, After: durability.Torn}
	commit = durability.Promise{Level: durable, After: durability.Torn}
	switch p.kind {
	case eachWrite:
		write.Level = durable
	case never:
		commit.Level = durability.Kill
	}
	return write, commit
}
