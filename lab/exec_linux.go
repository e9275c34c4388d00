package lab

import (
	"os/exec"
	"syscall"

	"github.com/stele-go/stele/internal/measure/fileop"
)

// endWithParent puts the process of a block into a process group of its own, out of
// reach of the terminal's Ctrl-C, which the runner handles. The kernel kills it if
// the runner is killed.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// outliveParent puts a process into a session of its own, which no terminal ends.
func outliveParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// settle writes everything of the file system under dir that waits to be written
// (syncfs(2)).
func settle(dir string) error { return fileop.Syncfs(dir) }
