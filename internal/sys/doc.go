// Package sys makes the system calls of the primitives and of the log store.
// System calls that only measuring needs are in internal/measure.
//
// A file x_linux.go has a twin x_other.go with the same signatures, for systems
// that lack the call; types and code that all systems share are in x.go. What
// each file is about:
//
//	descriptor   WithFD, WithFDs, Retry: how a call reaches a descriptor
//
//	dir          Dir, an open directory: make, open, remove, stat, sync
//	beneath      the same below a root that no symlink leads out of
//	create       new files in a Dir, with and without a name; the umask
//	rename       link, rename, exchange, remove in a Dir
//	symlink      read, follow and make symlinks
//	handle       Dir.Handle, which tells a directory from its successors
//	identity     Identity, which tells a file from others of its file system
//	opentosync   open a directory for fsync, or say which permission is missing
//
//	temp         Temp, a file that is written to replace another
//	acl, xattr   access lists and extended attributes, read, set, copied
//	fileinfo     FileInfo: mode, owner and links of a file
//	inode        numbers and times of an inode
//	process      Process, which tells a process from its successors
//
//	open         open and reopen files for fileio and wal; Opened: with which flags
//	regular      open a file only if it is a regular one
//	read, mmap   positional reads, advice, mappings
//	write        positional and durable writes
//	allocate     reserve blocks, set the size
//	copy         copy and clone in the kernel, or from a mapping
//	sync         fdatasync, fsync, syncfs, sync_file_range
//	extents      the extent map; insert and collapse ranges
//	memfd        files in memory
//	limits       limits on open files
//	flock        file locks; flock_holder: the process that holds one
//
//	fsinfo       FSInfo and Statx: what a file system reports
//	layout       Layout: how a file system can move the content of a file
//	local        whether a file system is on this machine
//	mountinfo    /proc/self/mountinfo
//	ordersdata   whether a file system orders data before names
//	absent       errors that say that a call does not exist here
//
// The rules:
//
//   - Calls on an *os.File go by WithFD, which keeps the descriptor open meanwhile
//     and repeats the call after EINTR; calls on a number go by Retry.
//   - Errors are bare, without operation and path, unless the doc says otherwise:
//     the caller knows the path by the name that its user gave.
//   - Calls on hot paths do not allocate; tests hold them to it.
package sys
