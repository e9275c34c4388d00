package atomicfile_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
)

// A process that writes files in the directory of sweepEnv.
const (
	sweepEnv  = "STELE_SWEEP_DIR"
	sweepLoop = "STELE_SWEEP_LOOP" // how many it commits; unset: it holds one until it is killed
)

func sweepProcess(dir string) error {
	var loops int
	fmt.Sscan(os.Getenv(sweepLoop), &loops)
	if loops == 0 {
		f, err := atomicfile.Create(filepath.Join(dir, "f"), 0o600, atomicfile.Options{})
		if err != nil {
			return err
		}
		defer f.Abort()
		fmt.Println("writing")
		_, err = bufio.NewReader(os.Stdin).ReadByte()
		return err
	}
	d, err := atomicfile.OpenDir(dir, kill)
	if err != nil {
		return err
	}
	defer d.Close()
	for i := range loops {
		name := fmt.Sprint(os.Getpid(), "-", i%10)
		if err := d.WriteFile(name, []byte(name), 0o600); err != nil {
			return err
		}
		if err := atomicfile.WriteFileWith(filepath.Join(dir, name), []byte(name), 0o600, kill); err != nil {
			return err
		}
	}
	return nil
}

// A process runs sweepProcess.
type process struct {
	*exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func start(t *testing.T, dir string, flags uintptr, env ...string) process {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	p := process{Cmd: exec.Command(self)}
	p.Env = append(append(os.Environ(), sweepEnv+"="+dir), env...)
	p.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	p.Stderr = os.Stderr
	p.in, err = p.StdinPipe()
	must(t, err)
	out, err := p.StdoutPipe()
	must(t, err)
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Skip("start a process: ", err)
	}
	t.Cleanup(func() { p.kill(); p.in.Close() })
	return p
}

func (p process) kill() {
	p.Process.Kill()
	p.Wait()
}

func (p process) holds(t *testing.T) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); line != "writing\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

func sweep(t *testing.T, dir string, o atomicfile.SweepOptions) atomicfile.SweepResult {
	t.Helper()
	s, err := atomicfile.Sweep(t.Context(), dir, o)
	must(t, err)
	return s
}

// later returns a time by which no file is new.
func later() time.Time { return time.Now().Add(time.Hour) }

// A file is kept while its writer lives, in whatever PID namespace and even if stopped,
// and removed once the writer is killed.
func TestSweepProcess(t *testing.T) {
	for name, flags := range map[string]uintptr{
		"same namespace":         0,
		"another namespace":      syscall.CLONE_NEWPID,
		"another namespace, USR": syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
	} {
		t.Run(name, func(t *testing.T) {
			if flags != 0 && os.Geteuid() != 0 {
				t.Skip("a PID namespace needs root")
			}
			dir := t.TempDir()
			p := start(t, dir, flags)
			p.holds(t)
			kept := func(when string) {
				t.Helper()
				for range 3 {
					s, err := atomicfile.SweepAt(t.Context(), dir, atomicfile.SweepOptions{}, later)
					must(t, err)
					if len(s.Removed) != 0 || len(s.Kept) != 1 || !strings.Contains(s.Kept[0].Reason, "locked by its writer") {
						t.Fatalf("%s: %+v", when, s)
					}
				}
			}
			kept("while it writes")
			must(t, p.Process.Signal(syscall.SIGSTOP))
			var ws syscall.WaitStatus
			_, err := syscall.Wait4(p.Process.Pid, &ws, syscall.WUNTRACED, nil)
			must(t, err)
			kept("while it is stopped")
			p.kill()
			if flags == 0 {
				if s := sweep(t, dir, atomicfile.SweepOptions{}); len(s.Removed) != 1 || len(s.Kept) != 0 {
					t.Errorf("after its death: %+v", s)
				}
			} else {
				if s := sweep(t, dir, atomicfile.SweepOptions{}); len(s.Removed) != 0 || len(s.Kept) != 1 {
					t.Errorf("a new file that another namespace may be about to lock: %+v", s)
				}
				s, err := atomicfile.SweepAt(t.Context(), dir, atomicfile.SweepOptions{}, later)
				if must(t, err); len(s.Removed) != 1 || len(s.Kept) != 0 {
					t.Errorf("after its death: %+v", s)
				}
			}
			only(t, dir)
		})
	}
}

