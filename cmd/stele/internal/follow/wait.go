package follow

import (
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A watcher tells when something changes in the directory of a file. Where the system
// cannot tell, as on a network file system, the files are looked at now and then.
type watcher struct {
	notify *fsnotify.Watcher
	wake   chan struct{}
}

func watch(path string) *watcher {
	w := &watcher{wake: make(chan struct{}, 1)}
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return w // too many of them, perhaps
	}
	if err := n.Add(filepath.Dir(path)); err != nil {
		n.Close()
		return w
	}
	if target, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(target) != filepath.Dir(path) {
		_ = n.Add(filepath.Dir(target)) // without it, it is looked at now and then
	}
	w.notify = n
	base := filepath.Base(path)
	go func() {
		for {
			select {
			case e, ok := <-n.Events:
				if !ok {
					return
				}
				if filepath.Base(e.Name) == base || filepath.Dir(e.Name) != filepath.Dir(path) {
					w.poke()
				}
			case _, ok := <-n.Errors:
				if !ok {
					return
				}
				w.poke() // events were dropped
			}
		}
	}()
	return w
}

func (w *watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) close() {
	if w.notify != nil {
		w.notify.Close()
	}
}

// often is how often a file is looked at that no watcher watches, and seldom one that
// has one.
const (
	often  = 200 * time.Millisecond
	seldom = 2 * time.Second
)

func (w *watcher) interval() time.Duration {
	if w.notify == nil {
		return often
	}
	return seldom
}
