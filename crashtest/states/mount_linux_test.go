package states_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/crashtest/states"
	"github.com/stele-go/stele/internal/sys"
)

// open calls use with a file of dir and closes it.
func withFile(dir, name string, flags int, use func(fd int) error) error {
	fd, err := unix.Open(filepath.Join(dir, name), flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	return errors.Join(use(fd), unix.Close(fd))
}

const blockSize = 4096

// aligned returns a block full of b that O_DIRECT takes.
func aligned(b byte) []byte {
	block := sys.AlignedBuffer(blockSize, blockSize)
	copy(block, bytes.Repeat([]byte{b}, blockSize))
	return block
}

func pwrite(fd int, b []byte, off int64, flags int) error {
	n, err := unix.Pwritev2(fd, [][]byte{b}, off, flags)
	if err == nil && n < len(b) {
		return fmt.Errorf("wrote %d of %d", n, len(b))
	}
	return err
}

// Each call is recorded as it was made.
func TestMountCalls(t *testing.T) {
	three := []byte("abc")
	for _, c := range []struct {
		name string
		work func(dir string) error
		want []string
	}{
		{"write, fsync, fdatasync", func(dir string) error {
			return withFile(dir, "f", unix.O_RDWR, func(fd int) error {
				return errors.Join(pwrite(fd, three, 5, 0), unix.Fsync(fd), unix.Fdatasync(fd))
			})
		}, []string{"write f [5, 8)", "fsync f", "fdatasync f"}},
		{"O_DSYNC", func(dir string) error {
			return withFile(dir, "f", unix.O_WRONLY|unix.O_DSYNC, func(fd int) error { return pwrite(fd, three, 0, 0) })
		}, []string{"write f [0, 3)", "fdatasync f"}},
		{"O_SYNC", func(dir string) error {
			return withFile(dir, "f", unix.O_WRONLY|unix.O_SYNC, func(fd int) error { return pwrite(fd, three, 0, 0) })
		}, []string{"write f [0, 3)", "fsync f"}},
		{"RWF_DSYNC", func(dir string) error {
			return withFile(dir, "f", unix.O_WRONLY, func(fd int) error { return pwrite(fd, three, 0, unix.RWF_DSYNC) })
		}, []string{"write f [0, 3)", "fdatasync f"}},
		{"O_DIRECT, O_DSYNC", func(dir string) error {
			return withFile(dir, "f", unix.O_WRONLY|unix.O_DIRECT|unix.O_DSYNC, func(fd int) error { return pwrite(fd, aligned('x'), 0, 0) })
		}, []string{"write f [0, 4096)", "fdatasync f"}},
		{"O_DIRECT, RWF_DSYNC", func(dir string) error {
			return withFile(dir, "f", unix.O_WRONLY|unix.O_DIRECT, func(fd int) error { return pwrite(fd, aligned('x'), 0, unix.RWF_DSYNC) })
		}, []string{"write f [0, 4096)", "fdatasync f"}},
		{"create and O_APPEND", func(dir string) error {
			return withFile(dir, "new", unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND, func(fd int) error {
				_, err := unix.Write(fd, three)
				_, err2 := unix.Write(fd, three)
				return errors.Join(err, err2)
			})
		}, []string{"create new", "write new [0, 3)", "write new [3, 6)"}},
		{"O_TRUNC", func(dir string) error {
			return withFile(dir, "f", unix.O_WRONLY|unix.O_TRUNC, func(fd int) error { return nil })
		}, []string{"truncate f to 0"}},
		{"O_TMPFILE", func(dir string) error {
			return withFile(dir, ".", unix.O_WRONLY|unix.O_TMPFILE, func(fd int) error {
				return errors.Join(pwrite(fd, three, 0, 0),
					unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, filepath.Join(dir, "t"), unix.AT_SYMLINK_FOLLOW))
			})
		}, []string{"create unnamed .", "write (no name) [0, 3)", "link (no name) as t"}},
		{"names", func(dir string) error {
			in := func(name string) string { return filepath.Join(dir, name) }
			return errors.Join(
				os.Mkdir(in("d"), 0o755), os.Link(in("f"), in("d/g")), os.Rename(in("d/g"), in("h")),
				os.Symlink("h", in("l")), os.Remove(in("h")), os.Remove(in("d")), os.Chmod(in("f"), 0o640))
		}, []string{"mkdir d", "link f as d/g", "rename d/g to h", "symlink l -> h", "unlink h", "rmdir d", "chmod f"}},
		{"sync of a directory", func(dir string) error {
			return withFile(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, unix.Fsync)
		}, []string{"fsync directory ."}},
		{"renameat2", func(dir string) error {
			f, g := filepath.Join(dir, "f"), filepath.Join(dir, "g")
			rename := func(from, to string, flags uint) error {
				return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
			}
			if err := rename(f, g, unix.RENAME_NOREPLACE); err != unix.EEXIST {
				return fmt.Errorf("RENAME_NOREPLACE: %v", err)
			}
			return rename(f, g, unix.RENAME_EXCHANGE)
		}, []string{"exchange f and g"}},
		{"fallocate", func(dir string) error {
			return withFile(dir, "f", unix.O_RDWR, func(fd int) error {
				return errors.Join(unix.Fallocate(fd, 0, 0, 100), unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, 1000),
					unix.Fallocate(fd, unix.FALLOC_FL_ZERO_RANGE, 2, 4), unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 90, 100))
			})
		}, []string{"allocate f [8, 100)", "allocate f [2, 6)", "allocate f [90, 100)"}},
		{"copy_file_range", func(dir string) error {
			return withFile(dir, "f", unix.O_RDONLY, func(from int) error {
				return withFile(dir, "g", unix.O_WRONLY, func(to int) error {
					n, err := unix.CopyFileRange(from, nil, to, nil, 8, 0)
					if n != 8 {
						return fmt.Errorf("copied %d: %w", n, err)
					}
					return err
				})
			})
		}, []string{"write g [0, 8)"}},
		{"extended attributes", func(dir string) error {
			f := filepath.Join(dir, "f")
			err := errors.Join(unix.Setxattr(f, "user.a", three, 0), unix.Setxattr(f, "user.a", []byte("d"), unix.XATTR_REPLACE))
			buf := make([]byte, 10)
			n, getErr := unix.Getxattr(f, "user.a", buf)
			if getErr != nil || string(buf[:n]) != "d" {
				return fmt.Errorf("it is %q, %v", buf[:max(n, 0)], getErr)
			}
			if n, err := unix.Listxattr(f, buf); err != nil || string(buf[:n]) != "user.a\x00" {
				return fmt.Errorf("the list is %q, %v", buf[:max(n, 0)], err)
			}
			err = errors.Join(err, unix.Removexattr(f, "user.a"))
			if _, again := unix.Getxattr(f, "user.a", buf); again != unix.ENODATA {
				return fmt.Errorf("removed, and then: %v", again)
			}
			return err
		}, []string{"setxattr f user.a", "setxattr f user.a", "setxattr f user.a"}},
		{"reads, statfs, flock, mmap", func(dir string) error {
			return withFile(dir, "f", unix.O_RDONLY, func(fd int) error {
				b, err := os.ReadFile(filepath.Join(dir, "f"))
				if err != nil || string(b) != "fffffff\n" {
					return fmt.Errorf("it holds %q, %v", b, err)
				}
				m, err := unix.Mmap(fd, 0, 8, unix.PROT_READ, unix.MAP_SHARED)
				if err != nil || !bytes.Equal(m, b) {
					return fmt.Errorf("mapped, it holds %q, %v", m, err)
				}
				entries, err := os.ReadDir(dir)
				if err != nil || len(entries) != 2 || entries[0].Name() != "f" {
					return fmt.Errorf("the directory holds %v, %v", entries, err)
				}
				var st unix.Statfs_t
				return errors.Join(unix.Munmap(m), unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB), unix.Fstatfs(fd, &st))
			})
		}, nil},
		{"a shared mapping and msync", func(dir string) error {
			return withFile(dir, "f", unix.O_RDWR, func(fd int) error {
				m, err := unix.Mmap(fd, 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
				if err != nil {
					return err
				}
				m[0] = 'X'
				return errors.Join(unix.Msync(m, unix.MS_SYNC), unix.Munmap(m))
			})
		}, []string{"write f [0, 8)", "fdatasync f"}},
		{"another program", func(dir string) error {
			cmd := exec.Command("sh", "-c", "echo abc >> f && mv f k")
			cmd.Dir = dir
			return cmd.Run()
		}, []string{"write f [8, 12)", "rename f to k"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := recordMount(t, states.MountOptions{Prepare: func(dir string) error {
				return errors.Join(os.WriteFile(filepath.Join(dir, "f"), []byte("fffffff\n"), 0o600), os.WriteFile(filepath.Join(dir, "g"), nil, 0o600))
			}}, func(dir string, _ func(int)) error { return c.work(dir) })
			if got := h.Ops(); !slices.Equal(got, c.want) {
				t.Errorf("it arrived as %q, want %q", got, c.want)
			}
		})
	}
}

