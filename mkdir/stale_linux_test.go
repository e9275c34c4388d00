package mkdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stele-go/stele/durability"
)

// A Maker's memory must not outlive changes of the tree by other processes. Each test
// here is one way in which it could.

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// atLevel returns options with one worker, which makes the order of calls known.
func atLevel(l durability.Level) Options { return Options{Level: l, Workers: 1, Undo: true} }

func openFresh(t *testing.T, o Options) (*Maker, string) {
	t.Helper()
	dir := t.TempDir()
	m, err := OpenRoot(dir, o)
	must(t, err)
	t.Cleanup(func() { m.Close() })
	return m, dir
}

func isDir(elem ...string) bool {
	fi, err := os.Stat(filepath.Join(elem...))
	return err == nil && fi.IsDir()
}

// atEachCheck is a context whose Err calls f. Batch calls Err before each path.
type atEachCheck struct {
	context.Context
	f func() error
}

func (c *atEachCheck) Err() error { return c.f() }

func whenAsked(f func() error) context.Context {
	return &atEachCheck{Context: context.Background(), f: f}
}

// holdSyncs begins a sync of a directory, in a bubble of package synctest, and
// returns when it is under way. Later syncs of that directory wait until goOn is
// called.
func holdSyncs(m *Maker, dir string) (goOn func()) {
	hold := make(chan struct{})
	go m.syncs.Do(dir, func() error { <-hold; return nil })
	synctest.Wait()
	return func() { close(hold) }
}

// A batch that fails because of a file or a symlink does not take it for a
// directory later.
func TestStaleFileCached(t *testing.T) {
	m, dir := openFresh(t, atLevel(durability.Kill))
	must(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644))
	_, err := m.Batch(t.Context(), slices.Values([]string{"f/x"}), 0o755)
	t.Log("batch:", err)
	if err := m.All("f", 0o755); err == nil {
		t.Error("All(f) = nil, f is a file")
	}
	o := atLevel(durability.Kill)
	o.Confined = true
	m, dir = openFresh(t, o)
	must(t, os.Symlink(t.TempDir(), filepath.Join(dir, "out")))
	_, err = m.Batch(t.Context(), slices.Values([]string{"out/x"}), 0o755)
	t.Log("batch:", err)
	if err := m.All("out", 0o755); err == nil {
		t.Error("confined All(out) = nil, a symlink outside")
	}
}

// A file in the place of a known directory fails the batch, though a directory
// below it is known too.
func TestStaleRecalledChildFile(t *testing.T) {
	for _, o := range []Options{atLevel(durability.Kill), atLevel(durability.Power)} {
		m, dir := openFresh(t, o)
		must(t, m.All("a/b/x", 0o755))
		must(t, os.RemoveAll(filepath.Join(dir, "a/b")))
		must(t, os.WriteFile(filepath.Join(dir, "a/b"), nil, 0o644))
		t.Log("All:", m.All("a/b/new", 0o755))
		t.Log("All(a/b):", m.All("a/b", 0o755))
		_, err := m.Batch(t.Context(), slices.Values([]string{"a/b", "a/b/x"}), 0o755)
		if err == nil {
			t.Error("Batch nil with file a/b")
		}
		if m.All("a/b", 0o755) == nil {
			t.Error("All(a/b) nil with file a/b")
		}
	}
}

// A directory that a failed batch created again and did not sync is not known as
// durable.
func TestStalePowerStaleFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, dir := openFresh(t, atLevel(durability.Power))
		must(t, m.All("a/q", 0o755))
		must(t, m.All("p/q", 0o755))
		must(t, os.RemoveAll(filepath.Join(dir, "a")))
		must(t, os.RemoveAll(filepath.Join(dir, "p")))
		ctx := whenAsked(func() error {
			if isDir(dir, "p") {
				return context.Canceled
			}
			return nil
		})
		c, err := m.Batch(ctx, slices.Values([]string{"a/new", "p"}), 0o755)
		t.Log("batch:", err, slices.Collect(c.Paths()))
		if m.known.has("p") {
			t.Error("known (=durable) has p, made by the failed batch, never synced")
		}
		goOn := holdSyncs(m, "")
		done := make(chan error, 1)
		go func() { done <- m.All("p/z", 0o755) }()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("All(p/z) acknowledged at Power with no fsync of root:", <-done)
			goOn()
			return
		}
		goOn()
		must(t, <-done)
	})
}

