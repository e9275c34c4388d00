package lab

import (
	"slices"
	"strings"

	"github.com/stele-go/stele/lab/run"
)

// A causeRule gives stacks a cause. The innermost function must be one of
// inner, where that is set, and each set of has must be met by some function.
// Names are beginnings of names.
//
// /proc shows a stack without the functions of the scheduler, and those that
// take a lock by sleeping are among them (__sched in the kernel's source). A
// thread that sleeps for a directory's lock is seen in the function that took it,
// path_openat for one: that is what inner is for.
type causeRule struct {
	cause string
	inner []string
	has   [][]string
}

// The names are those of Linux 5.10 to 6.18.
var onJournal = []string{"jbd2_", "__jbd2_", "do_get_write_access", "start_this_handle", "add_transaction_credits", "wait_transaction_", "__ext4_journal_", "ext4_journal_"}

// causeRules are tried in this order, the special ones before those that would
// take their stacks too.
var causeRules = []causeRule{
	// fsync waits for the commit of a transaction; all others for a place in
	// one, or for a buffer that a commit holds (fs/jbd2/transaction.c).
	{cause: run.CauseJournalCommit, has: [][]string{{"jbd2_log_wait_commit", "jbd2_complete_transaction", "jbd2_fc_", "ext4_fc_commit"}}},
	{cause: run.CauseJournalInode, has: [][]string{onJournal, {"__ext4_new_inode"}}},
	{cause: run.CauseJournal, has: [][]string{onJournal}},
	{cause: run.CauseInode, has: [][]string{{"__ext4_new_inode"}}},
	{cause: run.CauseBlockMap, inner: []string{"ext4_map_blocks", "ext4_da_", "ext4_truncate", "ext4_ext_"}},

	{cause: run.CauseXFSLog, has: [][]string{{"xlog_", "xfs_log_"}}},
	{cause: run.CauseXFSInode, has: [][]string{{"xfs_dialloc", "xfs_ialloc"}}},
	{cause: run.CauseXFSInodeLock, inner: []string{"xfs_ilock"}},
	{cause: run.CauseXFSBuffer, has: [][]string{{"xfs_buf_lock", "xfs_buf_find", "xfs_buf_get"}}},
	{cause: run.CauseBtrfsTreeLock, inner: []string{"btrfs_tree_", "__btrfs_tree_", "btrfs_lock_root", "btrfs_read_lock_root"}},
	{cause: run.CauseBtrfsTransaction, has: [][]string{{"wait_current_trans", "start_transaction", "btrfs_commit_transaction", "btrfs_sync_log", "wait_log_commit", "btrfs_wait_ordered"}}},

	// d_alloc_parallel waits for a look-up of the same name that is under way
	// (Documentation/filesystems/porting.rst, 4.7).
	{cause: run.CauseNameCache, inner: []string{"d_alloc_parallel", "d_wait_lookup"}},
	// i_rwsem of a directory: exclusive to create and remove, shared to look
	// up and list (Documentation/filesystems/directory-locking.rst).
	{cause: run.CauseDirectoryLock, inner: []string{
		"path_openat", "open_last_lookups", "lookup_open", "lookup_slow", "__lookup_slow", "walk_component", "filename_create", "start_creating", "start_removing",
		"start_dirop", "__start_dirop", "do_mkdirat", "do_mknodat", "do_linkat", "do_unlinkat", "do_rmdir", "do_renameat2", "lock_rename", "lock_two_directories", "iterate_dir",
	}},
	{cause: run.CauseFileLock, inner: []string{
		"do_truncate", "ext4_file_", "ext4_buffered_", "ext4_dio_", "xfs_file_", "xfs_ilock_iocb", "btrfs_file_", "btrfs_inode_lock", "generic_file_", "vfs_fallocate",
		"chmod_common", "chown_common", "vfs_setxattr", "vfs_utimes", "vfs_fileattr_set",
	}},
	{cause: run.CauseAddressSpace, inner: []string{"mmap_", "lock_mm_", "vm_mmap", "__vm_munmap", "do_user_addr_fault", "do_mprotect", "do_madvise", "madvise_lock", "__mm_populate"}},
	{cause: run.CauseSuperblock, inner: []string{"super_lock", "sb_start_", "mnt_want_write", "iterate_supers"}},

	{cause: run.CauseDirtyLimit, has: [][]string{{"balance_dirty_pages"}}},
	{cause: run.CauseDiskFlush, has: [][]string{{"blkdev_issue_flush"}}},
	{cause: run.CauseDiskQueue, has: [][]string{{"blk_mq_get_tag", "rq_qos_wait", "wbt_wait"}}},
	{cause: run.CauseDiskWrite, has: [][]string{{"folio_wait_writeback", "__filemap_fdatawait_range", "filemap_fdatawait", "wait_on_page_writeback"}}},
	{cause: run.CauseDiskRead, has: [][]string{{"submit_bio_wait", "__wait_on_buffer", "bh_read", "__bread", "xfs_buf_iowait", "filemap_get_pages", "filemap_update_page", "blkdev_direct_IO", "iomap_dio_rw", "__iomap_dio_rw"}}},
	{cause: run.CausePageLock, inner: []string{"folio_lock", "__folio_lock", "__lock_page", "folio_wait_bit"}},

	// A table of descriptors that grows waits for an RCU grace period.
	{cause: run.CauseFDTable, has: [][]string{{"expand_files", "expand_fdtable"}}},
	{cause: run.CauseFlock, has: [][]string{{"flock_lock_inode", "locks_lock_", "fcntl_setlk", "__do_sys_flock"}}},
	{cause: run.CausePipe, has: [][]string{{"pipe_", "anon_pipe_"}}},
	{cause: run.CauseSocket, has: [][]string{{"sock_", "__sys_recv", "__sys_send", "unix_stream", "tcp_"}}},
	{cause: run.CauseFUSE, has: [][]string{{"request_wait_answer", "fuse_"}}},
	{cause: run.CauseProcess, has: [][]string{{"do_wait", "kernel_wait4"}}},
}

