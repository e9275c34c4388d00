package fileio

import (
	"fmt"
	"time"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/setting"
)

// A Policy says when a Writer makes durable what was written. The zero value
// is OnCommit.
//
//	policy            a Write that returned      Commit
//	OnCommit          none                       power
//	EachWrite         power                      power
//	EveryBytes(n)     none, but for all that     power
//	                  lies n bytes back: power
//	EveryInterval(d)  none; power after d and    power
//	                  the time of a sync
//	Never             none                       kill
//
// none, kill and power are durability.Levels: bytes in the Writer's buffer die
// with the process, and go to the kernel when the buffer is full, or by Flush.
// Sync, and Close unless the policy is Never, make everything durable.
//
// What a crash in the middle leaves is durability.Torn: any part of what was
// written since the last sync may be there. With SyncRange in the place of a
// sync, power is never reached, see Mechanism.
type Policy struct {
	when  when
	bytes int64
	every time.Duration
}

type when uint8

const (
	onCommit when = iota
	eachWrite
	everyBytes
	everyInterval
	never
)

// OnCommit makes durable what was written when Commit is called.
func OnCommit() Policy { return Policy{} }

// EachWrite makes each Write durable before it returns. It goes to the kernel
// without being copied to the buffer.
func EachWrite() Policy { return Policy{when: eachWrite} }

// EveryBytes makes all durable in the Write with which n bytes, 1 or more, are
// not yet.
func EveryBytes(n int64) Policy { return Policy{when: everyBytes, bytes: n} }

// EveryInterval makes all durable no later than d after the first Write since
// the last time, by a goroutine that is there only while something is to be
// made durable. Writes go on meanwhile. A failure is the error of every later
// call.
func EveryInterval(d time.Duration) Policy { return Policy{when: everyInterval, every: d} }

// Never leaves it to Sync.
func Never() Policy { return Policy{when: never} }

// String returns, for example, "every 1048576 bytes".
func (p Policy) String() string {
	switch p.when {
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
	case p.when == everyBytes && p.bytes < 1:
		return setting.Wrong("fileio: WriterOptions.Policy", p, "every 1 byte or more")
	case p.when == everyInterval && p.every <= 0:
		return setting.Wrong("fileio: WriterOptions.Policy", p, "an interval above 0s")
	}
	return nil
}

// due reports whether a Write must make all durable with which unsynced bytes
// are not.
func (p Policy) due(unsynced int64) bool {
	return p.when == eachWrite && unsynced > 0 || p.when == everyBytes && unsynced >= p.bytes
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
// Size and blocks are the metadata that is needed to read the data:
// fdatasync(2) and O_DSYNC, "synchronized I/O data integrity completion", in
// fsync(2) and open(2). Emptied: or written through, by a flush or FUA
// (blkdev_issue_flush in ext4_sync_file, xfs_file_fsync). The name needs an
// fsync of the folder (fsync(2), NOTES), though ext4, XFS and btrfs make that
// of a new file durable too: package newfile and package atomicfile see to it.
//
// After a sync that failed the Writer refuses everything: the kernel has
// marked the pages clean that it could not write, so that the next sync would
// report success and the bytes be gone (fsync(2), EIO; Rebello et al., "Can
// Applications Recover from fsync Failures?", USENIX ATC 2020).
type Mechanism string

const (
	// SyncAuto is what WriterOptions.Profile found fastest, else SyncFdatasync;
	// never SyncRange, which promises less.
	SyncAuto Mechanism = ""
	// SyncFdatasync is fdatasync(2).
	SyncFdatasync Mechanism = "fdatasync"
	// SyncFsync is fsync(2).
	SyncFsync Mechanism = "fsync"
	// SyncDsync has the write itself be durable (pwritev2(2) with RWF_DSYNC)
	// where one write holds all that is not durable, so that a commit is one
	// call, and is fdatasync(2) elsewhere, as the flag is about the bytes of
	// that write only: so the first commit of a Writer that does not begin at
	// offset 0 is fdatasync(2) too. Where the file system does not know the
	// flag, it is SyncFdatasync; Stats tells.
	SyncDsync Mechanism = "dsync"
	// SyncODsync opens the file once more with O_DSYNC, unless it was opened
	// so, and has no calls to sync: every write to the kernel is durable,
	// whatever the policy, also one that a full buffer causes. A Writer that
	// does not begin at offset 0 has one fdatasync(2), at its first commit. It
	// needs /proc.
	SyncODsync Mechanism = "o_dsync"
	// SyncRange is sync_file_range(2), which sends the data to the device and
	// waits for its answer, and nothing else. It bounds how much is dirty,
	// and makes nothing durable: neither the size of the file nor where its
	// blocks are is written, nor is the device told to empty its cache
	// (sync_file_range(2), "Warning"). Its promise is Kill.
	SyncRange Mechanism = "sync_file_range"
)

func mechanisms() []Mechanism {
	return []Mechanism{SyncFdatasync, SyncFsync, SyncDsync, SyncODsync, SyncRange}
}

// promises tells what a writer with these settings promises once Write has
// returned, and once Commit has.
func (p Policy) promises(m Mechanism) (write, commit durability.Promise) {
	durable := durability.Power
	if m == SyncRange {
		durable = durability.Kill
	}
	write = durability.Promise{Level: durability.None, After: durability.Torn}
	commit = durability.Promise{Level: durable, After: durability.Torn}
	switch p.when {
	case eachWrite:
		write.Level = durable
	case never:
		commit.Level = durability.Kill
	}
	return write, commit
}
