// Package mkdir creates directory trees with the fewest system calls.
//
// [All] does what os.MkdirAll does. A [Maker] is for a service that creates
// directories all day below one root: it holds a descriptor of the root and
// remembers which directories exist.
//
// # What survives
//
// All promises durability.Kill: a directory is in the kernel's metadata when All
// returns. A Maker promises what Options.Level says, Power unless set. At Power
// every entry of a requested path, from the root down, has been made durable by
// an fsync of the directory that holds it: "calling fsync() does not necessarily
// ensure that the entry in the directory containing the file has also reached
// disk; for that an explicit fsync() on a file descriptor for the directory is
// also needed" (fsync(2)). The root's own entry in its parent is not covered:
// create the root with a Maker of the directory above.
//
// Two Makers that race over one parent both sync it, and neither returns before
// its fsync has. That makes both right on ext4 and XFS. On btrfs the kernel (6.18)
// was seen to return from parallel fsyncs of one directory before all its new
// entries were durable, with plain os.Mkdir and fsync as well. One Maker runs one
// fsync of a directory at a time and is right there too. Package proofs/mkdir
// holds these promises against power cuts.
//
// A crash during a call leaves a path up to some level (durability.Prefix), each
// path of a batch for itself.
//
// # What it costs
//
// System calls, on Linux, at level Kill; d is the number of new levels:
//
//	                         All            Maker        Maker, confined
//	known path               1 statx        0            0
//	d fresh levels           1 statx,       d mkdirat    d mkdirat, d-1 openat and close
//	                         2d-1 mkdirat
//	new below a known dir.   1 statx,       1 mkdirat    1 openat2, mkdirat, close
//	                         1 mkdirat
//	directory met first      1 statx        1 mkdirat    1 mkdirat, openat and close a level,
//	                                        a level,     1 statx
//	                                        1 statx
//	batch                    -              1 mkdirat a  the same, 1 openat2 and close
//	                                        directory    a directory that has children
//	Verify, known and there  -              1 statx      1 openat2 and close
//
// With Options.Undo a batch adds one name_to_handle_at a directory. With
// Options.OneMount openat2 takes the place of openat, and openat2 and close that
// of statx. Level Power adds openat, fsync and close for each parent not yet
// known to be durable.
//
// A Maker does not look a directory up before it creates it: mkdirat(2) returns
// EEXIST for an existing directory and ENOENT for a missing parent, which is all
// it needs to know. Nor does it hold descriptors of directories below the root. A
// descriptor follows its directory when that is renamed, so that a later mkdirat
// through it would grow the tree in the wrong place; a path looked up from the
// root cannot.
//
// # What it notices
//
// A path that the Maker knows is answered from memory: All does not notice that
// another process has removed it. The next creation below it does: the kernel
// returns ENOENT (or ENOTDIR, if another file has its place), and the Maker clears
// its memory, walks the path again from the root and creates what is missing. An
// Undo that removed a directory clears the memory too. A call of level Power that
// had relied on it starts again.
//
// If you learn of a removal in another way, for example because a file cannot be
// created in the directory, call Verify, which looks the directory up on disk and
// creates it if it is missing, or Forget, after which the next All does.
//
// A directory that another process removes and creates again is not noticed, and
// need not be at level Kill. At level Power it means that the entry of a directory
// that this Maker had synced is only as durable as the other process made it. The
// same holds for a directory that is removed between a call's last sync and its
// return, and created again by another goroutine of this Maker.
//
// At level Power and not confined, the entries on the path as it was given are
// synced. The directories above the target of a symlink are not.
//
// # Confined
//
// With Options.Confined no directory is created outside the root, whatever
// symlinks are below it or appear there: each level is one mkdirat of one name in
// a directory that was reached without following a symlink (openat(O_NOFOLLOW),
// or openat2(RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS) where the kernel has it). A
// symlink in the path is an error, ELOOP. A mkdirat of several components would
// follow symlinks in all but the last.
//
// Between reaching a directory and creating the next one in it, another process
// may rename the first. The new one is then in the renamed directory, just as if
// the rename had come a moment later. So a process that may move a directory out
// of the root moves with it what is being created in it.
//
// With Options.Root the Maker is confined too, and its own root is reached in the
// same way from an os.Root, which confines the whole tree that a program works
// in. With Options.OneMount a mount point on the way is refused as a symlink is,
// with EXDEV: also a bind mount of the same file system, and one mounted later, at
// the next creation below it.
//
// Without Confined symlinks are followed, out of the root too. In either case a
// path that is absolute or leaves the root by ".." is refused.
//
// # Mistakes to avoid
//
//   - Calling All again because a file could not be created in the directory: a
//     known directory is answered from memory. Call Verify.
//   - A Maker for one path. All costs less: a Maker pays by being kept.
//   - Two Makers of one tree in a process. Neither knows what the other has
//     created, and at level Power both sync it.
//   - Undo as a general removal: it removes only empty directories of its batch.
//   - Taking level Power of a directory for that of the files in it: package
//     newfile or atomicfile syncs their names.
//   - A path from outside without Root or Confined: symlinks below the root are
//     followed.
//
// # Other systems
//
// Off Linux, All is os.MkdirAll, and a Maker makes the same calls by name; if
// confined, through os.Root, after a look for symlinks: one planted between the
// look and the call is followed if it stays inside. OneMount is refused with
// errors.ErrUnsupported, and Undo takes an empty directory of the same name for
// the batch's. On macOS a sync is F_FULLFSYNC. Windows cannot sync a directory:
// there OpenRoot refuses level Power with errors.ErrUnsupported.
package mkdir