// When a batch creates a directory again, the Maker forgets the ones below it.
func TestStaleBatchRemadeKeepsBelow(t *testing.T) {
	m, dir := openFresh(t, atLevel(durability.Kill))
	must(t, m.All("a/q", 0o755))
	must(t, m.All("p/q", 0o755))
	must(t, os.RemoveAll(filepath.Join(dir, "a")))
	must(t, os.RemoveAll(filepath.Join(dir, "p")))
	c, err := m.Batch(t.Context(), slices.Values([]string{"a/new", "p"}), 0o755)
	must(t, err)
	t.Log(slices.Collect(c.Paths()))
	must(t, m.All("p/q", 0o755))
	if !isDir(dir, "p/q") {
		t.Error("All(p/q)=nil after the batch re-made p; not there")
	}
}

// A directory that was moved away before its sync is created again. No path below it
// is acknowledged before the new one is durable, or answered from the old one.
func TestStaleAllRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, dir := openFresh(t, atLevel(durability.Power))
		must(t, m.All("a/b/x", 0o755))
		goOnB := holdSyncs(m, "a/b")
		g1 := make(chan error, 1)
		go func() { g1 <- m.All("a/b/new", 0o755) }()
		synctest.Wait() // it waits for its sync
		if !isDir(dir, "a/b/new") {
			t.Error("a/b/new is not made before the sync")
		}
		must(t, os.Rename(filepath.Join(dir, "a/b"), filepath.Join(dir, "z")))
		goOnA := holdSyncs(m, "a")
		goOnB()
		synctest.Wait() // it has noticed, and waits for the sync of a
		if !isDir(dir, "a/b/new") {
			t.Error("a/b/new is not made again")
		}
		g2 := make(chan error, 1)
		go func() { g2 <- m.All("a/b/d", 0o755) }()
		synctest.Wait()
		if len(g2) > 0 {
			t.Error("All(a/b/d) acknowledged while a, which holds the re-made b, was not fsynced")
		}
		goOnA()
		must(t, <-g1)
		must(t, <-g2)
		must(t, m.All("a/b/x", 0o755))
		if !isDir(dir, "a/b/x") {
			t.Error("a/b re-made by this Maker, a/b/x still 'known', missing")
		}
	})
}

// An All that waits for a sync while Undo removes its directory does not
// leave it known.
func TestStaleUndoVsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, dir := openFresh(t, atLevel(durability.Power))
		must(t, m.All("a", 0o755))
		c, err := m.Batch(t.Context(), slices.Values([]string{"a/b"}), 0o755)
		must(t, err)
		m.known.evict() // as an eviction does
		goOn := holdSyncs(m, "a")
		g1 := make(chan error, 1)
		go func() { g1 <- m.All("a/b", 0o755) }()
		synctest.Wait() // it saw EEXIST and waits for its sync
		u := make(chan error, 1)
		go func() { u <- c.Undo() }()
		synctest.Wait()
		if isDir(dir, "a/b") {
			t.Error("Undo waits for the sync before it removes")
		}
		goOn()
		must(t, <-g1)
		must(t, <-u)
		must(t, m.All("a/b", 0o755))
		if !isDir(dir, "a/b") {
			t.Error("after Undo returned, All(a/b)=nil and nothing is made")
		}
		must(t, m.All("a/b", 0o755))
	})
}

// The next Undo repeats a sync that failed.
func TestStaleUndoSyncFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := openFresh(t, atLevel(durability.Power))
		must(t, m.All("a", 0o755))
		c, err := m.Batch(t.Context(), slices.Values([]string{"a/b"}), 0o755)
		must(t, err)
		boom := errors.New("EIO")
		goOn := holdSyncs(m, "a")
		go m.syncs.Do("a", func() error { return boom }) // the next one, which Undo joins
		synctest.Wait()
		u := make(chan error, 1)
		go func() { u <- c.Undo() }()
		synctest.Wait()
		goOn()
		if err := <-u; !errors.Is(err, boom) {
			t.Error("the first Undo did not join the sync that fails:", err)
		}
		goOn = holdSyncs(m, "a")
		go func() { u <- c.Undo() }()
		synctest.Wait()
		if len(u) > 0 {
			t.Error("second Undo did not sync a:", <-u)
			goOn()
			return
		}
		goOn()
		must(t, <-u)
	})
}

