package tempfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/stele-go/stele/internal/sys"
)

// grace is the age below which an unlocked file is kept if its writer may live. It is
// long for the time that it covers, that between two system calls.
const grace = time.Minute

// A Sweeper removes the temporary files of dead writers from one directory.
type Sweeper struct {
	dir sys.Dir
	dry bool

	me     writer
	known  bool // me is valid
	shared bool // other machines may write here, with locks that are not visible
	now    func() time.Time
}

// NewSweeper returns a Sweeper for dir. If dry is set it removes nothing and only
// reports what it would remove. now is the clock.
func NewSweeper(dir sys.Dir, dry bool, now func() time.Time) *Sweeper {
	me, err := thisWriter()
	return &Sweeper{dir: dir, dry: dry, me: me, known: err == nil, shared: !dir.SeesLocks(), now: now}
}

// Sweep removes the temporary file or symlink name if its writer is dead. If it is
// not removed, kept is the reason, or "" if name is no temporary file or no longer
// exists.
func (s *Sweeper) Sweep(name string) (removed bool, kept string, err error) {
	w, ok := parse(name)
	if !ok {
		return false, "", nil
	}
	removed, kept, err = s.sweep(name, w)
	if errors.Is(err, fs.ErrNotExist) {
		return false, "", nil // its writer, or another sweeper, was faster
	}
	return removed, kept, err
}

func (s *Sweeper) sweep(name string, w writer) (removed bool, kept string, err error) {
	id, err := s.dir.Identity(name)
	if err != nil {
		return false, "", err
	}
	switch id.Type {
	case 0:
		t, err := s.dir.OpenTemp(name)
		if errors.Is(err, fs.ErrPermission) {
			return false, fmt.Sprintf("its lock cannot be tested without read permission (process %d made it)", w.pid), nil
		}
		if err != nil {
			return false, "", err
		}
		defer t.Close()
		if id, err = t.Identity(); err != nil || id.Type != 0 {
			return false, "", err
		}
		locked, err := t.TryLock()
		switch {
		case err == syscall.EBADF:
			return false, fmt.Sprintf("its lock cannot be tested without write permission (process %d made it)", w.pid), nil
		case err != nil:
			return false, fmt.Sprintf("no locks here, so its writer, process %d, may live: %v", w.pid, err), nil
		case !locked:
			return false, fmt.Sprintf("locked by its writer, process %d", w.pid), nil
		}
		kept, err = s.guard(w, id, false)
		if kept != "" || err != nil {
			return false, kept, err
		}
	case fs.ModeSymlink:
		if kept, err = s.guard(w, id, true); kept != "" || err != nil {
			return false, kept, err
		}
	default:
		return false, "", nil
	}
	now, err := s.dir.Identity(name)
	if err != nil || !now.Same(id) {
		return false, "", err
	}
	if s.dry {
		return true, "", nil
	}
	if err := s.dir.Remove(name); err != nil {
		return false, "", err
	}
	return true, "", nil
}

// guard returns why an unlocked file may still have a living writer, or "".
func (s *Sweeper) guard(w writer, id sys.Identity, link bool) (kept string, err error) {
	unknown := !s.known || w.start == 0
	switch {
	case unknown:
	case w.boot != s.me.boot && s.shared:
		return "written before this boot or on another machine, whose locks may not be seen here", nil
	case w.boot != s.me.boot:
		return s.since(id)
	case w.namespace == s.me.namespace:
		start, err := sys.StartOf(w.pid)
		switch {
		case err == nil && start == w.start:
			return fmt.Sprintf("process %d, which made it, lives", w.pid), nil
		case err != nil && !errors.Is(err, os.ErrNotExist):
			// The process lives, and may be another one by now.
		case !link:
			return "", nil
		}
	}
	if s.shared && s.dry {
		return "its age is not known: a dry run makes no file to get the server's time", nil
	}
	age, err := s.age(id)
	switch {
	case err != nil:
		return "", err
	case age < grace:
		return fmt.Sprintf("less than %v old, and its writer, process %d, may live", grace, w.pid), nil
	}
	return "", nil
}

// bootSlack allows for clocks that the kernel reads at different moments, and for
// file systems that store whole seconds.
const bootSlack = time.Second

// since returns why a file of another boot may belong to another kernel, which
// reaches this file system through a server here (NFS, virtiofs), or "". Its locks
// may not be visible, but it changed the file after this kernel booted.
func (s *Sweeper) since(id sys.Identity) (kept string, err error) {
	up, err := sys.Uptime()
	if err != nil {
		return "", err
	}
	if id.Changed.Before(s.now().Add(-up - bootSlack)) {
		return "", nil
	}
	return "changed since this boot by another machine, whose locks may not be seen here", nil
}

// age returns the time since the file was changed, by the clock of its file system.
func (s *Sweeper) age(id sys.Identity) (time.Duration, error) {
	now := s.now()
	if s.shared {
		t, name, err := Create(s.dir, DefaultPattern, 0o600)
		if err != nil {
			return 0, fmt.Errorf("get the time of the file system: %w", err)
		}
		probe, err := t.Identity()
		if err = errors.Join(err, s.dir.Remove(name), t.Close()); err != nil {
			return 0, fmt.Errorf("get the time of the file system: %w", err)
		}
		now = probe.Changed
	}
	return now.Sub(id.Changed), nil
}