// sleeping are the functions by which a thread goes to sleep, which say nothing about
// the cause. Where a kernel shows them they are skipped.
var sleeping = []string{
	"__schedule", "schedule", "io_schedule", "preempt_schedule", "mutex_lock", "__mutex_lock", "bit_wait", "__wait_on_bit", "out_of_line_wait_on_bit",
	"wait_on_bit", "folio_wait_bit", "wait_for_completion", "__wait_for_common", "wait_for_common", "percpu_rwsem_wait", "__percpu_down_read",
	"rwsem_down_", "down_write", "down_read", "__down_write", "__down_read",
}

// kernelCause returns the cause that a blocked thread waits for, from its kernel stack,
// innermost function first, and the function that went to sleep.
func kernelCause(stack []string) (cause, symbol string) {
	for len(stack) > 1 && startsWithAny(stack[0], sleeping) {
		stack = stack[1:]
	}
	if len(stack) == 0 {
		return run.CauseKernel, ""
	}
	for i := range causeRules {
		if causeRules[i].takes(stack) {
			return causeRules[i].cause, stack[0]
		}
	}
	return run.CauseIn + stack[0], stack[0]
}

func (r *causeRule) takes(stack []string) bool {
	if r.inner != nil && !startsWithAny(stack[0], r.inner) {
		return false
	}
	for _, set := range r.has {
		if !slices.ContainsFunc(stack, func(f string) bool { return startsWithAny(f, set) }) {
			return false
		}
	}
	return true
}

func startsWithAny(s string, beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(s, b) })
}

// parkedIn are the functions in which idle threads of the Go runtime sleep.
var parkedIn = []string{"futex_", "__futex_", "do_futex", "ep_poll", "do_epoll_", "hrtimer_nanosleep", "do_nanosleep", "ptrace_stop", "do_signal_stop"}

// parseStack reads /proc/PID/task/TID/stack, lines of "[<0>] name+0x1/0x2".
func parseStack(text []byte) (names []string) {
	for line := range strings.Lines(string(text)) {
		_, f, ok := strings.Cut(line, "] ")
		if !ok {
			continue
		}
		f, _, _ = strings.Cut(f, "+0x")
		// The compiler's copies of a function carry a suffix of its own.
		f, _, _ = strings.Cut(strings.TrimSpace(f), ".")
		names = append(names, f)
	}
	return names
}
