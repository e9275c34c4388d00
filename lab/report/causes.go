package report

import (
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// Cause words a cause of run.Wait. A cause without words of its own stays as it
// is.
func Cause(cause string) string {
	if reason, ok := strings.CutPrefix(cause, run.CauseGo); ok {
		return clean("blocked: " + reason)
	}
	if function, ok := strings.CutPrefix(cause, run.CauseIn); ok {
		return clean("kernel, in " + function)
	}
	if of, ok := strings.CutPrefix(cause, run.CauseFault); ok {
		return "page fault: " + Cause(of)
	}
	if words := causeWords[cause]; words != "" {
		return words
	}
	return clean(cause)
}

var causeWords = map[string]string{
	run.CauseRunning:          "running Go code",
	run.CauseRunnable:         "ready, waiting for a processor (GOMAXPROCS)",
	run.CauseSyscall:          "in a system call",
	run.CauseSyscallBusy:      "in a system call, on a CPU or waiting for one",
	run.CauseJournalCommit:    "ext4 journal, waiting for a commit",
	run.CauseJournalInode:     "ext4 journal, allocating an inode",
	run.CauseJournal:          "ext4 journal",
	run.CauseInode:            "ext4, allocating an inode",
	run.CauseBlockMap:         "ext4, block map of a file (i_data_sem)",
	run.CauseXFSLog:           "XFS log",
	run.CauseXFSInode:         "XFS, allocating an inode",
	run.CauseXFSInodeLock:     "XFS inode lock",
	run.CauseXFSBuffer:        "XFS buffer",
	run.CauseBtrfsTreeLock:    "btrfs tree lock",
	run.CauseBtrfsTransaction: "btrfs transaction",
	run.CauseNameCache:        "name cache (another lookup of the name)",
	run.CauseDirectoryLock:    "directory's lock (i_rwsem)",
	run.CauseFileLock:         "file's lock (i_rwsem)",
	run.CauseAddressSpace:     "address space (mmap_lock)",
	run.CauseSuperblock:       "superblock's lock",
	run.CauseDirtyLimit:       "dirty pages above the limit",
	run.CauseDiskFlush:        "disk, flush",
	run.CauseDiskQueue:        "disk, queue full",
	run.CauseDiskWrite:        "disk, write",
	run.CauseDiskRead:         "disk, read or metadata",
	run.CausePageLock:         "page lock",
	run.CauseFDTable:          "descriptor table, growing",
	run.CauseFlock:            "file lock (flock, fcntl)",
	run.CausePipe:             "pipe",
	run.CauseSocket:           "socket",
	run.CauseFUSE:             "FUSE server",
	run.CauseProcess:          "another process",
	run.CauseKernel:           "kernel, where is not known",
}
