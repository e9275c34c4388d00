package run

// Causes of a Wait that are no lock of the kernel and no reason of the Go runtime.
const (
	CauseRunning     = "running"      // Go code
	CauseRunnable    = "runnable"     // ready, waiting for a processor: GOMAXPROCS
	CauseSyscall     = "syscall"      // where the kernel was not sampled
	CauseSyscallBusy = "syscall-busy" // on a CPU or waiting for one: the rest where the blocked part is known
)

// Causes in the kernel. The journal, inode and block map are those of ext4.
const (
	CauseJournalCommit    = "ext4-journal-commit" // fsync waits for the commit of a transaction
	CauseJournalInode     = "ext4-journal-inode"  // for a place in a transaction, to allocate an inode
	CauseJournal          = "ext4-journal"        // for a place in a transaction, or a buffer that a commit holds
	CauseInode            = "ext4-inode"
	CauseBlockMap         = "ext4-block-map" // i_data_sem of a file
	CauseXFSLog           = "xfs-log"
	CauseXFSInode         = "xfs-inode"
	CauseXFSInodeLock     = "xfs-inode-lock"
	CauseXFSBuffer        = "xfs-buffer"
	CauseBtrfsTreeLock    = "btrfs-tree-lock"
	CauseBtrfsTransaction = "btrfs-transaction"
	CauseNameCache        = "name-cache"     // another lookup of the same name is under way
	CauseDirectoryLock    = "directory-lock" // i_rwsem of a directory
	CauseFileLock         = "file-lock"      // i_rwsem of a file
	CauseAddressSpace     = "mmap-lock"      // mmap_lock
	CauseSuperblock       = "superblock-lock"
	CauseDirtyLimit       = "dirty-limit" // dirty pages above the limit: balance_dirty_pages
	CauseDiskFlush        = "disk-flush"
	CauseDiskQueue        = "disk-queue" // it is full
	CauseDiskWrite        = "disk-write"
	CauseDiskRead         = "disk-read" // or metadata
	CausePageLock         = "page-lock"
	CauseFDTable          = "descriptor-table" // it grows, and waits for an RCU grace period
	CauseFlock            = "flock"            // flock or fcntl
	CausePipe             = "pipe"
	CauseSocket           = "socket"
	CauseFUSE             = "fuse"
	CauseProcess          = "process"
	CauseKernel           = "kernel" // blocked, where is not known
)

// Beginnings of causes that carry a word of the system.
const (
	CauseGo    = "go:"    // and a reason of the Go runtime, in its own word: "go:sync"
	CauseIn    = "in:"    // and a function of the kernel for which no code stands: "in:pipe_read"
	CauseFault = "fault:" // a page fault, and the cause that it waits for: "fault:disk-read"
)
