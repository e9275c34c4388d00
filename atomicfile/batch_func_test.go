package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/testseed"
)

func TestBatchAddFunc(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"whole", "failed", "panicked", "ended"} {
		put(t, dir, name, "old")
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	b := atomicfile.NewBatch(atomicfile.Options{})
	defer b.Abort()
	var kept *atomicfile.Content
	var conn syscall.RawConn
	must(t, b.AddFunc(path("whole"), 0o644, func(c *atomicfile.Content) error {
		kept = c
		var err error
		conn, err = c.SyscallConn()
		must(t, err)
		called := false
		must(t, conn.Control(func(uintptr) { called = true }))
		if !called {
			t.Error("no descriptor")
		}
		_, err = io.Copy(c, io.MultiReader(strings.NewReader("n"), strings.NewReader("e")))
		must(t, err)
		_, err = fmt.Fprint(c, "w")
		return err
	}))
	broken := errors.New("broken")
	err := b.AddFunc(path("failed"), 0o644, func(c *atomicfile.Content) error {
		fmt.Fprint(c, "new")
		return broken
	})
	if err != broken {
		t.Errorf("%v, want the function's own error", err)
	}
	func() {
		defer func() {
			if recover() != broken {
				t.Error("the panic is lost")
			}
		}()
		b.AddFunc(path("panicked"), 0o644, func(c *atomicfile.Content) error {
			fmt.Fprint(c, "new")
			panic(broken)
		})
	}()
	// The batch remembers a write that failed.
	err = b.AddFunc(path("failed"), 0o644, func(c *atomicfile.Content) error {
		io.Copy(c, io.MultiReader(strings.NewReader("half"), errReader{broken}))
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("a write failed: %v", err)
	}
	for range 2 {
		_, err1 := kept.Write([]byte("x"))
		_, err2 := kept.ReadFrom(strings.NewReader("x"))
		_, err3 := kept.SyscallConn()
		err4 := conn.Control(func(uintptr) { t.Error("a descriptor after the end") })
		for _, err := range []error{err1, err2, err3, err4} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("after the function has returned: %v", err)
			}
		}
		b.Commit()
	}
	holds(t, path("whole"), "new")
	holds(t, path("failed"), "old")
	holds(t, path("panicked"), "old")

	// The function ends the batch that calls it.
	for _, end := range []func(*atomicfile.Batch){(*atomicfile.Batch).Abort, func(b *atomicfile.Batch) { b.Commit() }} {
		b := atomicfile.NewBatch(kill)
		err := b.AddFunc(path("ended"), 0o644, func(*atomicfile.Content) error { end(b); return nil })
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("the batch is ended: %v", err)
		}
		holds(t, path("ended"), "old")
	}
	only(t, dir, "whole", "failed", "panicked", "ended")
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// In whatever order a batch and a File are used and ended, they close only their own
// descriptors: files opened meanwhile stay open.
func TestClosesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	var strangers []*os.File
	stranger := func() {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("stranger", len(strangers))))
		must(t, err)
		strangers = append(strangers, f)
	}
	defer func() {
		for _, f := range strangers {
			f.Close()
		}
	}()
	seed := testseed.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	name := func() string { return filepath.Join(dir, fmt.Sprint(random.IntN(3))) }
	for range 60 {
		o := kill
		o.NoReplace = random.IntN(2) == 0
		b := atomicfile.NewBatch(o)
		f, err := atomicfile.Create(name(), 0o600, o)
		must(t, err)
		conn, err := f.SyscallConn()
		must(t, err)
		for range 8 {
			switch random.IntN(8) {
			case 0, 1:
				b.Add(name(), []byte("x"), 0o600)
			case 2, 3:
				b.AddFunc(name(), 0o600, func(c *atomicfile.Content) error {
					fmt.Fprint(c, "x")
					if random.IntN(3) == 0 {
						return errors.New("no")
					}
					return nil
				})
			case 4:
				b.Commit()
			case 5:
				b.Abort()
			case 6:
				f.Commit()
			case 7:
				f.Abort()
			}
			stranger()
			if _, err := f.Write([]byte("y")); err != nil {
				conn.Control(func(uintptr) { t.Error("the descriptor of a File that has ended") })
			}
		}
		f.Abort()
		b.Abort()
		for i, s := range strangers {
			if _, err := fmt.Fprint(s, i); err != nil {
				t.Fatalf("seed %d: the file of another goroutine was closed: %v", seed, err)
			}
			must(t, s.Close())
		}
		strangers = nil
	}
	noTemps(t, dir)
}

// Writes of a goroutine that outlives the function fail.
func TestContentLeftBehind(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 50 {
		b := atomicfile.NewBatch(kill)
		begun := make(chan struct{})
		must(t, b.AddFunc(filepath.Join(dir, "f"), 0o600, func(c *atomicfile.Content) error {
			wg.Go(func() {
				for i := 0; ; i++ {
					if _, err := c.Write([]byte("x")); err != nil {
						if !errors.Is(err, fs.ErrClosed) {
							t.Error(err)
						}
						return
					}
					if i == 0 {
						close(begun)
					}
				}
			})
			<-begun
			return nil
		}))
		must(t, b.Commit())
		f, err := os.Create(filepath.Join(dir, "stranger"))
		must(t, err)
		wg.Wait()
		fi, err := f.Stat()
		must(t, err)
		if fi.Size() > 0 {
			t.Fatal("it wrote into a file that was opened later")
		}
		f.Close()
	}
}

// Goroutines that find the same write failed end the file once, and AddFunc does not
// wait for errors that are never read.
func TestContentOfManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	b := atomicfile.NewBatch(atomicfile.Options{Level: durability.Kill})
	defer b.Abort()
	broken := errors.New("broken")
	silent, end := io.Pipe()
	waiting := make(chan error)
	err := b.AddFunc(filepath.Join(dir, "f"), 0o600, func(c *atomicfile.Content) error {
		var wg sync.WaitGroup
		errs := make(chan error, 8)
		for range cap(errs) {
			wg.Go(func() {
				_, err := c.ReadFrom(iotest.ErrReader(broken))
				errs <- err
			})
		}
		go func() {
			_, err := c.ReadFrom(silent)
			waiting <- err
		}()
		wg.Wait()
		for range cap(errs) {
			if err := <-errs; err != broken {
				t.Errorf("%v", err)
			}
		}
		if _, err := c.Write([]byte("x")); err != broken {
			t.Errorf("%v", err)
		}
		return broken
	})
	if err != broken {
		t.Errorf("%v", err)
	}
	only(t, dir)
	end.Close()
	if err := <-waiting; !errors.Is(err, fs.ErrClosed) && err != broken {
		t.Errorf("%v", err)
	}
}