// Sweep removes the files of sixty killed writers.
func TestSweepKilled(t *testing.T) {
	dir := t.TempDir()
	for range 6 {
		var writers []process
		for range 10 {
			writers = append(writers, start(t, dir, 0))
		}
		for _, p := range writers {
			p.holds(t)
			p.kill()
		}
	}
	if s := sweep(t, dir, atomicfile.SweepOptions{}); len(s.Removed) != 60 || len(s.Kept) != 0 {
		t.Errorf("%d removed, kept: %v", len(s.Removed), s.Kept)
	}
	only(t, dir)
}

// Sweep removes no file of processes that are writing: no Commit fails.
func TestSweepBesideWriters(t *testing.T) {
	dir := t.TempDir()
	ended := make(chan error, 8)
	for i := range cap(ended) {
		flags := uintptr(0)
		if i%4 == 3 && os.Geteuid() == 0 {
			flags = syscall.CLONE_NEWPID
		}
		p := start(t, dir, flags, sweepLoop+"=100")
		go func() { ended <- p.Wait() }()
	}
	for n := 0; n < cap(ended); {
		if s, err := atomicfile.Sweep(t.Context(), dir, atomicfile.SweepOptions{}); err != nil || len(s.Removed) > 0 {
			t.Errorf("%v, %v", s, err)
		}
		select {
		case err := <-ended:
			if n++; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	noTemps(t, dir)
}

// deadTemp creates a file as a killed process leaves it, and returns its name.
func deadTemp(t *testing.T, dir string) string {
	t.Helper()
	p := start(t, dir, 0)
	p.holds(t)
	p.kill()
	found, err := filepath.Glob(filepath.Join(dir, ".stele-*"))
	must(t, err)
	if len(found) != 1 {
		t.Fatal(found)
	}
	return filepath.Base(found[0])
}

func TestSweepTree(t *testing.T) {
	top := t.TempDir()
	outside := t.TempDir()
	for _, dir := range []string{"a/b/c", "d", "e"} {
		must(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	temp := deadTemp(t, outside)
	b, err := os.ReadFile(filepath.Join(outside, temp))
	must(t, err)
	var all []string
	for _, dir := range []string{"", "a", "a/b", "a/b/c", "d"} {
		put(t, filepath.Join(top, dir), temp, string(b))
		put(t, filepath.Join(top, dir), "f", "f")
		all = append(all, filepath.Join(dir, temp))
	}
	must(t, os.Symlink(outside, filepath.Join(top, "link")))
	slices.Sort(all)

	if s := sweep(t, top, atomicfile.SweepOptions{Recursive: true, DryRun: true}); !slices.Equal(s.Removed, all) {
		t.Errorf("would remove %q, want %q", s.Removed, all)
	}
	if s := sweep(t, top, atomicfile.SweepOptions{}); !slices.Equal(s.Removed, []string{temp}) {
		t.Errorf("removed %q from one directory", s.Removed)
	}
	root, err := os.OpenRoot(top)
	must(t, err)
	defer root.Close()
	if s := sweep(t, "a/b", atomicfile.SweepOptions{Root: root}); !slices.Equal(s.Removed, []string{temp}) {
		t.Errorf("removed %q from a/b", s.Removed)
	}
	for _, bad := range []string{"link", "../x", "", "/"} {
		if s, err := atomicfile.Sweep(t.Context(), bad, atomicfile.SweepOptions{Root: root}); err == nil {
			t.Errorf("%q: %v", bad, s)
		}
	}
	if s := sweep(t, ".", atomicfile.SweepOptions{Root: root, Recursive: true}); len(s.Removed) != 3 {
		t.Errorf("removed %q from the rest", s.Removed)
	}
	only(t, outside, temp)
	only(t, filepath.Join(top, "a/b/c"), "f")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := atomicfile.Sweep(ctx, top, atomicfile.SweepOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := atomicfile.Sweep(t.Context(), filepath.Join(top, "no"), atomicfile.SweepOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// With OneMount mounts below are left alone.
func TestSweepOneMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	top := t.TempDir()
	bound, below := t.TempDir(), filepath.Join(top, "d")
	must(t, os.Mkdir(below, 0o755))
	if err := unix.Mount(bound, below, "", unix.MS_BIND, ""); err != nil {
		t.Skip("mount: ", err)
	}
	defer unix.Unmount(below, unix.MNT_DETACH)
	temp := deadTemp(t, bound)
	if s := sweep(t, top, atomicfile.SweepOptions{Recursive: true, OneMount: true}); len(s.Removed) != 0 {
		t.Errorf("removed %q below a mount point", s.Removed)
	}
	if s := sweep(t, top, atomicfile.SweepOptions{Recursive: true}); !slices.Equal(s.Removed, []string{filepath.Join("d", temp)}) {
		t.Errorf("removed %q", s.Removed)
	}
}
