package header_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/header"
)

// play runs this program as another process of a test.
func play(role string) int {
	name := os.Getenv(roleEnv + "_FILE")
	var err error
	switch what, arg, _ := strings.Cut(role, ":"); what {
	case "insert":
		n, _ := strconv.Atoi(os.Getenv(roleEnv + "_N"))
		err = insertMany(name, arg, n)
	case "lock":
		err = playLock(name)
	case "trace":
		return playTrace(arg, name)
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// modes are all ways to insert, mixed in the test of many writers.
var modes = []header.Options{
	{Level: durability.Kill},
	{Level: durability.Kill, Mode: header.InPlace},
	{Level: durability.Kill, Mode: header.InPlace, Pad: header.PadByte(' ')},
	{Level: durability.Kill, Strategy: header.KernelCopy},
}

// line returns a header that no other writer has.
func line(who string, i int) string {
	return fmt.Sprintf("<%s %d %s>\n", who, i, strings.Repeat("x", i%50))
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// repeating calls f again and again in the background, until it fails or stop is
// called, which returns f's error.
func repeating(f func() error) (stop func() error) {
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
			}
			if err := f(); err != nil {
				ended <- err
				return
			}
		}
	}()
	return func() error {
		close(done)
		return <-ended
	}
}

func insertMany(name, who string, n int) error {
	for i := range n {
		o := modes[rand.IntN(len(modes))]
		if o.Strategy == header.KernelCopy {
			o.Strategy = header.Auto
		}
		if _, err := header.Insert(context.Background(), name, []byte(line(who, i)), o); err != nil {
			return fmt.Errorf("%s %d: %w", who, i, err)
		}
	}
	return nil
}

// renameMany replaces the file with a copy of itself, under the package's lock, as a
// program that follows the rule for locks does.
func renameMany(name string, n int) error {
	for i := 0; i < n; {
		err := func() error {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
				return err
			}
			mine, err1 := f.Stat()
			now, err2 := os.Stat(name)
			if err := errors.Join(err1, err2); err != nil || !os.SameFile(mine, now) {
				return err
			}
			i++
			to, err := os.Create(name + ".copy")
			if err != nil {
				return err
			}
			_, err = io.Copy(to, f)
			return errors.Join(err, to.Close(), os.Rename(to.Name(), name))
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// Many goroutines and processes insert into one file, atomically and in place, while
// others replace it: no header is lost or torn.
func TestManyWriters(t *testing.T) {
	processes, goroutines, each := 3, 4, 20
	for _, place := range places(t) {
		t.Run(place.name, func(t *testing.T) {
			name := filepath.Join(place.dir, "shared")
			must(t, os.WriteFile(name, []byte("content\n"), 0o644))
			if _, err := header.Reserve(context.Background(), name, 2000, header.Options{Pad: header.PadByte(' ')}); err != nil {
				t.Log(err)
			}
			errs := make(chan error)
			var all sync.WaitGroup
			var writers []string
			for p := range processes {
				who := fmt.Sprintf("process%d", p)
				writers = append(writers, who)
				all.Go(func() {
					cmd := exec.Command(os.Args[0])
					cmd.Env = append(os.Environ(), roleEnv+"=insert:"+who, roleEnv+"_FILE="+name, fmt.Sprintf("%s_N=%d", roleEnv, each),
						"GOCOVERDIR="+os.TempDir())
					if out, err := cmd.CombinedOutput(); err != nil {
						errs <- fmt.Errorf("%w: %s", err, out)
					}
				})
			}
			for g := range goroutines {
				who := fmt.Sprintf("goroutine%d", g)
				writers = append(writers, who)
				all.Go(func() {
					if err := insertMany(name, who, each); err != nil {
						errs <- err
					}
				})
			}
			all.Go(func() {
				if err := renameMany(name, each); err != nil {
					errs <- err
				}
			})
			go func() { all.Wait(); close(errs) }()
			for err := range errs {
				t.Error(err)
			}
			b, err := os.ReadFile(name)
			must(t, err)
			got := string(b)
			for _, who := range writers {
				before := len(got)
				for i := range each {
					l := line(who, i)
					if n := strings.Count(got, l); n != 1 {
						t.Errorf("%q is there %d times", l, n)
					}
					at := strings.Index(got, l) // later ones come first
					if at > before {
						t.Errorf("%q comes after an earlier one", l)
					}
					before = at
				}
			}
			rest := got
			for _, who := range writers {
				for i := range each {
					rest = strings.Replace(rest, line(who, i), "", 1)
				}
			}
			if strings.Trim(rest, " ") != "content\n" {
				t.Errorf("what is not a header is %.200q", rest)
			}
		})
	}
}
