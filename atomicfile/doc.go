// Package atomicfile replaces files all or nothing: after a crash at any time
// a name holds the old content or the new, never a mix and never nothing.
//
// [WriteFile] does what os.WriteFile does; [WriteFileWith] takes [Options].
// [Create] gives a [File] to write to, then Commit or Abort. A [Dir] holds the
// folder in which many files are replaced. A [Batch] replaces many files for
// the price of few syncs. [Symlink] replaces a symlink, [Exchange] swaps two
// names. [Sweep] removes what killed writers left.
//
// # How
//
// The content is written to a new file under a temporary name in the same
// folder, made durable, and renamed: "If newpath already exists, it will be
// atomically replaced" (rename(2)). Then the folder is synced, as "calling
// fsync() does not necessarily ensure that the entry in the directory
// containing the file has also reached disk" (fsync(2)).
//
// # What survives
//
// At level Power, the default, the new content survives a power cut once
// Commit has returned nil. At level Kill it survives kill -9; then a power cut
// may also leave an empty or torn file where the file system does not order
// data before names.
//
// SyncEach syncs the content with fdatasync(2) before the rename, which is
// right wherever fsync is. On ext4 and XFS that commits the journal twice a
// file. SyncAuto commits it once, through a Dir or in a Batch: the data is
// written to the device, and the device has answered (sync_file_range(2) with
// all its flags); then comes the rename, then the sync of the folder, which
// commits the journal up to the rename. No commit can hold the rename without
// the data: the file's extents are in the journal before the device's answer
// is told, and each commit is preceded by a flush of the device.
//
// So SyncAuto does this only where that is known to hold, and is SyncEach on
// all else. It needs Linux 5.2; ext4 with its journal on the same device,
// data=ordered, barriers and no fast commits; or XFS without a log or realtime
// device; no DAX, and no flag of the folder that takes data another way
// (chattr +j, XFS's rtinherit). It is denied on an overlay, whatever lies
// below, and where /proc does not show the mount. It does not matter how ext4
// allocates (delalloc, dioread_nolock, bigalloc, inline data) or whether XFS
// shares extents. For btrfs, sync_file_range says nothing about what a rename
// may name. A Dir or Batch finds out once, when it opens a folder: remounting
// that with other options is not noticed. Proofs hold all of it against
// power cuts: see proofs/atomicfile.
//
// A failed sync is final. The kernel tells each open file once of a failed
// writeback, in fdatasync and in sync_file_range alike and whoever began it
// (file_check_and_advance_wb_err), and then takes the pages for clean: a second
// sync would succeed and prove nothing. A File whose sync failed is dropped,
// and the old content stays; where the folder's sync failed, see
// [ErrNotDurable].
//
// # What it costs
//
// System calls a file, on Linux, from Create to the end of Commit, with one
// write and at level Power:
//
//	Dir, new file                    8: newfstatat, openat, flock, write, sync_file_range or fdatasync, renameat2, close, fsync
//	Dir, old file                   11: and lgetxattr, newfstatat and fgetxattr, for the ACLs
//	Create and Commit by name        2 more: openat, close of the folder; Commit of an old file 2 more again, for a second look
//	WriteFile, new file             10: the same
//	WriteFile, old file             14: and fstat of the new one; fchown, fchmod, fsetxattr where they differ
//	Batch of n files in a folder     7 a file, 12 an old one, and one fsync; sync_file_range once more to begin the writeback
//	Symlink in a Dir                 4: newfstatat, symlinkat, renameat2, fsync
//
// newfstatat is what refuses a device; NoReplace does without. flock is what
// Sweep goes by. An old file that grants nothing to anybody but its owner, or
// where perm does not, costs what a new one does, and so does every one with
// KeepNothing. Where the new one cannot be created with what it is to have, the
// umask is looked up, 3 calls, and fstat and fchmod follow. ExactMode takes one
// fchmod more. Level Kill leaves out the syncs; there, a file by name takes an
// fstatfs, and where close(2) may tell of a write error (NFS, CIFS, FUSE, an
// overlay) a file is flushed before it gets the name, by fcntl and close.
// Committing goroutines share a Dir's fsync of the folder: while one is under
// way the others gather for the next.
//
// # What a kill leaves
//
// A process that is killed leaves the temporary files that it was writing, named
// ".*.tmp" with a tag in the place of the star; see Options.Temp. Nobody reads
// them, but they take space until [Sweep] or the command "stele sweep" removes
// them: call it when a service starts, and from time to time on what many
// services write to. It needs no agreement with the writers, as each holds a
// lock on its file: not who a file is of counts, but whether it is held.
//
// # What it cannot do
//
//   - Replace several files at once. Each file of a Batch is atomic by itself.
//   - Keep hard links: the other names keep the old content.
//   - Replace a file that is a mount point (EBUSY), as bind-mounted files in
//     containers are.
//   - Write where the folder may not be written to.
//
// # Mistakes to avoid
//
//   - A defer of Abort belongs behind every Create: a File that is neither
//     committed nor aborted keeps its descriptor and its temporary file for as
//     long as the process lives.
//   - Commit's error counts, at level Kill too: without it the old content has
//     the name. To call Commit again does not help; write the file again.
//   - A file that is written and then renamed by other means has not the lock
//     that Sweep looks for, nor the tag: use Create for it.
//   - perm neither widens what an old file grants nor keeps it: where that has
//     0600, perm 0644 makes 0600; where it has 0644, perm 0600 makes 0600; and an
//     ACL is gone. To keep what somebody has set with chmod or setfacl, set
//     Options.Keep; WriteFile does. To have perm whatever there was, set
//     KeepNothing.
//   - Whoever has the old file open, or mapped, goes on with the old content;
//     and a lock on the old file is not one on the new.
//   - A Batch holds a descriptor for each of its files: commit thousands of
//     files in groups of some hundred.
//   - Confine with Options.Root what others may write to. A check of the path
//     before the call is of no use: it may be another by then.
//
// # Other systems
//
// On macOS a sync is F_FULLFSYNC. On Windows a rename is MoveFileEx with
// MOVEFILE_REPLACE_EXISTING, which fails while somebody has the old file open
// without FILE_SHARE_DELETE; and there is no way to sync a folder: at level
// Power the content is synced before the rename, so that the name holds old or
// new, but after a power cut it may be the old although Commit returned nil.
// Off Linux, Exchange, Sweep, SyncWholeFS, OneMount, and to keep owner,
// attributes or ACL fail with errors.ErrUnsupported, and NoReplace is a hard link
// and a removal: for a moment the file has both names.
package atomicfile
