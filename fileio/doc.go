// Package fileio reads and writes files by the way that suits them: through the
// page cache, from a mapping, past the page cache, or through it and leaving
// nothing behind.
//
// [Open] and [NewReader] return a [Reader], which reads as an os.File does and is
// an fs.File; [Reader.View] gives memory of the mapping without a copy.
// [Options.Root] confines Open to what is below a folder. [NewWriter] returns a
// [Writer] with a buffer and a [Policy] that says when bytes are made durable;
// what survives what stands there. [Copy] and [CopyN] copy files in the kernel
// where it can.
//
// [Reader.Stats] and [Writer.Stats] hold the latencies of reads, writes to the
// kernel, syncs and commits, to be watched in production.
// Options.Trace and WriterOptions.Trace are told of each operation; package
// fileio/otelio makes spans of them. Package fileio/pace limits a reader or a
// writer to the rate of a volume.
//
// # Ways to read
//
//	way       how                          unlike the others
//	Buffered  pread(2)                     the way that is always there
//	Mapped    mmap(2)                      a View is no copy; sees the file as it was at Open, what came later by pread(2)
//	Direct    O_DIRECT                     nothing in the page cache, nothing read ahead; see below
//	Uncached  preadv2(2), RWF_DONTCACHE    the page cache is as it was before; Linux 6.14, and not all file systems
//
// The results are the same by all of them but in one case: a mapping whose
// file is truncated by somebody is [ErrTruncated], where the others return
// io.EOF. A page fault in a mapping takes its processor from the Go scheduler
// as long as the disk takes, so a mapping is for what is in memory or soon is.
//
// Direct reads are aligned as statx(2) says (STATX_DIOALIGN). A request that is
// aligned, in memory too ([AlignedBuffer]), goes to the kernel as it is; another
// is read in whole blocks into pooled memory, and copied. A Reader whose
// requests are all at once small and unaligned is better off with Buffered.
//
// Outside of Linux all is Buffered, and another way is errors.ErrUnsupported.
//
// # What Auto takes
//
//	Options.Pattern  file                                           way
//	Random           1 MiB or more, and up to half of free memory   Mapped
//	Sequential       more than half of free memory                  Uncached, or Buffered where there is none
//	else                                                            Buffered
//
// A way in Options.Profile is taken instead, but for a mapping that would not
// fit. Free memory is what the system calls available, or what the process's
// control groups leave if that is less; it takes some 50 us to find out, which
// are spent on files of 1 MiB and more with one of the two patterns only.
//
// The rules were measured (Linux 6.18, ext4, 2 processors): 4 KiB from a warm
// mapping of 1 GiB take 0.67x of pread's time, with every byte touched; mapping,
// page faults and unmapping are paid back after 60 such reads of a file of 1 MiB,
// after 150 of one of 16 MiB. Warm sequential reads take the same by all ways that
// use the page cache, and cold ones 1.5x as long Uncached: so that is for
// files that would push out others.
//
// # Readahead
//
// The kernel reads ahead of who goes forward, and of nobody else. With
// ReadaheadAuto a Reader watches the offsets of Read, ReadAt and View, and finds up
// to four streams among them. Ahead of those that go backward or in equal
// strides it keeps a window, by POSIX_FADV_WILLNEED: from 32 KiB, doubled each
// time that half of it was used, to 2 MiB, and not more than the reader takes
// in 20 ms. Bytes that are in the page cache already are not asked for: one read
// that may not wait (RWF_NOWAIT) tells. Where offsets are random, the kernel's
// readahead is turned off (POSIX_FADV_RANDOM, and MADV_RANDOM in a mapping, where
// each page fault would read 128 KiB and more). Where more of what was read ahead
// is wasted than used, as with runs that are short, nothing is for a while,
// which gets longer until it is of use again. [Reader.Stats] tells what was
// found and what became of the bytes. A request that is not looked at more
// closely costs 3 ns, of the 570 that 4 KiB from the page cache take.
//
// Times of that beside the kernel's default, both from the same run, on a
// journaled ext4 image, medians of 41 pairs (STELE_LONG=1 go test -run
// TestReadaheadBars/ext4 -v):
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
// Of the random reads where half was cached, a quarter of the bytes came from
// the disk that came by the kernel's default.
//
// What goes forward stays the kernel's: WILLNEED reads into single pages, the
// kernel's own readahead into large folios, and windows of ours took 1.7x to
// 2.7x as long. So a number of bytes in Options.Readahead, which is kept ahead
// of forward readers too, is for disks with a latency that the kernel's
// readahead does not cover. A goroutine for what is asked ahead brought nothing
// that could be told from none.
//
// # Files that change
//
// A Reader does not lock. What is written meanwhile is seen or not, byte for
// byte, as with read(2); by Read, where its buffer is filled the next time.
// Reads reach what was appended since Open. A file that is
// truncated while it is mapped makes the kernel send a signal to who touches
// the pages that are gone (SIGBUS), which ends a Go process; within Read, ReadAt, WriteTo
// and View it becomes an error (debug.SetPanicOnFault). The last page that
// stays is zeros behind the new end, and no error: who must tell zeros from
// content needs a checksum, or asks Size.
//
// A source that becomes shorter while it is copied is [ErrTruncated] of
// Reader.WriteTo, if it is mapped, and of Copy and CopyN. The target has what
// there was, and a Writer goes on.
//
// # Mistakes to avoid
//
//   - A Write that returned is no promise with the policies OnCommit, EveryBytes
//     and EveryInterval: its bytes may be in the Writer's buffer only. Never needs
//     a Flush, Commit or Close before the process exits.
//   - Do not go on with a Writer whose Sync or Commit failed, nor with another one
//     on the same file: the next sync may succeed without the bytes that were lost.
//   - A durable file needs a durable name. No sync of a Writer makes that of a
//     new file so: see package newfile and package atomicfile.
//   - Do not keep memory of a View after f has returned, nor give it to another
//     goroutine: a file that is truncated ends the process there.
//   - Close the Writer before its file, and check the error of both. With
//     Preallocate, Close is what gives back the room that was not used.
//   - Where a file may be replaced by someone else, open it below a root
//     (Options.Root): without one Open follows symlinks.
package fileio
