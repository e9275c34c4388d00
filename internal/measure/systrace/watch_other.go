//go:build !linux

package systrace

import "github.com/stele-go/stele/internal/sys"

// A Watcher sees each system call of one process, where that is
// possible.
type Watcher struct{}

// Watch returns an error: there is no eBPF here.
func Watch() (*Watcher, error) { return nil, sys.Unavailable() }

// Drain does nothing.
func (w *Watcher) Drain(pid int) {}

// Calls returns no calls.
func (w *Watcher) Calls() (calls []Call, lost uint64) { return nil, 0 }

// Close does nothing.
func (w *Watcher) Close() error { return nil }
