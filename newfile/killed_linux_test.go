package newfile_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/filetest"
	"github.com/stele-go/stele/internal/tempfile"
	"github.com/stele-go/stele/newfile"
)

// replacerEnv makes this binary replace a file in the directory it names, until it is
// killed.
const replacerEnv = "STELE_NEWFILE_REPLACER"

// replaceForEver writes a line for each Replace. With an odd process ID its files have
// hidden names.
func replaceForEver(dir string) {
	err := func() error {
		d, err := newfile.OpenDir(dir, newfile.Options{Level: durability.Kill})
		if err != nil {
			return err
		}
		if os.Getpid()%2 == 1 {
			newfile.WithoutUnnamed(d)
		}
		for {
			f, err := newfile.Anonymous(d, 0o600)
			if err != nil {
				return err
			}
			if _, err := f.WriteString("whole"); err != nil {
				return err
			}
			if err := errors.Join(f.Replace("f"), f.Close()); err != nil {
				return err
			}
			fmt.Println("replaced")
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// replacer starts a process that replaces files in dir, and returns once it has
// replaced n. The process is killed when the test ends.
func replacer(t *testing.T, dir string, n int) (*exec.Cmd, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), replacerEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for range n {
		if !lines.Scan() {
			return nil, fmt.Errorf("a writer ended: %w", cmp.Or(lines.Err(), cmd.Wait(), io.EOF))
		}
	}
	go io.Copy(io.Discard, out)
	return cmd, nil
}

// Writers that are killed during Replace leave temporary names. Sweep removes them
// all, and none of a writer that is alive.
func TestReplaceKilled(t *testing.T) {
	const writers = 60
	dir := t.TempDir()
	living, err := replacer(t, dir, 1)
	must(t, err)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range writers / 2 {
				cmd, err := replacer(t, dir, 1+rand.IntN(50))
				if err != nil {
					t.Error(err)
					return
				}
				cmd.Process.Kill()
				cmd.Wait()
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	left := temporary(t, dir)
	r, err := atomicfile.Sweep(t.Context(), dir, atomicfile.SweepOptions{})
	must(t, err)
	t.Logf("%d killed writers left %d temporary names with the living one's; removed %d, kept %d", writers, left, len(r.Removed), len(r.Kept))
	living.Process.Kill()
	living.Wait()
	last, err := atomicfile.Sweep(t.Context(), dir, atomicfile.SweepOptions{})
	must(t, err)
	if len(last.Removed) > 1 || len(last.Kept) != 0 {
		t.Errorf("the first Sweep left %v of %d killed writers, %v", last.Removed, writers, last.Kept)
	}
	if n := temporary(t, dir); n != 0 {
		t.Errorf("%d temporary names are left", n)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(b) != "whole" {
		t.Errorf("f holds %q, %v", b, err)
	}
}

func temporary(t *testing.T, dir string) (n int) {
	t.Helper()
	es, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range es {
		if tempfile.Is(e.Name()) {
			n++
		}
	}
	return n
}

// A file is locked while its name is temporary, and no longer once it has its final
// name.
func TestLockGoesWithTheName(t *testing.T) {
	d, dir := open(t, kill)
	newfile.WithoutUnnamed(d)
	f, err := newfile.Anonymous(d, 0o600)
	must(t, err)
	r, err := atomicfile.Sweep(t.Context(), dir, atomicfile.SweepOptions{})
	must(t, err)
	if len(r.Removed) != 0 || len(r.Kept) != 1 {
		t.Errorf("Sweep took a living writer's file: %+v", r)
	}
	must(t, f.Replace("f"))
	other, err := os.Open(d.Path("f"))
	must(t, err)
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("a published file is locked: %v", err)
	}
	must(t, f.Close())
}

// Replace replaces only regular files.
func TestReplaceSpecial(t *testing.T) {
	kinds(t, func(t *testing.T, d *newfile.Dir, dir string) {
		plants := map[string]func(name string) error{
			"fifo":      func(name string) error { return unix.Mkfifo(name, 0o600) },
			"socket":    func(name string) error { return unix.Mknod(name, unix.S_IFSOCK|0o600, 0) },
			"device":    func(name string) error { return unix.Mknod(name, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) },
			"directory": func(name string) error { return os.Mkdir(name, 0o700) },
		}
		for name, make := range plants {
			must(t, os.MkdirAll(filepath.Dir(d.Path(name)), 0o755))
			if err := make(d.Path(name)); errors.Is(err, fs.ErrPermission) {
				continue // devices are for root
			} else if err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(d.Path(name))
			must(t, err)
			f, err := newfile.Anonymous(d, 0o600)
			must(t, err)
			want := fs.ErrInvalid
			if name == "directory" {
				want = unix.EISDIR
			}
			wantErr(t, f.Replace(name), want, d.Path(name))
			if after, err := os.Lstat(d.Path(name)); err != nil || !os.SameFile(before, after) {
				t.Errorf("%s was replaced: %v", name, err)
			}
			must(t, f.Replace("f")) // another name works
			must(t, f.Close())
			if temporary(t, dir) != 0 {
				t.Errorf("%s: a temporary name is left", name)
			}
		}
	})
}

// Truncate and Reuse open only regular files.
func TestExistingSpecial(t *testing.T) {
	for _, o := range []newfile.Options{{Existing: newfile.Truncate}, {Existing: newfile.Reuse}, {Existing: newfile.Reuse, Root: belowRoot}} {
		o.Level = durability.Kill
		d, dir := open(t, o)
		fds := openDescriptors(t)
		must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
		_, err := d.Create("fifo", 0o600)
		wantErr(t, err, fs.ErrInvalid, d.Path("fifo"))
		wantErr(t, d.Touch("fifo", 0o600), fs.ErrInvalid, d.Path("fifo"))
		must(t, closed(d.Create("f", 0o600)))
		must(t, closed(d.Create("f", 0o600)))
		if now := openDescriptors(t); now != fds {
			t.Errorf("%d descriptors before, %d after", fds, now)
		}
	}
}

// A file of Anonymous has the mode and the ACL of a file of Create, also where a
// default ACL takes the place of the umask.
func TestAnonymousModes(t *testing.T) {
	// version 2; user::rw- user:1:r-- group::r-- mask::rw- other::---
	acl := []byte{2, 0, 0, 0,
		1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 1, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
		16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}
	for _, withACL := range []bool{false, true} {
		kinds(t, func(t *testing.T, d *newfile.Dir, dir string) {
			if withACL {
				if err := unix.Setxattr(dir, "system.posix_acl_default", acl, 0); err != nil {
					t.Skip("no ACLs here: ", err)
				}
			}
			defer unix.Umask(unix.Umask(0o027))
			describe := func(name string) string {
				fi, err := os.Stat(d.Path(name))
				must(t, err)
				b := make([]byte, 200)
				n, err := unix.Getxattr(d.Path(name), "system.posix_acl_access", b)
				return fmt.Sprint(fi.Mode(), b[:max(n, 0)], err)
			}
			for i, perm := range []fs.FileMode{0o666, 0o600, 0o777} {
				created, published := fmt.Sprint("c", i), fmt.Sprint("p", i)
				must(t, closed(d.Create(created, perm)))
				f, err := newfile.Anonymous(d, perm)
				must(t, err)
				must(t, f.Publish(published))
				must(t, f.Close())
				if c, p := describe(created), describe(published); c != p {
					t.Errorf("%v: created %s, published %s", perm, c, p)
				}
			}
		})
	}
}

// Level power needs read permission on directories, and its error says so.
func TestReadPermission(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	dir := t.TempDir()
	for d := filepath.Dir(dir); len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	must(t, os.Chmod(dir, 0o733))
	filetest.AsNobody(t, func() {
		if _, err := os.Stat(dir + "/."); err != nil {
			t.Skip("other users cannot reach TMPDIR: ", err)
		}
		const want = ": permission denied: level power opens a directory for reading, to sync it: grant read permission, or set Options.Level to durability.Kill"
		if _, err := newfile.OpenDir(dir, newfile.Options{}); !errors.Is(err, fs.ErrPermission) || err.Error() != "newfile.OpenDir "+dir+want {
			t.Errorf("OpenDir: %v", err)
		}
		d, err := newfile.OpenDir(dir, kill)
		must(t, err)
		must(t, d.Touch("f", 0o600))
		must(t, d.Close())
	})
	must(t, os.Chmod(dir, 0o777))
	filetest.AsNobody(t, func() {
		d, err := newfile.OpenDir(dir, newfile.Options{Shards: 16})
		must(t, err)
		defer d.Close()
		must(t, d.Touch("f", 0o600))
		shard := filepath.Dir(d.Path("f"))
		must(t, os.Chmod(shard, 0o300))
		err = d.Touch(sibling(d, "f"), 0o600)
		var pe *fs.PathError
		if !errors.As(err, &pe) || pe.Op != "sync" || pe.Path != shard || !errors.Is(err, fs.ErrPermission) || len(pe.Err.Error()) < 100 {
			t.Errorf("Touch: %v", err)
		}
	})
}

// sibling returns a name whose file is in the same directory as another.
func sibling(d *newfile.Dir, name string) string {
	all := func(yield func(string) bool) {
		for i := 0; yield(fmt.Sprint(i)); i++ {
		}
	}
	names := slices.Collect(func(yield func(string) bool) {
		for n := range all {
			if filepath.Dir(d.Path(n)) == filepath.Dir(d.Path(name)) {
				yield(n)
				return
			}
		}
	})
	return names[0]
}
