package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stele-go/stele/internal/measure/scratch"
)

// patience is how long an interrupted run removes its files itself. A block may leave
// a hundred thousand of them, which take a slow disk a minute.
const patience = 300 * time.Millisecond

// closeSoon removes the private directory of a place after an interrupt. What takes
// longer than the time it is given is left to a process that outlives this one.
func (p *openPlace) closeSoon(within time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- p.close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		return abandon(filepath.Dir(p.dir))
	}
}

// abandon starts a process that removes a scratch directory once this process, which has
// its lock, has ended.
func abandon(root string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to remove files in the background: %w", err)
	}
	spec, err := json.Marshal(blockSpec{Remove: root})
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("remove files in the background: %w", err)
	}
	defer r.Close()
	_, err = w.Write(spec) // less than a pipe holds
	w.Close()
	if err != nil {
		return fmt.Errorf("remove files in the background: %w", err)
	}
	cmd := exec.Command(exe)
	cmd.Stdin, cmd.Dir = r, filepath.Dir(root)
	cmd.Env = append(os.Environ(), blockEnv+"=1")
	outliveParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("remove files in the background: %w", err)
	}
	return cmd.Process.Release()
}

// removeAbandoned removes a scratch directory as soon as its maker has ended, or sees it
// removed.
func removeAbandoned(root string) error {
	for range 600 {
		if _, err := os.Lstat(root); err != nil {
			return nil
		}
		if _, err := scratch.Sweep(filepath.Dir(root)); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("lab: %s: its maker has not ended within a minute; 'stele sweep' removes it later", root)
}