func TestMountNoExchange(t *testing.T) {
	h := recordMount(t, states.MountOptions{NoExchange: true}, func(dir string, _ func(int)) error {
		f, g := filepath.Join(dir, "f"), filepath.Join(dir, "g")
		if err := errors.Join(os.WriteFile(f, nil, 0o600), os.WriteFile(g, nil, 0o600)); err != nil {
			return err
		}
		if err := unix.Renameat2(unix.AT_FDCWD, f, unix.AT_FDCWD, g, unix.RENAME_EXCHANGE); err != unix.EINVAL {
			return fmt.Errorf("RENAME_EXCHANGE: %v", err)
		}
		return os.Rename(f, g)
	})
	if got, want := h.Ops(), []string{"create f", "create g", "rename f to g"}; !slices.Equal(got, want) {
		t.Errorf("it arrived as %q, want %q", got, want)
	}
}

// An acknowledgement covers the operations before it, and crash states have what the
// kernel would show.
func TestMountStates(t *testing.T) {
	write := func(sync bool) func(dir string, ack func(int)) error {
		return func(dir string, ack func(int)) error {
			return withFile(dir, "f", unix.O_WRONLY, func(fd int) error {
				for i := range 3 {
					if err := pwrite(fd, aligned(byte('a'+i)), int64(i)*blockSize, 0); err != nil {
						return err
					}
					if sync {
						if err := unix.Fdatasync(fd); err != nil {
							return err
						}
					}
					ack(i)
				}
				return nil
			})
		}
	}
	prepare := func(dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "f"), nil, 0o600), os.Chmod(filepath.Join(dir, "f"), 0o640),
			os.Symlink("f", filepath.Join(dir, "l")), os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "h")))
	}
	check := func(dir string, acked []int) error {
		b, err := os.ReadFile(filepath.Join(dir, "l"))
		if err != nil {
			return err
		}
		for _, i := range acked {
			if len(b) < (i+1)*blockSize || !bytes.Equal(b[i*blockSize:(i+1)*blockSize], aligned(byte('a'+i))) {
				return fmt.Errorf("block %d: %w", i, errLost)
			}
		}
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join(dir, "h"), &st); err != nil {
			return err
		}
		if st.Nlink != 2 || st.Mode&0o777 != 0o640 {
			return fmt.Errorf("the file has %d links and the mode %o", st.Nlink, st.Mode)
		}
		return nil
	}
	o := states.MountOptions{Prepare: prepare}
	for _, model := range []states.Model{states.POSIX, states.Journaled} {
		h := recordMount(t, o, write(true))
		rep := h.CheckDir(states.Options{Model: model}, check)
		if t.Log(rep); rep.Err() != nil || !rep.Exhaustive {
			t.Error(rep)
		}
		rep = recordMount(t, o, write(false)).CheckDir(states.Options{Model: model, Max: 300}, check)
		if !errors.Is(rep.Err(), errLost) {
			t.Errorf("without a sync: %v", rep)
		}
	}
}
