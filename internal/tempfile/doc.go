// Package tempfile is how the packages that write a file before it has its name
// go about the temporary name: one form of names, one lock, one way to tell
// what a dead process left.
//
// The tag in the name tells who writes the file, for messages. What decides is
// a lock, flock(LOCK_EX), which the writer holds from the file's creation until
// it has its final name or is removed. The kernel drops it with the last
// descriptor, so when the process is killed too, in whatever PID namespace it
// was; a process that is stopped holds on to it. A lock that is free so means
// that nobody will finish the file, but for these:
//
//   - Between openat(2) and flock(2) the writer has no lock yet. A file whose
//     process is known to live is left; and where that cannot be known, as it
//     is of another PID namespace, one that is younger than a minute. A writer
//     that finds its new file locked, by a sweeper, takes another name.
//   - Where there are no locks (ENOLCK, EOPNOTSUPP) the writer goes on without.
//     Nobody else can take the lock then either, and the file is left.
//   - On a file system that several machines share, locks may be each
//     machine's own. There a file of another boot is left. On a local one, which
//     may be served from here (NFS, virtiofs), it is left if it was changed since
//     this boot: then another kernel did, whose lock may not be seen here.
//   - A symlink cannot be locked. It is left while its process is known to
//     live, and for a minute.
//
// A writer whose file was removed in spite of that, as it was stopped for more
// than a minute between the two calls, in another PID namespace, finds no file
// to rename: its commit fails, and the old content stays.
package tempfile
