package cmdjob

import (
	"os"
	"os/exec"
	"syscall"
)

// add adds the resources of a run and of its descendants that were waited for.
func (u *usage) add(state *os.ProcessState) {
	u.n++
	u.user += state.UserTime()
	u.system += state.SystemTime()
	r, ok := state.SysUsage().(*syscall.Rusage)
	if u.complete = ok; !ok {
		return
	}
	u.minor += r.Minflt
	u.major += r.Majflt
	u.voluntary += r.Nvcsw
	u.involuntary += r.Nivcsw
}

// ownGroup puts a command into a process group, which is killed with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
