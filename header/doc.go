// Package header writes bytes before the first byte of a file, which no write
// to a file system can do.
//
// [Insert] puts a header there, [Replace] and [Remove] change the header put there
// last, [Read] returns it. [Reserve] reserves a slot at the head of a file, so that
// later headers take constant time whatever the file's size. [Swap] changes the
// head of a file that has no header of this package. [Recover] completes or undoes
// a change that a crash interrupted. [InsertAll] and [SwapAll] change many files.
//
// # Modes
//
// Atomic, the default, gives the name a new file. Readers and crashes see the old
// file or the new one, whole. Other hard links, and processes that have the file
// open, keep the old one. It needs write permission on the directory, read permission
// on the file, and space for a copy where blocks cannot be shared. atomicfile.Sweep
// removes the temporary files of killed processes; the command "stele header
// recover" does so for a tree, and calls Recover for its files.
//
// InPlace keeps the file, so hard links and open descriptors see the change, and a
// reader may see a mix during it. It needs write permission on the file. If no
// strategy in place is possible, an atomic one is used, and Result says so; setting
// Options.Strategy forbids that.
//
// # Strategies
//
//	strategy     mode     how                                       cost grows with
//	slot         in place overwrites reserved bytes or padding      nothing
//	shift        in place moves extents (ext4, XFS), padded         the number of extents, and the next read
//	clone        atomic   shares blocks (XFS, btrfs), padded        the number of extents
//	copy         atomic   copies from a mapping of the old file     the size
//	kernel-copy  atomic   copy_file_range(2)                        the size; less where a server copies
//
// Shift and clone need whole blocks: a header that is a multiple of the block size,
// or Options.Pad. Auto takes the first possible strategy of the mode; without Pad
// that is slot or one of the copies.
//
// # What survives
//
// The table gives what a finished change survives, and what an interruption leaves:
// at level Power a power cut or a kill, at level Kill a kill -9.
//
//	strategy             level  finished survives   interrupted leaves
//	clone and copies     Power  a power cut         old or new
//	clone and copies     Kill   kill -9             old or new
//	slot, shift          Power  a power cut         old or new, after Recover
//	slot, shift          Kill   kill -9             old or new, after Recover
//	slot without intent  Kill   kill -9             old, new or a mix (durability.Torn)
//
// Level Kill promises nothing about a power cut. Atomic strategies rely on package
// atomicfile. Strategies in place first write an intent record, an extended
// attribute of the file that describes the change, durable at level Power. A
// process that reads the file after an interruption without this package may see a
// part of the change.
//
// The intent record has to fit an attribute: about 4 KiB on ext4, 64 KiB on XFS. If
// it does not, because the new head is long or the file has many holes, another
// strategy is used; only slot at level Kill writes without one, and then
// Result.Promise says Torn. Shift at level Power is used only on file systems whose
// journal is known to order the intent record before the change: ext4 with a
// journal, and XFS.
//
// A strategy in place makes the file durable and not its name. A name that was
// never made durable, as after an atomic change at level Kill, becomes so only when
// its directory is synced.
//
// A change that fails leaves the old file, with two exceptions: after
// atomicfile.ErrNotDurable the name has the new file, which a power cut may undo;
// after ErrInterrupted, Recover makes the file old or new.
//
// # Recovery
//
// Every function of this package first recovers the file, so Recover is needed only
// for files that other programs read next: call it for those that may have been
// changed in place when the system or the process went down. It needs write
// permission on the file, the attributes that the file had, and the file system
// features that the change used, and no disk space except for metadata. It waits
// for a running change, and does nothing to a file without an intent record. A file
// that was copied in the middle of a change cannot be recovered: the intent record
// is not valid for the copy.
//
// [Interrupted] reports whether there is anything to recover, and changes nothing.
//
// # Locks
//
// Any process that may read a file may lock it by flock(2), for as long as it
// likes. So every function that locks takes a context. It tries the lock after
// pauses that grow from 1 to 50 ms, and leaves no goroutine behind; once the
// context is done the error is a [LockedError], which names the process that holds
// the lock if the system knows it. A change that has begun is completed regardless
// of the context. Options.LockWait gives up earlier, and for many files skips only
// the locked one.
//
// # Roots
//
// With Options.Root names are relative to an os.Root, and no symlink below it is
// followed. The directory of a file is opened once; the file is opened, compared and
// replaced in that directory, wherever its path leads by then. Only a group of
// InsertAll or SwapAll at level Power opens its directories again to replace the files:
// if a name leads to another file by then, that is an error of that file
// (syscall.EBUSY).
//
// # The record
//
// The attribute user.stele.header records headers, padding and reserved slots, with
// checksums of all of them. If another program has changed the head of the file,
// the file has no header; a copy of the file has no record; beyond 64 headers and
// slots the oldest become content, and so does a header of more than 64 MiB. A
// record or an intent may be forged: lengths in it are checked against the file
// before memory is allocated. On files that cannot have such attributes, only
// Insert and Swap work.
//
// # Limits
//
// Every change takes the exclusive flock(2) of the file's inode, then checks that
// the name still leads there. So changes by this package, from any goroutine or
// process, are serialized, and none is lost; a program that replaces the file by
// other means takes part by holding the same lock.
//
// A program that does not take the lock is not kept out. An atomic strategy detects
// that such a program has written to the file or replaced it while the new one was
// written (syscall.EBUSY, and the file stays as that program left it), but not
// between that check and the rename, nor writes through a mapping. Appends to the
// file during a change in place are safe.
//
//   - Hard links: after an atomic change the other names keep the old file.
//   - Open readers: after an atomic change they read the old file to its end.
//     In place, the content moves under their offsets.
//   - Symlinks are followed, except with Options.Root; the lock, and the new file,
//     are where the link leads. Only regular files are accepted. On Linux a symlink
//     in a sticky, world-writable directory such as /tmp must belong to the caller or
//     to the directory's owner; otherwise it is an error (EACCES), as with
//     fs.protected_symlinks in proc_sys_fs(5), whether that is set or not.
//   - A shift drops the file's pages from the page cache: the next read comes from
//     the disk.
//   - Mode, owner, attributes and ACL are kept, or the change fails; see
//     Options.Keep. atomicfile.Keep lists the exceptions: file capabilities are not
//     kept. In place, a process without CAP_FSETID clears setuid and setgid bits, as
//     by every write, and the file's capabilities are dropped in any case.
//   - The modification time is that of the change unless Options.KeepTimes is set.
//   - Holes stay holes. If a header that is not a multiple of the block size comes
//     before data, the data lies in other blocks than before.
//   - NFS: flock(2) is a lock of the server, and useless on mounts with nolock or
//     local_lock; it needs write permission on the file. Attributes are recorded on
//     NFS 4.2 only, and shift is not available.
//
// # Other systems
//
// Off Linux only copy is available; nothing is recorded, no lock is taken, times
// cannot be kept, and only the permissions of the old file are kept.
//
// # Mistakes to avoid
//
//   - context.Background() for files that others may read: any of them can hold
//     the lock, and then the call does not return. Set a deadline.
//   - Reading a file that was changed in place after a crash, without Recover: it
//     may hold a part of the change.
//   - Insert instead of Swap. Headers stack: a second Insert puts a second header
//     before the first.
//   - Copying a file and expecting Replace to know its header: the record belongs to
//     the inode. The same goes for git, tar and editors that write a new file.
//   - Editing in a program that does not take the lock while this package changes
//     the file: its writes between the last check and the rename are lost.
//   - A name built from untrusted input, without Options.Root: symlinks are
//     followed.
package header
