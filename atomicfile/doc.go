// Package atomicfile replaces files all or nothing: after a crash at any time
// a name holds the old content or the new, never a mix and never nothing.
//
// [WriteFile] is os.WriteFile made atomic; [WriteFileWith] takes [Options].
// [Create] returns a [File] to write to, then Commit or Abort. A [Dir] is an
// open directory in which many files are replaced. A [Batch] replaces many files
// with few syncs. [Symlink] replaces a symlink, [Exchange] swaps two names.
// [Sweep] removes the temporary files of killed writers.
//
// # How
//
// The content is written to a new file under a temporary name in the same
// directory, made durable, and renamed: "If newpath already exists, it will be
// atomically replaced" (rename(2)). Then the directory is synced, as "calling
// fsync() does not necessarily ensure that the entry in the directory
// containing the file has also reached disk" (fsync(2)).
//
// # What survives
//
// At level Power, the default, the new content survives a power cut once
// Commit has returned nil. At level Kill it survives kill -9; a power cut may
// then also leave an empty or torn file, on file systems that do not order
// data before names.
//
// SyncEach syncs the content with fdatasync(2) before the rename, which is
// correct wherever fsync is. On ext4 and XFS it commits the journal twice per
// file. SyncAuto commits it once, in a Dir or a Batch: it writes the data to the
// device and waits until the device has answered (sync_file_range(2) with all
// its flags), renames the file, then syncs the directory, which commits the journal
// up to the rename. No commit can hold the rename without the data: the file's
// extents are in the journal before the device's answer is reported, and a flush
// of the device precedes each commit.
//
// SyncAuto does this only where it is known to hold, and is SyncEach everywhere
// else. It needs Linux 5.2 and one of
//
//   - ext4 with its journal on the same device, data=ordered, barriers and no
//     fast commits;
//   - XFS without a log device or a realtime device;
//
// and no DAX, and no flag of the directory that sends data another way (chattr +j,
// XFS's rtinherit). It is not used on an overlay, whatever the layers are, nor
// where /proc does not show the mount. How ext4 allocates (delalloc,
// dioread_nolock, bigalloc, inline data) and whether XFS shares extents does not
// matter. On btrfs, sync_file_range says nothing about the data that a rename
// may name. A Dir or Batch checks once, when it opens a directory: it does not
// notice a later remount with other options. See proofs/atomicfile for the power
// cuts that prove it.
//
// A failed sync is final. The kernel reports a failed writeback once to each
// open file, through fdatasync and sync_file_range alike and regardless of which
// process started the writeback (file_check_and_advance_wb_err), and then treats
// the pages as clean: a second sync would succeed and prove nothing. A File
// whose sync failed is discarded and the old content stays; if the directory's sync
// failed, see [ErrNotDurable].
//
// # What it costs
//
// System calls per file on Linux, from Create to the end of Commit, with one
// write and at level Power:
//
//	Dir, new file                    8: newfstatat, openat, flock, write, sync_file_range or fdatasync, renameat2, close, fsync
//	Dir, existing file              11: and lgetxattr, newfstatat and fgetxattr, for the ACLs
//	Create and Commit by name        2 more: openat, close of the directory; Commit over an existing file 2 more, to check it again
//	WriteFile, new file             10: the same
//	WriteFile, existing file        14: and fstat of the new one; fchown, fchmod, fsetxattr where they differ
//	Batch of n files in a directory     7 a file, 12 an existing one, and one fsync; sync_file_range once more to start the writeback
//	Symlink in a Dir                 4: newfstatat, symlinkat, renameat2, fsync
//
// newfstatat finds devices, which are refused; NoReplace does without it. flock
// is the lock that Sweep tests. An existing file costs the same as a new one if
// it grants nothing to anybody but its owner, or if perm does not, or with
// KeepNothing. Where the new file cannot be created with its final permissions,
// reading the umask takes 3 calls more, and fstat and fchmod follow. ExactMode
// takes one fchmod more. Level Kill omits the syncs; a file by name then takes an
// fstatfs, and where close(2) can return a write error (NFS, CIFS, FUSE, an
// overlay) fcntl and close flush the file before the rename. Goroutines that
// commit at the same time share a Dir's fsync of the directory: while one runs, the
// others wait for the next.
//
// # What a kill leaves
//
// A killed process leaves its temporary files behind, named ".*.tmp" with a tag
// in place of the star; see Options.Temp. No reader finds them by name, but they
// take space until [Sweep] or the command "stele sweep" removes them: call Sweep
// when a service starts, and from time to time on a directory that many services
// write to. The writers need not cooperate: each holds a lock on its file, and
// Sweep goes by that lock, not by the file's owner.
//
// # What it cannot do
//
//   - Replace several files at once. Each file of a Batch is atomic by itself.
//   - Keep hard links: the other names keep the old content.
//   - Replace a file that is a mount point (EBUSY), as bind-mounted files in
//     containers are.
//   - Write where the directory may not be written to.
//
// # Mistakes to avoid
//
//   - Create without a deferred Abort: a File that is neither committed nor
//     aborted keeps its descriptor and its temporary file until the process
//     exits.
//   - Ignoring the error of Commit, at level Kill too: without it the old content
//     has the name. A second Commit does not help; write the file again.
//   - Writing a file and renaming it by other means: it has neither the lock nor
//     the tag that Sweep looks for. Use Create.
//   - Expecting perm to widen the permissions of an existing file, or to keep
//     them: over 0600, perm 0644 makes 0600; over 0644, perm 0600 makes 0600; and
//     an ACL is dropped. To keep what was set with chmod or setfacl, set
//     Options.Keep, as WriteFile does. To get perm regardless of the old file,
//     set KeepNothing.
//   - Expecting open files to follow: a process that has the old file open or
//     mapped keeps the old content, and a lock on the old file is not a lock on
//     the new one.
//   - Thousands of files in one Batch, which holds a descriptor for each. Commit
//     them in groups of a few hundred.
//   - Checking the path of a file that others may replace, instead of setting
//     Options.Root: the path may lead elsewhere once it has been checked.
//
// # Other systems
//
// On macOS a sync is F_FULLFSYNC. On Windows a rename is MoveFileEx with
// MOVEFILE_REPLACE_EXISTING, which fails while a process has the old file open
// without FILE_SHARE_DELETE; and a directory cannot be synced: at level Power the
// content is synced before the rename, so the name holds old or new content, but
// after a power cut it may be the old content although Commit returned nil. Off
// Linux, Exchange, Sweep, SyncWholeFS, OneMount, and keeping owner, attributes or
// ACL fail with errors.ErrUnsupported, and NoReplace is a hard link and a removal:
// for a moment the file has both names.
package atomicfile
