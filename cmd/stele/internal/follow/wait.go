package follow

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A Watcher wakes the sources whose files change. One serves any number of sources, with
// one descriptor in all and a watch for each directory. Where the system cannot tell, as on a
// network file system, the files are looked at now and then.
type Watcher struct {
	notify *fsnotify.Watcher // nil if the system has none left

	// watching is held while directories are watched or left. These calls may wait until
	// events are taken, for which mu is needed: mu is never held in them.
	watching sync.Mutex
	dirs     map[string]int // how many subscriptions each directory has; guarded by watching

	mu    sync.Mutex // guards files
	files map[string]map[*subscription]bool
}

// NewWatcher returns a watcher. Close it after its sources.
func NewWatcher() *Watcher {
	w := &Watcher{dirs: map[string]int{}, files: map[string]map[*subscription]bool{}}
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return w
	}
	w.notify = n
	go w.run()
	return w
}

// Close ends the watches.
func (w *Watcher) Close() error {
	if w.notify == nil {
		return nil
	}
	return w.notify.Close()
}

func (w *Watcher) run() {
	for {
		select {
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			w.mu.Lock()
			for s := range w.files[e.Name] {
				s.poke()
			}
			w.mu.Unlock()
		case _, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.wakeAll() // events were dropped
		}
	}
}

func (w *Watcher) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, subs := range w.files {
		for s := range subs {
			s.poke()
		}
	}
}

// A subscription is the interest of one source in its file.
type subscription struct {
	w     *Watcher
	wake  chan struct{}
	path  string
	names []string // that are watched: of the file, and of what it links to
	tried time.Time
}

// subscribe watches the file of a name. The watcher may be nil.
func (w *Watcher) subscribe(path string) *subscription {
	s := &subscription{w: w, wake: make(chan struct{}, 1), path: path}
	s.watch()
	return s
}

// watch begins the watches, if the directory is there.
func (s *subscription) watch() {
	s.tried = time.Now()
	if s.w == nil || s.w.notify == nil {
		return
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(s.path))
	if err != nil {
		return
	}
	name := filepath.Join(dir, filepath.Base(s.path))
	if !s.w.add(name, s) {
		return
	}
	s.names = append(s.names, name)
	if target, err := filepath.EvalSymlinks(name); err == nil && target != name && s.w.add(target, s) {
		s.names = append(s.names, target)
	}
}

func (s *subscription) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscription) close() {
	for _, name := range s.names {
		s.w.remove(name, s)
	}
	s.names = nil
}

// add wakes a subscription at changes of a file. It reports whether the system tells them.
func (w *Watcher) add(name string, s *subscription) bool {
	w.watching.Lock()
	defer w.watching.Unlock()
	w.enter(name, s) // before the first event
	dir := filepath.Dir(name)
	if w.dirs[dir] == 0 && w.notify.Add(dir) != nil {
		w.forget(name, s)
		return false
	}
	w.dirs[dir]++
	return true
}

func (w *Watcher) remove(name string, s *subscription) {
	w.watching.Lock()
	defer w.watching.Unlock()
	w.forget(name, s)
	dir := filepath.Dir(name)
	if w.dirs[dir]--; w.dirs[dir] == 0 {
		delete(w.dirs, dir)
		_ = w.notify.Remove(dir) // it may be gone
	}
}

func (w *Watcher) enter(name string, s *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.files[name] == nil {
		w.files[name] = map[*subscription]bool{}
	}
	w.files[name][s] = true
}

func (w *Watcher) forget(name string, s *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.files[name], s); len(w.files[name]) == 0 {
		delete(w.files, name)
	}
}

// often is how often a file is looked at that no watcher watches, and seldom one that
// has one. A directory that could not be watched is tried again after retry.
const (
	often  = 200 * time.Millisecond
	seldom = 2 * time.Second
	retry  = 10 * time.Second
)

// interval returns how long to wait at most until the file is looked at.
func (s *subscription) interval() time.Duration {
	if s.names == nil && time.Since(s.tried) > retry {
		s.watch()
	}
	if s.names == nil {
		return often
	}
	return seldom
}