// Undo leaves directories that another process has created since, also if the first
// directory of the batch is gone.
func TestStaleUndoFirstGone(t *testing.T) {
	m, dir := openFresh(t, atLevel(durability.Kill))
	moved := false
	ctx := whenAsked(func() error {
		if !moved && isDir(dir, "b") {
			moved = true
			return os.Remove(filepath.Join(dir, "a"))
		}
		return nil
	})
	c, err := m.Batch(ctx, slices.Values([]string{"a", "b", "c"}), 0o755)
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "c")))
	must(t, os.Mkdir(filepath.Join(dir, "c"), 0o755))
	must(t, c.Undo())
	if !isDir(dir, "c") {
		t.Error("Undo removed c, which another process created after the batch")
	}
}

// A file system without birth times below the root does not stop Undo.
func TestStaleUndoMount(t *testing.T) {
	m, dir := openFresh(t, atLevel(durability.Kill))
	mp := filepath.Join(dir, "m")
	must(t, os.Mkdir(mp, 0o755))
	if out, err := exec.Command("mount", "-t", "ramfs", "none", mp).CombinedOutput(); err != nil {
		t.Skip(string(out))
	}
	defer syscall.Unmount(mp, syscall.MNT_DETACH)
	c, err := m.Batch(t.Context(), slices.Values([]string{"a/1", "m/x", "z/1"}), 0o755)
	must(t, err)
	must(t, c.Undo())
	if isDir(dir, "m/x") {
		t.Error("Undo=nil, Len", c.Len(), "and m/x is left")
	}
}

// The largest CacheSize works.
func TestStaleCacheHuge(t *testing.T) {
	o := atLevel(durability.Kill)
	o.CacheSize = math.MaxInt
	m, _ := openFresh(t, o)
	for i := range 200 {
		must(t, m.All(fmt.Sprint("d", i), 0o755))
	}
	n := 0
	for i := range 200 {
		if m.known.has(fmt.Sprint("d", i)) {
			n++
		}
	}
	if n < 200 {
		t.Errorf("CacheSize MaxInt remembers %d of 200", n)
	}
}

// A batch that notices a removal forgets the directories below it.
func TestStaleBatchRemembersLost(t *testing.T) {
	m, dir := openFresh(t, atLevel(durability.Kill))
	done := false
	ctx := whenAsked(func() error {
		if !done && isDir(dir, "a/x") {
			done = true
			return os.RemoveAll(filepath.Join(dir, "a"))
		}
		return nil
	})
	_, err := m.Batch(ctx, slices.Values([]string{"a/x", "a/y"}), 0o755)
	must(t, err)
	must(t, m.All("a/x", 0o755))
	if isDir(dir, "a/y") && !isDir(dir, "a/x") {
		t.Error("Batch=nil and All(a/x)=nil, a was found removed and re-made, a/x missing")
	}
}

// Undo does not remove a directory whose handle could not be read, and returns an
// error.
func TestUndoUnidentified(t *testing.T) {
	dir := t.TempDir()
	m, err := OpenRoot(dir, Options{Level: durability.Kill, Undo: true})
	must(t, err)
	defer m.Close()
	c, err := m.Batch(t.Context(), slices.Values([]string{"d"}), 0o755)
	must(t, err)
	c.ids[0] = unidentified
	name := filepath.Join(dir, "d")
	var pe *fs.PathError
	if err := c.Undo(); !errors.As(err, &pe) || pe.Path != name || c.Len() != 1 {
		t.Errorf("%v, %d left; want an error of %s", err, c.Len(), name)
	}
	if err := os.Remove(name); err != nil {
		t.Error(err)
	}
	if err := c.Undo(); err != nil || c.Len() != 0 {
		t.Errorf("once it is gone: %v, %d left", err, c.Len())
	}
}
