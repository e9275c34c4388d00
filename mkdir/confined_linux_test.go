package mkdir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/mkdir"
)

func TestConfinedRefusesSymlinks(t *testing.T) {
	outside := t.TempDir()
	modes(t, func(t *testing.T, o mkdir.Options) {
		if !o.Confined {
			return
		}
		m, dir := open(t, o)
		t.Chdir(dir)
		must(t, os.MkdirAll("d/e", 0o755))
		for name, target := range map[string]string{
			"out": outside, "rel": "../" + filepath.Base(outside), "in": "d", "nowhere": "x/y", "self": "self", "d/e/up": "../..", "d/proc": "/proc/self/cwd",
		} {
			must(t, os.Symlink(target, name))
			link := filepath.Join(dir, name)
			for _, p := range []string{name, name + "/a", name + "/a/b"} {
				wantErr(t, m.All(p, 0o755), syscall.ELOOP, link)
				_, err := m.Batch(t.Context(), func(yield func(string) bool) { yield(p) }, 0o755)
				wantErr(t, err, syscall.ELOOP, link)
			}
		}
		os.Chdir("/")
	})
	if left := tree(t, outside); len(left) != 0 {
		t.Errorf("made outside: %q", left)
	}
}

// An attacker swaps a directory inside with a symlink that leads outside, and
// back, as fast as it can, while batches run.
func TestConfinedAgainstSwaps(t *testing.T) {
	outside := t.TempDir()
	m, dir := open(t, mkdir.Options{Level: durability.Kill, Confined: true, Workers: 2, CacheSize: 64})
	// The same shape outside, so that every swap would lead somewhere.
	for _, p := range []string{outside, dir} {
		must(t, os.MkdirAll(filepath.Join(p, "a/b"), 0o755))
	}
	before := len(tree(t, outside))
	must(t, os.Symlink(filepath.Join(outside, "a"), filepath.Join(dir, "link")))
	must(t, os.Symlink(filepath.Join(outside, "a/b"), filepath.Join(dir, "a/link")))

	stop := make(chan struct{})
	var wg sync.WaitGroup
	var swaps atomic.Int64
	for parent, name := range map[string]string{dir: "a", filepath.Join(dir, "a"): "b"} {
		// By descriptor: by path, the attacker's own rename would follow the symlink and
		// move directories outside.
		fd, err := unix.Open(parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		wg.Go(func() {
			defer unix.Close(fd)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if unix.Renameat2(fd, name, fd, "link", unix.RENAME_EXCHANGE) == nil {
					swaps.Add(1)
				}
				if i%2 == 1 { // the directory is in its place
					time.Sleep(time.Duration(i%64) * 10 * time.Microsecond)
				}
			}
		})
	}
	done, refused := 0, 0
	for i := 0; i < 200; i++ {
		_, err := m.Batch(t.Context(), func(yield func(string) bool) {
			for j := range 8 {
				if !yield(fmt.Sprintf("a/b/n%d/x%d/y", i, j)) {
					return
				}
			}
		}, 0o755)
		if err == nil {
			err = m.All(fmt.Sprintf("a/b/all%d/z", i), 0o755)
		}
		switch {
		case err == nil:
			done++
		case errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENOENT):
			refused++
		default:
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	if swaps.Load() == 0 {
		t.Skip("this file system cannot exchange names")
	}
	t.Logf("%d swaps; %d calls done, %d refused", swaps.Load(), done, refused)
	if after := tree(t, outside); len(after) != before {
		t.Errorf("%d made outside: %q", len(after)-before, after)
	}
}
