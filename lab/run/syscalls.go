package run

// runtimeSyscalls are the calls that Go's scheduler, collector and signal
// handling make by themselves. How many there are depends on how goroutines
// happened to meet, not on the job.
//
// mmap and munmap, by which the heap grows, and epoll_ctl, the price of an
// os.File in the poller, are not among them: a variant's choice decides
// about those.
var runtimeSyscalls = map[string]bool{
	// Threads: waiting, waking, starting (with cgo, guard pages) and ending.
	"futex": true, "futex_wait": true, "futex_wake": true, "nanosleep": true, "clock_nanosleep": true, "sched_yield": true,
	"clone": true, "clone3": true, "exit": true, "mprotect": true, "gettid": true, "getpid": true, "sched_getaffinity": true,
	"set_robust_list": true, "rseq": true,
	// The network poller, when idle threads wait in it.
	"epoll_pwait": true, "epoll_pwait2": true, "epoll_wait": true,
	// Preemption by signals, and what a new thread does about signals.
	"tgkill": true, "rt_sigreturn": true, "rt_sigprocmask": true, "rt_sigaction": true, "sigaltstack": true,
	"restart_syscall": true,
	// The heap: pages given back, and the names of its mappings.
	"madvise": true, "prctl": true,
	// The clock, where it cannot be read without a call.
	"clock_gettime": true,
}

// RuntimeSyscall reports whether a system call is counted as the Go
// runtime's and not as the variant's: "syscalls_per_op" leaves it out, and the
// counts by name have it.
func RuntimeSyscall(name string) bool { return runtimeSyscalls[name] }
