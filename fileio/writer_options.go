package fileio

import (
	"cmp"
	"errors"
	"runtime"
	"slices"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/profile"
)

// The default size of a Writer's buffer, in bytes. Measured on ext4 of Linux 6.18
// with BenchmarkWriter: through the page cache 64 KiB to 256 KiB take the same time
// and 1 MiB a fifth longer; past it, 1 MiB takes half the time of 64 KiB.
const (
	DefaultWriteBuffer  = 128 << 10
	DefaultDirectBuffer = 1 << 20 // with the way Direct
)

// maxWriteBuffer is the largest buffer, in bytes; a larger one is taken for a mistake.
const maxWriteBuffer = 1 << 30

// WriterOptions are the settings of a Writer. The zero value is the safe one: once
// Commit has returned nil, everything written before survives a power cut.
type WriterOptions struct {
	// Way is how bytes go to the file.
	//
	// Auto, the default, is the profile's way, else Buffered. Mapped is an error.
	//
	// Direct writes whole blocks past the page cache (O_DIRECT), with memory and
	// offsets aligned as statx(2) requires, and to 4,096 bytes at least. Parts of
	// blocks, at the first offset and after the last whole block, go through the
	// page cache, and are written again past it once their block is whole: so a
	// crash never shows padding, and because a sector is written whole or not at
	// all, no durable byte is lost. Each flush waits for the device, so a stream
	// takes about twice the time of Buffered with a sync at its end: use Direct to
	// leave the page cache to others. It opens the file again through /proc. If
	// direct I/O is unavailable, NewWriter fails with errors.ErrUnsupported, or
	// falls back to Buffered if the profile chose Direct.
	//
	// Uncached writes through the page cache and drops the pages afterwards
	// (RWF_DONTCACHE). If kernel or file system do not support that, the first
	// write falls back to Buffered; see Stats.
	Way Way
	// BufferSize is the size of the buffer in bytes, rounded up to a multiple of
	// 4,096. 0 is the profile's size, else DefaultWriteBuffer or
	// DefaultDirectBuffer. A Write of that size or more goes to the kernel without
	// a copy, in one call with the buffered bytes; with Direct only if its memory is
	// an AlignedBuffer and it begins at a block.
	BufferSize int
	// Policy says when bytes are made durable. The default is OnCommit.
	Policy Policy
	// Sync says how bytes are made durable. The default is SyncAuto.
	Sync Mechanism
	// Preallocate allocates space ahead of the writes in steps of so many bytes
	// (FALLOC_FL_KEEP_SIZE), so that a file that grows slowly beside others is not
	// fragmented. Close frees unused space; after a crash it stays allocated to the
	// file, beyond its end. 0 allocates nothing. If allocation fails, the Writer continues
	// without; see Stats.
	Preallocate int64
	// Profile, unless nil, is a measured profile of the disk, used for Way,
	// BufferSize and Sync if they are not set.
	Profile *profile.Profile
	// Trace, unless nil, is called after each system call of the Writer, not after
	// each Write. It must not call the Writer. A goroutine that writes and one that
	// syncs may call it at once.
	Trace func(Op)
}

// applyProfile sets way, buffer size and mechanism from the profile, if the options do
// not.
func (w *Writer) applyProfile(p *profile.Profile) (err error) {
	if p == nil {
		p = &profile.Profile{}
	}
	if w.way == Auto {
		w.bufSize = cmp.Or(w.bufSize, p.Write.BufferSize) // measured with the profile's way
		w.way = Buffered
		if p.Write.Way != "" {
			if w.way, err = ParseWay(p.Write.Way); err != nil {
				return setting.Wrong("fileio: WriterOptions.Profile.Write.Way", p.Write.Way, "one of %q", wayNames)
			}
		}
	}
	if w.sync == SyncAuto {
		w.sync = cmp.Or(Mechanism(p.Write.Sync), SyncFdatasync)
		// The fastest mechanism must not weaken the promise, nor contradict the
		// policy.
		if w.sync == SyncRange || w.policy.kind == never {
			w.sync = SyncFdatasync
		}
	}
	return nil
}

func (w *Writer) checkSettings() error {
	switch {
	case w.bufSize < 0 || w.bufSize > maxWriteBuffer:
		return setting.Wrong("fileio: WriterOptions.BufferSize", setting.Bytes(w.bufSize), "0 (the default) to %d bytes", maxWriteBuffer)
	case w.preallocStep < 0:
		return setting.Wrong("fileio: WriterOptions.Preallocate", setting.Bytes(w.preallocStep), "0 (none) or more")
	case w.way != Buffered && w.way != Direct && w.way != Uncached:
		return setting.Wrong("fileio: WriterOptions.Way", w.way, "Auto, Buffered, Direct or Uncached")
	case w.policy.kind == never && w.sync == SyncODsync:
		return setting.Wrong("fileio: WriterOptions.Sync", w.sync, "another mechanism with the policy Never: this one makes every write durable")
	case w.sync == SyncRange && runtime.GOOS != "linux":
		return setting.Refused(errors.ErrUnsupported, "fileio: WriterOptions.Sync", w.sync, "another mechanism on %s", runtime.GOOS)
	case !slices.Contains(mechanisms(), w.sync):
		return setting.Wrong("fileio: WriterOptions.Sync", string(w.sync), "one of %q", mechanisms())
	}
	return w.policy.check()
}
