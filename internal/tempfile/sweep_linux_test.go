package tempfile

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/internal/sys"
)

func open(t *testing.T, dir string) sys.Dir {
	t.Helper()
	d, err := sys.OpenDir(dir, sys.ForSync)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// lock takes the lock on a file as its writer does, until the test ends.
func lock(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !Lock(f) {
		t.Fatal("locked by another process")
	}
}

// The lock decides. The tag counts only for a writer that may not have the lock yet.
func TestSweeper(t *testing.T) {
	me, err := thisWriter()
	if err != nil {
		t.Skip(err)
	}
	with := func(change func(w *writer)) writer {
		w := me
		change(&w)
		return w
	}
	gone := with(func(w *writer) { w.pid = math.MaxInt32 })
	foreign := with(func(w *writer) { w.namespace++ })
	otherBoot := with(func(w *writer) { w.boot = "0123456789abcdef" })
	nobody := with(func(w *writer) { *w = unknownWriter; w.pid = math.MaxInt32 })
	const later = 2 * grace
	up, err := sys.Uptime()
	if err != nil {
		t.Fatal(err)
	}
	reboot := up + time.Hour // by that clock, this kernel boots an hour later
	for _, c := range []struct {
		name   string
		w      writer
		locked bool
		link   bool
		shared bool // with other machines
		after  time.Duration
		kept   string // part of the reason; "" if it is to be removed
	}{
		{name: "this process, before it has the lock", w: me, after: later, kept: "lives"},
		{name: "this process", w: me, locked: true, after: later, kept: "locked by its writer"},
		{name: "a dead process", w: gone},
		{name: "its number is another's now", w: with(func(w *writer) { w.start-- })},
		{name: "a dead process, whose child holds on", w: gone, locked: true, after: later, kept: "locked by its writer"},
		{name: "another namespace, new", w: foreign, kept: "may live"},
		{name: "another namespace, old", w: foreign, after: later},
		{name: "another namespace, old, locked", w: foreign, locked: true, after: later, kept: "locked"},
		{name: "before the clock was set back", w: foreign, after: -time.Hour, kept: "may live"},
		{name: "another boot", w: otherBoot, after: reboot},
		{name: "another boot, a symlink", w: otherBoot, link: true, after: reboot},
		{name: "another kernel, since this boot", w: otherBoot, kept: "since this boot"},
		{name: "another kernel, since this boot, a symlink", w: otherBoot, link: true, kept: "since this boot"},
		{name: "another boot, locked", w: otherBoot, locked: true, after: reboot, kept: "locked"},
		{name: "another boot or another machine", w: otherBoot, shared: true, after: reboot, kept: "another machine"},
		{name: "this boot, shared file system", w: gone, shared: true},
		{name: "another namespace, shared file system, by its clock", w: foreign, shared: true, after: later, kept: "may live"},
		{name: "an unknown writer, new", w: nobody, kept: "may live"},
		{name: "an unknown writer, old", w: nobody, after: later},
		{name: "a symlink of this process", w: me, link: true, after: later, kept: "lives"},
		{name: "a new symlink of a dead process", w: gone, link: true, kept: "may live"},
		{name: "an old symlink of a dead process", w: gone, link: true, after: later},
		{name: "an old symlink of another namespace", w: foreign, link: true, after: later},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := "." + c.w.tag(1) + ".tmp"
			path := filepath.Join(dir, name)
			if c.link {
				err = os.Symlink("f", path)
			} else {
				err = os.WriteFile(path, nil, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.locked {
				lock(t, path)
			}
			for _, dry := range []bool{true, false} {
				s := NewSweeper(open(t, dir), dry, func() time.Time { return time.Now().Add(c.after) })
				s.shared = c.shared
				removed, kept, err := s.Sweep(name)
				if c.shared && dry && kept != "" {
					continue // a dry run cannot read the clock of the file system
				}
				if err != nil || removed != (c.kept == "") || !strings.Contains(kept, c.kept) || removed != (kept == "") {
					t.Errorf("dry %v: removed %v, kept %q, %v; want kept: %q", dry, removed, kept, err, c.kept)
				}
				_, err = os.Lstat(path)
				if there := err == nil; there != (dry || c.kept != "") {
					t.Errorf("dry %v: is there: %v", dry, there)
				}
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

// A file that is not a temporary file stays, whatever its name.
func TestSweeperOthers(t *testing.T) {
	dir := t.TempDir()
	dead := func(i uint64) string {
		w, err := thisWriter()
		if err != nil {
			t.Skip(err)
		}
		w.pid = math.MaxInt32
		return w.tag(i)
	}
	subdir, fifo, plain := dead(1), dead(2), "f"
	err := errors.Join(os.Mkdir(filepath.Join(dir, subdir), 0o755), unix.Mkfifo(filepath.Join(dir, fifo), 0o600),
		os.WriteFile(filepath.Join(dir, plain), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	s := NewSweeper(open(t, dir), false, time.Now)
	for _, name := range []string{subdir, fifo, plain, dead(3)} {
		if removed, kept, err := s.Sweep(name); removed || kept != "" || err != nil {
			t.Errorf("%s: %v, %q, %v", name, removed, kept, err)
		}
	}
}

// If another process locks every new file at once, the writer takes another name, and no
// file is left.
func TestCreateBesideSweeper(t *testing.T) {
	path := t.TempDir()
	dir := open(t, path)
	var stop atomic.Bool
	done := make(chan error, 1)
	go func() {
		for !stop.Load() {
			entries, err := os.ReadDir(path)
			if err != nil {
				done <- err
				return
			}
			for _, e := range entries {
				f, err := os.Open(filepath.Join(path, e.Name()))
				if err != nil {
					continue
				}
				Lock(f)
				f.Close()
			}
		}
		done <- nil
	}()
	for range 2000 {
		f, name, err := Create(dir, DefaultPattern, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.Open(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if Lock(other) {
			t.Fatal("a new file is not locked")
		}
		other.Close()
		if err := errors.Join(dir.Remove(name), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(path); len(entries) > 0 || err != nil {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestStrangerWithoutReadPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	name := Name("*")
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0); err != nil {
		t.Fatal(err)
	}
	removed, kept, err := NewSweeper(open(t, dir), false, time.Now).Sweep(name)
	if removed || !strings.Contains(kept, "read permission") || err != nil {
		t.Errorf("%v, %q, %v", removed, kept, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
		t.Error("it is gone")
	}
}
