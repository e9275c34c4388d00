package lab

import (
	"os/exec"
	"syscall"

	"github.com/stele-go/stele/internal/measure/fileop"
)

// endWithParent puts the process of a block out of reach of the terminal's
// Ctrl-C, which the runner answers, and has the kernel end it should the
// runner be killed.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// settle waits until nothing of the file system that dir lies on is waiting
// to be written (syncfs(2)).
func settle(dir string) error { return fileop.Syncfs(dir) }
