// Package tempfile names, locks and sweeps temporary files, for the packages that
// write a file before it has its final name.
//
// The tag in the name says which process writes the file, for messages. What
// counts is a lock, flock(LOCK_EX), which the writer holds from the file's creation
// until it has its final name or is removed. The kernel drops the lock with the
// last descriptor, so also when the process is killed, in whatever PID namespace it
// was; a stopped process keeps it. A free lock means that nobody will finish the
// file, with these exceptions:
//
//   - Between openat(2) and flock(2) the writer has no lock yet. The sweeper keeps
//     a file whose process is known to live; and if that cannot be known, being of
//     another PID namespace, one that is younger than a minute. A writer that finds
//     its new file locked, by a sweeper, takes another name.
//   - Where there are no locks (ENOLCK, EOPNOTSUPP) the writer continues without.
//     The sweeper cannot take the lock there either, and keeps the file.
//   - On a file system that several machines share, locks may be local to each
//     machine. There the sweeper keeps a file of another boot. On a local file
//     system, which this machine may export (NFS, virtiofs), it keeps a file of
//     another boot that was changed since this boot: another kernel changed it,
//     whose lock may not be visible here.
//   - A symlink cannot be locked. The sweeper keeps it while its process is known
//     to live, and for a minute.
//
// A writer that was stopped between the two calls for more than a minute, in another
// PID namespace, may lose its file to a sweeper: then it finds no file to rename,
// its commit fails, and the old content stays.
package tempfile
