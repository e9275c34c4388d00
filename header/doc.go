// Package header writes bytes before the first byte of a file, which no
// file system can do by a write.
//
// [Insert] puts them there, [Replace] and [Remove] change what it put there,
// [Read] tells it. [Reserve] makes room at the head, so that later headers
// cost the same whatever the size of the file. [Swap] changes the head of a
// file that nobody prepared. [Recover] ends what a crash interrupted. [InsertAll]
// and [SwapAll] do many files.
//
// # Modes
//
// Atomic, the default: the name gets a new file. Readers and crashes see the
// old or the new, whole. Other hard links, and whoever has the file open, keep
// the old. It needs write permission on the folder, read permission on the
// file, and room for a copy where blocks cannot be shared. What a killed process
// leaves in the folder, a temporary file, atomicfile.Sweep removes; the command
// "stele header recover" does so for a tree, and calls Recover for its files.
//
// InPlace: the file stays the same file, so hard links and open descriptors
// see the change; who reads meanwhile may see a mix. It needs write permission
// on the file. Where no way in place can be taken, an atomic one is, and
// Result tells; a Strategy forbids that.
//
// # Ways
//
//	way          mode     what it does                              cost grows with
//	slot         in place overwrites room that is there             nothing
//	shift        in place moves extents (ext4, XFS), padded         the number of extents, and the next read
//	clone        atomic   shares blocks (XFS, btrfs), padded        the number of extents
//	copy         atomic   copies from a mapping of the old file     the size
//	kernel-copy  atomic   copy_file_range(2)                        the size; less where a server copies
//
// Shift and clone need whole blocks: a header that is a multiple of the block,
// or Options.Pad. Auto takes the first of them that can; without Pad that is
// slot or copy.
//
// # What survives
//
// What a finished change survives, and what an interruption leaves: of a
// change at level Power a power cut or a kill, at level Kill a kill -9.
//
//	way                 level  finished survives   interrupted leaves
//	clone and copies    Power  a power cut         old or new
//	clone and copies    Kill   kill -9             old or new
//	slot, shift         Power  a power cut         old or new, after Recover
//	slot, shift         Kill   kill -9             old or new, after Recover
//	slot without note   Kill   kill -9             old, new or a mix (durability.Torn)
//
// At level Kill nothing is said of a power cut. Atomic ways rely on package
// atomicfile. Ways in place note first, durably at level Power, what they are
// about to do, in an extended attribute of the file. Whoever reads the file
// after an interruption without this package may see a part of the change.
//
// A note has to fit an attribute: some 4 KiB on ext4, 64 KiB on XFS. Where it
// does not, because the new head is long or the file has many holes, another
// way is taken; only a slot at level Kill is written without, and
// Result.Promise then says Torn. Shift is taken at level Power only on file
// systems whose journal is known to keep the note before the change, ext4 with
// a journal and XFS.
//
// A way in place makes the file durable and not its name. A name that was
// never made durable, as after an atomic change at level Kill, is so only
// once its folder is synced.
//
// A change that fails leaves the old file, but for two errors: with
// atomicfile.ErrNotDurable the name has the new file, which a power cut may
// undo; after ErrInterrupted, Recover makes the file old or new.
//
// # Recover
//
// Every function of this package ends first what was interrupted, so Recover
// is only for files that somebody else is to read next: call it for those that
// may have been changed in place when the system or the process went down. It
// needs write permission on the file, the attributes that the file had, and
// what the change needed of the file system; no room on the disk but for what
// the file system takes to change metadata. It waits for a change that is under
// way, and does nothing to a file without a note. A file that was copied
// in the middle of a change cannot be recovered; the note does not hold for it.
//
// [Interrupted] tells whether there is anything to end, and changes nothing.
//
// # Waiting
//
// Whoever may read a file may lock it, by flock(2), for as long as they like. So
// every function that locks takes a context. It tries the lock after pauses that
// grow from 1 to 50 ms, and leaves no goroutine behind; once the context is
// done the error is a [LockedError], which names the process that holds the lock
// where the system tells. A change that has begun is ended whatever the
// context says. Options.LockWait gives up earlier, and of many
// files only the locked one.
//
// # Roots
//
// With Options.Root names are relative to an os.Root, and nothing below it follows
// a symlink. The folder of a file is opened once, and the file is opened, compared
// and replaced in that folder, wherever its name leads meanwhile. Only a group of
// InsertAll or SwapAll at level Power opens its folders again, to replace the
// files: a name that leads to another file by then is that file's error
// (syscall.EBUSY).
//
// # What is recorded
//
// Headers, padding and reserved room are told from content by a record, the
// attribute user.stele.header, with checksums of all of it. A head that
// somebody else has changed is nobody's header, a copied file has no record,
// and of more than some dozens of headers the oldest become content, as does one
// of more than 64 MiB. A record or a note may come from a stranger: lengths in it
// are held against the file before there is memory for them. Where a file cannot have such attributes, Insert and Swap work, and nothing else.
//
// # Limits
//
// Every change takes the exclusive flock(2) of the file's inode, and looks then
// whether the name still leads there. So changes by this package, from any
// goroutine or process, come one after the other, and none is lost; a program
// that replaces the file otherwise keeps to that by holding the same lock.
//
// A program that does not take it is not kept out. An atomic way finds out
// that such a one has written to the file, or replaced it, while the new one
// was made (syscall.EBUSY, and the file is left as that program made it), but
// not between that and the rename, nor what it writes through a mapping.
// Appends to the file while it is changed in place are safe.
//
//   - Hard links: after an atomic change the other names keep the old file.
//   - Open readers: after an atomic change they read the old file to its end.
//     In place they see the content move under their offsets.
//   - Symlinks: followed, but for Options.Root; the lock, and the new file, are
//     where the link leads. What is no regular file is refused. On Linux a symlink
//     in a sticky folder that everybody may write to, as /tmp, must be the caller's
//     or the folder's owner's, else it is an error (EACCES): as with
//     fs.protected_symlinks in proc_sys_fs(5), whether that is set or not.
//   - A shift drops what of the file is in the page cache: the next read comes
//     from the disk.
//   - Mode, owner, attributes and ACL are kept, or it is an error, but see Options.Keep.
//     atomicfile.Keep says what is carried of them: file capabilities are not.
//     In place, whoever lacks CAP_FSETID clears setuid and setgid bits by it,
//     as by every write, and the file's capabilities go in any case.
//   - The time of modification is that of the change unless Options.KeepTimes.
//   - Holes stay holes. Where a header that is not a multiple of the block comes
//     before data, that lies in other blocks than before.
//   - NFS: flock(2) is a lock of the server, and of no use where the mount has
//     nolock or local_lock; it needs write permission on the file. Attributes
//     are recorded on NFS 4.2 only, and nothing is shifted.
//
// # Other systems
//
// Off Linux there is only copy; nothing is recorded, no lock is taken, times
// cannot be kept, and of the old file only the permissions are.
//
// # Mistakes to avoid
//
//   - context.Background() for files that others may read: any of them can hold
//     the lock, and then the call does not return. Give it a deadline.
//   - Reading a file that was changed in place after a crash, without Recover: it
//     may hold a part of the change.
//   - An Insert where a Swap is meant. Headers stack: a second Insert puts a second
//     header before the first.
//   - Copying a file and expecting Replace to know its header: the record is the
//     inode's. The same goes for git, tar and editors that write a new file.
//   - Editing in a program that does not take the lock while this package changes
//     the file: its writes between the last look and the rename are lost.
//   - A name built from what a stranger says, without Options.Root: symlinks are
//     followed.
package header
