package run

import (
	"encoding/json"
	"strings"
)

// waitsFromVersion1 gives the causes and links in the waits of a block, which
// version 1 stored in words, their codes.
func waitsFromVersion1(text json.RawMessage) (json.RawMessage, error) {
	var w Waits
	if err := json.Unmarshal(text, &w); err != nil {
		return nil, err
	}
	for i := range w.Series {
		w.Series[i].Cause = causeFromVersion1(w.Series[i].Cause)
	}
	for call, causes := range w.Kernel {
		coded := map[string]Nanos{}
		for cause, t := range causes {
			coded[causeFromVersion1(cause)] += t
		}
		w.Kernel[call] = coded
	}
	for i := range w.Chains {
		for j := range w.Chains[i].Links {
			l := &w.Chains[i].Links[j]
			l.How = coded(howVersion1, l.How)
			l.Who = coded(whoVersion1, l.Who)
		}
	}
	return json.Marshal(&w)
}

func causeFromVersion1(cause string) string {
	if of, ok := strings.CutPrefix(cause, "page fault: "); ok {
		return CauseFault + causeFromVersion1(of)
	}
	if reason, ok := strings.CutPrefix(cause, "blocked: "); ok {
		return CauseGo + reason
	}
	if function, ok := strings.CutPrefix(cause, "kernel, in "); ok {
		return CauseIn + function
	}
	return coded(causesVersion1, cause)
}

func coded(codes map[string]string, words string) string {
	if code := codes[words]; code != "" {
		return code
	}
	return words
}

var howVersion1 = map[string]string{
	"blocked": HowBlocked, "in a system call": HowSyscall, "ready, waiting for a processor": HowReady, "running": HowRunning,
	"blocked, not followed further": HowBlockedAgain, "not followed": HowUnfollowed,
}

var whoVersion1 = map[string]string{
	"a timer of the Go runtime": WhoTimer, "the network poller of the Go runtime": WhoPoller, "the Go runtime": WhoRuntime,
}

var causesVersion1 = map[string]string{
	"running Go code": CauseRunning,
	"ready, waiting for a processor (GOMAXPROCS)":   CauseRunnable,
	"in a system call":                              CauseSyscall,
	"in a system call, on a CPU or waiting for one": CauseSyscallBusy,
	"ext4 journal, waiting for a commit":            CauseJournalCommit,
	"ext4 journal, allocating an inode":             CauseJournalInode,
	"ext4 journal":                                  CauseJournal,
	"ext4, allocating an inode":                     CauseInode,
	"ext4, block map of a file (i_data_sem)":        CauseBlockMap,
	"XFS log":                                       CauseXFSLog,
	"XFS, allocating an inode":                      CauseXFSInode,
	"XFS inode lock":                                CauseXFSInodeLock,
	"XFS buffer":                                    CauseXFSBuffer,
	"btrfs tree lock":                               CauseBtrfsTreeLock,
	"btrfs transaction":                             CauseBtrfsTransaction,
	"name cache (another look-up of the name)":      CauseNameCache,
	"folder's lock (i_rwsem)":                       CauseDirectoryLock,
	"file's lock (i_rwsem)":                         CauseFileLock,
	"address space (mmap_lock)":                     CauseAddressSpace,
	"superblock's lock":                             CauseSuperblock,
	"dirty pages above the limit":                   CauseDirtyLimit,
	"disk, flush":                                   CauseDiskFlush,
	"disk, queue full":                              CauseDiskQueue,
	"disk, write":                                   CauseDiskWrite,
	"disk, read or metadata":                        CauseDiskRead,
	"page lock":                                     CausePageLock,
	"descriptor table, growing":                     CauseFDTable,
	"file lock (flock, fcntl)":                      CauseFlock,
	"pipe":                                          CausePipe,
	"socket":                                        CauseSocket,
	"FUSE server":                                   CauseFUSE,
	"another process":                               CauseProcess,
	"kernel, not told where":                        CauseKernel,
}
