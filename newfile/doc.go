// Package newfile makes many files, fast.
//
// A [Dir] makes files in one folder or spread over hashed sub-folders, one by
// one or in batches. A [Queue] makes them for many goroutines and answers each
// request exactly once. [Anonymous] files get their name when they are
// complete, [Memory] files never have one, and a [Pool] lends scratch files.
// [Limits] and [Raise] are for descriptors, of which such programs run out.
//
// # What survives
//
// Creating a file makes a name, and the name is what Options.Level is about.
// At Power, the default, the folder has been synced when Create, Touch or
// Batch returns, and when a Queue answers: the file is there after a power
// cut, empty or with any part of what was written since. fsync(2): "calling
// fsync() does not necessarily ensure that the entry in the directory
// containing the file has also reached disk". The entry of a sub-folder in the
// folder is synced too, once; the folder's own entry in its parent is not. What
// is written into the file is the caller's to sync, by File.Sync; its name need
// not be synced again. At Kill nothing is synced: names survive kill -9, not
// a power cut.
//
// A file that must never be seen half written is an Anonymous one. Publish at
// level Power makes its content durable, then the name.
//
//	                    level Power                      level Kill
//	Create, Touch       name: power, old or new          name: kill, old or new
//	Batch               each name: power, old or new     each name: kill, old or new
//	File.Publish        name and content: power,         name and content: kill;
//	                    old or new                       torn by a power cut
//	Memory, Pool        none                             none
//
// Proofs hold level Power against power cuts on ext4, XFS and btrfs: see
// proofs/newfile.
//
// Durability shared is cheaper: goroutines that make files in one folder at
// the same time share its syncs, a Batch and a Queue's batch sync each folder
// once.
//
// # What it costs
//
// System calls on Linux, the close included:
//
//	                       level Kill                    level Power adds
//	os.Create (Go 1.26)    openat, 4 fcntl, epoll_ctl,   -
//	                       close
//	Dir.Create             openat, fcntl, close          fsync
//	Dir.Touch              mknodat                       fsync
//	Anonymous, Publish     openat, fcntl, linkat, close  2 fsync
//	Anonymous, Replace     the same and newfstatat, and  2 fsync
//	                       where there is a file 2 flock
//	                       and renameat2
//	Memory                 memfd_create, fcntl, close    -
//	Pool, used again       lseek, ftruncate              -
//
// With sub-folders each sync of one is openat, fsync and close, and the first
// file in it costs a mkdirat and the call that failed. With Options.Root openat2
// takes the place of openat; with sub-folders too, Touch and Publish add openat2
// and close.
//
// The file system locks a folder while a name is made in it, so goroutines
// that fill one folder wait for each other, and those that wait on a processor
// keep it from the rest. With Shards they seldom do: on two cores 1,000
// goroutines made 15,000 files in 256 sub-folders in little over half the time
// that os.Create takes for one folder (a fresh ext4 with journal, level Kill), and
// in about two thirds while other programs wanted the cores. TestBars measures
// it.
//
// A sub-folder is searched for each name that is made in it, up to a block of
// some 200 names: with 230 files in each it was two thirds on idle cores too.
// So choose as many Shards as leave few files in each.
//
// # Below a root
//
// With Options.Root the folder is reached from an os.Root, and nothing below
// that follows a symlink, whoever plants it and whenever: neither the folder,
// nor a sub-folder of Shards, nor a file. What stands in a sub-folder's place is
// refused with ELOOP (a symlink) or ENOTDIR. With OneMount a mount point is
// refused with EXDEV. Without Root the folder's own path, and sub-folders, are
// followed as package os does: put one on another disk by a symlink, if you
// like.
//
// # What a kill leaves
//
// Whole files, of Create and Touch empty ones. A file that Replace is about to
// put in the place of another has a temporary name for a moment, and so has
// each Anonymous file where the file system knows none without a name. Such
// names stay when the process is killed; atomicfile.Sweep and stele sweep remove
// them, and none of a living process.
//
// # What a file is
//
// An ordinary *os.File on a descriptor in blocking mode: regular files cannot be polled,
// so the runtime's poller would refuse it, after five system calls. SetDeadline
// fails with os.ErrNoDeadline, as for every regular file. Its mode is perm less
// the umask or, where the folder has a default ACL, what that leaves of perm.
//
// # Descriptors
//
// When descriptors run out the error is a [LimitError]: it says which limit
// was hit and what raises it, and errors.Is finds syscall.EMFILE or
// syscall.ENFILE in it. A Queue waits instead. Touch needs no descriptor, but
// for syncing sub-folders.
//
// # Mistakes to avoid
//
//   - Taking level Power for the content: it is about the name. What is written
//     into a file of Create has to be synced, by File.Sync.
//   - Create and then write, where a reader or a crash may come in between. Write
//     an Anonymous file, and Publish it.
//   - Create again after fs.ErrNotExist: the Dir holds its folder, and one that
//     is removed does not come back. Make the folder (mkdir.Maker.Verify), and
//     open a new Dir.
//   - Another number of Shards for a folder that has files: they are not found.
//   - A Done that waits for the queue it is called by: no other request is
//     answered meanwhile.
//   - Replace over a file whose permissions matter: nothing of them is kept, and
//     perm holds. Package atomicfile grants nobody what the old file denied.
//   - Closing the os.File in a File, and not the File: a hidden name stays.
//
// # Other systems
//
// Off Linux the same is done by the calls that package os has: files are
// made by name, Anonymous files have a temporary name, Memory files are temporary
// ones, Limits and Raise are not offered. On macOS a sync is F_FULLFSYNC.
// Windows offers no way to sync a folder: there OpenDir refuses level Power.
package newfile
