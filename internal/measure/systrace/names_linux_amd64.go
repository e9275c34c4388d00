package systrace

import "golang.org/x/sys/unix"

// ownSyscalls names the calls that amd64 has and arm64 has not: the older
// ones, that take a path without a directory descriptor for the most part.
var ownSyscalls = map[int]string{
	unix.SYS_ACCESS: "access", unix.SYS_AFS_SYSCALL: "afs_syscall", unix.SYS_ALARM: "alarm", unix.SYS_ARCH_PRCTL: "arch_prctl", unix.SYS_CHMOD: "chmod",
	unix.SYS_CHOWN: "chown", unix.SYS_CREAT: "creat", unix.SYS_CREATE_MODULE: "create_module", unix.SYS_DUP2: "dup2",
	unix.SYS_EPOLL_CREATE: "epoll_create", unix.SYS_EPOLL_CTL_OLD: "epoll_ctl_old", unix.SYS_EPOLL_WAIT: "epoll_wait",
	unix.SYS_EPOLL_WAIT_OLD: "epoll_wait_old", unix.SYS_EVENTFD: "eventfd", unix.SYS_FORK: "fork", unix.SYS_FUTIMESAT: "futimesat",
	unix.SYS_GETDENTS: "getdents", unix.SYS_GETPGRP: "getpgrp", unix.SYS_GETPMSG: "getpmsg", unix.SYS_GET_KERNEL_SYMS: "get_kernel_syms",
	unix.SYS_GET_THREAD_AREA: "get_thread_area", unix.SYS_INOTIFY_INIT: "inotify_init", unix.SYS_IOPERM: "ioperm", unix.SYS_IOPL: "iopl",
	unix.SYS_LCHOWN: "lchown", unix.SYS_LINK: "link", unix.SYS_LSTAT: "lstat", unix.SYS_MKDIR: "mkdir", unix.SYS_MKNOD: "mknod",
	unix.SYS_MODIFY_LDT: "modify_ldt", unix.SYS_OPEN: "open", unix.SYS_PAUSE: "pause", unix.SYS_PIPE: "pipe", unix.SYS_POLL: "poll",
	unix.SYS_PUTPMSG: "putpmsg", unix.SYS_QUERY_MODULE: "query_module", unix.SYS_READLINK: "readlink", unix.SYS_RENAME: "rename",
	unix.SYS_RMDIR: "rmdir", unix.SYS_SECURITY: "security", unix.SYS_SELECT: "select", unix.SYS_SET_THREAD_AREA: "set_thread_area",
	unix.SYS_SIGNALFD: "signalfd", unix.SYS_STAT: "stat", unix.SYS_SYMLINK: "symlink", unix.SYS_SYSFS: "sysfs", unix.SYS_TIME: "time",
	unix.SYS_TUXCALL: "tuxcall", unix.SYS_UNLINK: "unlink", 336: "uprobe", unix.SYS_URETPROBE: "uretprobe", unix.SYS_USELIB: "uselib",
	unix.SYS_USTAT: "ustat", unix.SYS_UTIME: "utime", unix.SYS_UTIMES: "utimes", unix.SYS_VFORK: "vfork", unix.SYS_VSERVER: "vserver",
	unix.SYS__SYSCTL: "_sysctl",
}
