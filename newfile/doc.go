// Package newfile creates many files, fast.
//
// A [Dir] creates files in one directory or spread over hashed sub-directories,
// one by one or in batches. A [Queue] creates them for many goroutines and
// answers each request exactly once. [Anonymous] files get their name when they
// are complete, [Memory] files never have one, and a [Pool] hands out scratch
// files. [Limits] and [Raise] are for descriptors, which such programs run out
// of.
//
// # What survives
//
// Creating a file creates a name, and Options.Level is about the name. At Power,
// the default, the directory has been synced when Create, Touch or Batch returns,
// and when a Queue answers: after a power cut the file is there, empty or with
// any part of the later writes. fsync(2): "calling fsync() does not necessarily
// ensure that the entry in the directory containing the file has also reached
// disk". The entry of a sub-directory is synced too, once; the directory's own
// entry in its parent is not. The caller syncs the content of the file, by
// File.Sync; its name need not be synced again. At Kill nothing is synced: names
// survive kill -9, not a power cut.
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
// Syncs are shared: those of goroutines that create files in one directory at
// the same time, and those of a Batch or a batch of a Queue, which sync each
// directory once.
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
//	Pool, reused file      lseek, ftruncate              -
//
// With Shards each sync of a sub-directory is openat, fsync and close, and its
// first file costs a mkdirat and the call that failed. With Options.Root openat2
// takes the place of openat; with Shards too, Touch and Publish add openat2 and
// close.
//
// The file system locks a directory while a name is created in it, so goroutines
// that fill one directory wait for each other, and those that spin occupy a
// processor. With Shards they seldom do: on two cores 1,000 goroutines created
// 15,000 files in 256 sub-directories in little over half the time that os.Create
// takes for one directory (a fresh ext4 with journal, level Kill), and in about
// two thirds of it while other programs wanted the cores. TestBars measures it.
//
// Creating a name searches its sub-directory, up to a block of some 200 names:
// with 230 files in each, it was two thirds on idle cores too. So choose Shards
// such that each has few files.
//
// # Below a root
//
// With Options.Root the directory is reached from an os.Root, and nothing below
// that follows a symlink, whenever it was planted: neither the directory, nor a
// sub-directory of Shards, nor a file. A symlink in the place of a sub-directory
// fails with ELOOP, another file with ENOTDIR. With OneMount a mount point fails
// with EXDEV. Without Root, symlinks in the directory's own path and in the place
// of sub-directories are followed, as package os does: a sub-directory may be a
// symlink to another disk.
//
// # What a kill leaves
//
// Whole files; those of Create and Touch are empty. A file that Replace is about
// to put in the place of another has a temporary name for a moment, and so has
// each Anonymous file on a file system without unnamed files. Such names stay
// when the process is killed. atomicfile.Sweep and stele sweep remove them, but
// none of a living process.
//
// # What a file is
//
// An ordinary *os.File on a descriptor in blocking mode: regular files cannot be
// polled, so the runtime's poller would refuse it, after five system calls.
// SetDeadline fails with os.ErrNoDeadline, as for every regular file. Its mode is
// perm less the umask; in a directory with a default ACL, the part of perm that
// the ACL allows.
//
// # Descriptors
//
// When descriptors run out the error is a [LimitError]: it says which limit was
// reached and how to raise it, and errors.Is finds syscall.EMFILE or
// syscall.ENFILE. A Queue waits instead. Touch needs no descriptor, except to
// sync sub-directories.
//
// # Mistakes to avoid
//
//   - Taking level Power for the content: it is about the name. Sync the content
//     of a file of Create by File.Sync.
//   - Create and then write, where a reader or a crash may come in between. Write
//     an Anonymous file, and Publish it.
//   - Create again after fs.ErrNotExist: the Dir holds its directory, and a
//     removed one does not come back. Create the directory
//     (mkdir.Maker.Verify), and open a new Dir.
//   - Another number of Shards for a directory with files: they are not found.
//   - A Done that waits for its queue, which answers no other request meanwhile.
//   - Replace over a file whose permissions matter: none of them are kept, perm
//     holds. Package atomicfile grants no access that the old file denied.
//   - Closing the os.File in a File, not the File: a temporary name stays.
//
// # Other systems
//
// Off Linux the same is done by the calls of package os: files are created by
// name, Anonymous files have a temporary name, Memory files are temporary files,
// and Limits and Raise fail with errors.ErrUnsupported. On macOS a sync is
// F_FULLFSYNC. Windows cannot sync a directory: there OpenDir refuses level
// Power.
package newfile
