// Package fileio reads and writes files in the way that suits them: through the
// page cache, from a mapping, past the page cache, or through it without leaving
// pages behind.
//
// [Open] and [NewReader] return a [Reader], which reads like an os.File and is an
// fs.File; [Reader.View] gives access to the mapping without a copy. [Options.Root]
// confines Open to a directory. [NewWriter] returns a [Writer] with a buffer and a
// [Policy] that says when bytes are made durable, and what survives. [Copy] and
// [CopyN] copy files, in the kernel where it can.
//
// [Reader.Stats] and [Writer.Stats] return the latencies of reads, writes to the
// kernel, syncs and commits, to be monitored in production. Options.Trace and
// WriterOptions.Trace are called for each operation; package fileio/otelio turns
// them into spans. Package fileio/pace limits a reader or a writer to the rate of a
// volume.
//
// # Ways to read
//
//	way       how                          differs from the others
//	Buffered  pread(2)                     always available
//	Mapped    mmap(2)                      View does not copy; maps the file as it was at Open, and reads what was appended by pread(2)
//	Direct    O_DIRECT                     leaves nothing in the page cache, reads nothing ahead; see below
//	Uncached  preadv2(2), RWF_DONTCACHE    leaves the page cache as it was; Linux 6.14, and not on all file systems
//
// All ways give the same results, with one exception: reading a mapping whose file
// was truncated fails with [ErrTruncated], where the others return io.EOF. A page
// fault in a mapping blocks a processor of the Go scheduler as long as the disk
// takes, so a mapping is for files that are in memory or soon will be.
//
// Direct reads are aligned as statx(2) requires (STATX_DIOALIGN). An aligned
// request, in aligned memory ([AlignedBuffer]), goes to the kernel unchanged; any
// other is read in whole blocks into pooled memory and copied. For small, unaligned
// requests Buffered is faster.
//
// Off Linux everything is Buffered, and any other way is errors.ErrUnsupported.
//
// # The way that Auto takes
//
//	Options.Pattern  file                                           way
//	Random           1 MiB or more, and up to half of free memory   Mapped
//	Sequential       more than half of free memory                  Uncached, or Buffered if that is unavailable
//	otherwise                                                       Buffered
//
// A way named in Options.Profile takes precedence, except a mapping that would not
// fit. Free memory is the system's available memory, or the rest of the limit of the
// process's control groups if that is less. Finding it out takes about 50 us, spent
// only on files of 1 MiB and more with one of the two patterns.
//
// The rules come from measurements (Linux 6.18, ext4, 2 processors): 4 KiB from a
// warm mapping of 1 GiB take 0.67x of pread's time, with every byte touched; the
// mapping, its page faults and the unmapping pay off after 60 such reads of a file of
// 1 MiB, after 150 of one of 16 MiB. Warm sequential reads take the same time in all
// ways that use the page cache, and cold ones 1.5x as long with Uncached: that is for
// files that would evict others.
//
// # Readahead
//
// The kernel reads ahead only for forward readers. With ReadaheadAuto a Reader
// watches the offsets of Read, ReadAt and View, and finds up to four streams among
// them. For streams that go backward or in equal strides it reads a window ahead by
// POSIX_FADV_WILLNEED: 32 KiB at first, doubled each time that half of it was used, up
// to 2 MiB, and no more than the reader consumes in 20 ms. It does not ask for bytes
// that are in the page cache, which cachestat(2) tells, and a non-blocking read
// (RWF_NOWAIT) where the kernel is older than 6.5, or the file is on an overlay, or
// neither owned nor writable. For random offsets it turns the kernel's readahead off
// (POSIX_FADV_RANDOM, and MADV_RANDOM in a mapping, where each page fault would read
// 128 KiB and more). If more of the bytes read ahead are wasted than used, as with
// short runs, it pauses, longer each time, until readahead pays again. [Reader.Stats]
// reports the pattern found and the use of the bytes. A request that is not examined
// costs 3 ns, of the 570 that 4 KiB from the page cache take.
//
// Times relative to the kernel's default, both from the same run on a journaled ext4
// image, medians of 41 pairs (STELE_LONG=1 go test -run TestReadaheadBars/ext4 -v):
//
//	4 KiB backward, cold                    0.10x
//	64 KiB backward, cold                   0.33x
//	64 KiB backward, mapped, cold           0.87x
//	4 KiB every 64 KiB, cold                0.24x
//	16 KiB every 1 MiB, cold                0.31x
//	4 KiB at random, mapped, cold           0.35x
//	4 KiB at random, half of them cached    0.95x
//	all others, warm ones too               0.97x to 1.03x; short runs in strides 1.07x
//
// The random reads with half of the file cached read a quarter of the bytes from disk
// that the kernel's default read.
//
// Forward readers are left to the kernel: WILLNEED reads into single pages, the
// kernel's own readahead into large folios, and windows of this package took 1.7x to
// 2.7x as long. A number of bytes in Options.Readahead, which is kept ahead of
// forward readers too, is for disks with a latency that the kernel's readahead does
// not cover. A goroutine of its own for the readahead made no measurable difference.
//
// # Files that change
//
// A Reader does not lock the file. It may or may not see bytes that are written at
// the same time, as with read(2); Read sees them when it fills its buffer next. Reads
// reach data appended since Open. If a mapped file is truncated, touching the pages
// beyond its new end raises a signal (SIGBUS), which ends a Go process; in Read,
// ReadAt, WriteTo and View it becomes an error (debug.SetPanicOnFault). The rest of
// the last page reads as zeros, without an error: to tell zeros from content, use a
// checksum, or compare Size.
//
// If the source of a copy is truncated during the copy, the error is [ErrTruncated],
// from Reader.WriteTo, if it is mapped, and from Copy and CopyN. The target has the
// bytes that there were, and a Writer can be used further.
//
// # Mistakes to avoid
//
//   - Relying on a Write that returned with the policies OnCommit, EveryBytes and
//     EveryInterval: its bytes may be in the Writer's buffer only. Never needs a
//     Flush, Commit or Close before the process exits.
//   - Using a Writer after a failed Sync or Commit, or another one on the same file:
//     the next sync may succeed without the lost bytes.
//   - Forgetting the name: no sync of a Writer makes the name of a new file durable.
//     See package newfile and package atomicfile.
//   - Keeping memory of a View after f has returned, or passing it to another
//     goroutine: a truncation of the file ends the process there.
//   - Closing the file before its Writer, or ignoring the error of either Close. With
//     Preallocate, Writer.Close frees the space that was not used.
//   - Opening a file that others may replace without Options.Root: Open then follows
//     symlinks.
package fileio
