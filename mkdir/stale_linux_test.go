package mkdir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/durability"
)

func rmust(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
func ropen(t *testing.T, o Options) (*Maker, string) {
	dir := t.TempDir()
	m, err := OpenRoot(dir, o)
	rmust(t, err)
	t.Cleanup(func() { m.Close() })
	return m, dir
}
func rdir(p ...string) bool { fi, err := os.Stat(filepath.Join(p...)); return err == nil && fi.IsDir() }

type hookCtx struct {
	context.Context
	n atomic.Int64
	f func(n int64) error
}

func (c *hookCtx) Err() error { return c.f(c.n.Add(1)) }

var bg = context.Background()
var K = Options{Level: durability.Kill, Workers: 1}
var P = Options{Level: durability.Power, Workers: 1}

// 1 failed batch at Kill caches a file / symlink as directory
func TestStaleFileCached(t *testing.T) {
	m, dir := ropen(t, K)
	rmust(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644))
	_, err := m.Batch(bg, slices.Values([]string{"f/x"}), 0o755)
	t.Log("batch:", err)
	if err := m.All("f", 0o755); err == nil {
		t.Error("All(f) = nil, f is a file")
	}
	o := K
	o.Confined = true
	m, dir = ropen(t, o)
	rmust(t, os.Symlink(t.TempDir(), filepath.Join(dir, "out")))
	_, err = m.Batch(bg, slices.Values([]string{"out/x"}), 0o755)
	t.Log("batch:", err)
	if err := m.All("out", 0o755); err == nil {
		t.Error("confined All(out) = nil, a symlink outside")
	}
}

// 2 Batch returns nil with a file in the way because child recalled
func TestStaleRecalledChildFile(t *testing.T) {
	for _, o := range []Options{K, P} {
		m, dir := ropen(t, o)
		rmust(t, m.All("a/b/x", 0o755))
		rmust(t, os.RemoveAll(filepath.Join(dir, "a/b")))
		rmust(t, os.WriteFile(filepath.Join(dir, "a/b"), nil, 0o644))
		t.Log("All:", m.All("a/b/new", 0o755))
		t.Log("All(a/b):", m.All("a/b", 0o755))
		_, err := m.Batch(bg, slices.Values([]string{"a/b", "a/b/x"}), 0o755)
		if err == nil {
			t.Error("Batch nil with file a/b")
		}
		if m.All("a/b", 0o755) == nil {
			t.Error("All(a/b) nil with file a/b")
		}
	}
}

// 3 failed Power batch leaves cache saying durable for what it re-made and never synced
func TestStalePowerStaleFailed(t *testing.T) {
	m, dir := ropen(t, P)
	rmust(t, m.All("a/q", 0o755))
	rmust(t, m.All("p/q", 0o755))
	rmust(t, os.RemoveAll(filepath.Join(dir, "a")))
	rmust(t, os.RemoveAll(filepath.Join(dir, "p")))
	ctx := &hookCtx{Context: bg, f: func(int64) error {
		if rdir(dir, "p") {
			return context.Canceled
		}
		return nil
	}}
	c, err := m.Batch(ctx, slices.Values([]string{"a/new", "p"}), 0o755)
	t.Log("batch:", err, slices.Collect(c.Paths()))
	if m.known.has("p") {
		t.Error("known (=durable) has p, made by the failed batch, never synced")
	}
	// nobody may fsync the root while we wait: hold the flight of root
	hold := make(chan struct{})
	go m.syncs.Do("", func() error { <-hold; return nil })
	time.Sleep(20 * time.Millisecond)
	done := make(chan error, 1)
	go func() { done <- m.All("p/z", 0o755) }()
	select {
	case err := <-done:
		t.Error("All(p/z) acknowledged at Power with no fsync of root:", err)
	case <-time.After(300 * time.Millisecond):
	}
	close(hold)
}

// 3b re-made without forgetBelow
func TestStaleBatchRemadeKeepsBelow(t *testing.T) {
	m, dir := ropen(t, K)
	rmust(t, m.All("a/q", 0o755))
	rmust(t, m.All("p/q", 0o755))
	rmust(t, os.RemoveAll(filepath.Join(dir, "a")))
	rmust(t, os.RemoveAll(filepath.Join(dir, "p")))
	c, err := m.Batch(bg, slices.Values([]string{"a/new", "p"}), 0o755)
	rmust(t, err)
	t.Log(slices.Collect(c.Paths()))
	rmust(t, m.All("p/q", 0o755))
	if !rdir(dir, "p/q") {
		t.Error("All(p/q)=nil after the batch re-made p; not there")
	}
}

// 4 retry after sync ENOENT: no forget, no forgetBelow; early ack
func TestStaleAllRetry(t *testing.T) {
	m, dir := ropen(t, P)
	rmust(t, m.All("a/b/x", 0o755))
	holdB := make(chan struct{})
	go m.syncs.Do("a/b", func() error { <-holdB; return nil })
	time.Sleep(20 * time.Millisecond)
	g1 := make(chan error, 1)
	go func() { g1 <- m.All("a/b/new", 0o755) }()
	for !rdir(dir, "a/b/new") {
		time.Sleep(time.Millisecond)
	}
	rmust(t, os.Rename(filepath.Join(dir, "a/b"), filepath.Join(dir, "z")))
	holdA := make(chan struct{})
	go m.syncs.Do("a", func() error { <-holdA; return nil })
	time.Sleep(20 * time.Millisecond)
	close(holdB)
	for !rdir(dir, "a/b/new") {
		time.Sleep(time.Millisecond)
	}
	g2 := make(chan error, 1)
	go func() { g2 <- m.All("a/b/d", 0o755) }()
	select {
	case err := <-g2:
		t.Error("All(a/b/d) acknowledged while a, which holds the re-made b, was not fsynced:", err)
	case <-time.After(300 * time.Millisecond):
	}
	close(holdA)
	rmust(t, <-g1)
	rmust(t, m.All("a/b/x", 0o755))
	if !rdir(dir, "a/b/x") {
		t.Error("a/b re-made by this Maker, a/b/x still 'known', missing")
	}
}

// 5 Undo vs All in one Maker: add after forget
func TestStaleUndoVsAll(t *testing.T) {
	m, dir := ropen(t, P)
	rmust(t, m.All("a", 0o755))
	ctx := bg
	c, err := m.Batch(ctx, slices.Values([]string{"a/b"}), 0o755)
	rmust(t, err)
	m.known.evict() // as an eviction does
	hold := make(chan struct{})
	entered := make(chan struct{})
	go m.syncs.Do("a", func() error { close(entered); <-hold; return nil })
	<-entered
	g1 := make(chan error, 1)
	go func() { g1 <- m.All("a/b", 0o755) }()
	time.Sleep(50 * time.Millisecond) // G1 saw EEXIST and waits for its sync
	u := make(chan error, 1)
	go func() { u <- c.Undo() }()
	for rdir(dir, "a/b") {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	close(hold)
	rmust(t, <-g1)
	rmust(t, <-u)
	rmust(t, m.All("a/b", 0o755))
	if !rdir(dir, "a/b") {
		t.Error("after Undo returned, All(a/b)=nil and nothing is made")
	}
	rmust(t, m.All("a/b", 0o755))
}

// 7 Undo: second call forgets failed sync
func TestStaleUndoSyncFail(t *testing.T) {
	m, _ := ropen(t, P)
	rmust(t, m.All("a", 0o755))
	c, err := m.Batch(bg, slices.Values([]string{"a/b"}), 0o755)
	rmust(t, err)
	boom := errors.New("EIO")
	hold := make(chan struct{})
	entered := make(chan struct{})
	go m.syncs.Do("a", func() error { close(entered); <-hold; return nil })
	<-entered
	go m.syncs.Do("a", func() error { return boom }) // the next one, which Undo joins
	time.Sleep(20 * time.Millisecond)
	u := make(chan error, 1)
	go func() { u <- c.Undo() }()
	time.Sleep(50 * time.Millisecond)
	close(hold)
	t.Log("first Undo:", <-u)
	hold2 := make(chan struct{})
	go m.syncs.Do("a", func() error { <-hold2; return boom })
	time.Sleep(20 * time.Millisecond)
	u2 := make(chan error, 1)
	go func() { u2 <- c.Undo() }()
	select {
	case err := <-u2:
		t.Error("second Undo did not sync a:", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(hold2)
}

// 8 Undo birth check off when the first made has gone by the end of the batch
func TestStaleUndoBirthOff(t *testing.T) {
	m, dir := ropen(t, K)
	moved := false
	ctx := &hookCtx{Context: bg, f: func(int64) error {
		if !moved && rdir(dir, "b") {
			moved = true
			return os.Remove(filepath.Join(dir, "a"))
		}
		return nil
	}}
	c, err := m.Batch(ctx, slices.Values([]string{"a", "b", "c"}), 0o755)
	rmust(t, err)
	t.Log(c.first, c.last, slices.Collect(c.Paths()))
	time.Sleep(30 * time.Millisecond)
	rmust(t, os.Remove(filepath.Join(dir, "c")))
	rmust(t, os.Mkdir(filepath.Join(dir, "c"), 0o755))
	rmust(t, c.Undo())
	if !rdir(dir, "c") {
		t.Error("Undo removed c, which somebody made after the batch (birth times are recorded)")
	}
}

// 9 second file system without birth times in the tree
func TestStaleUndoMount(t *testing.T) {
	m, dir := ropen(t, K)
	mp := filepath.Join(dir, "m")
	rmust(t, os.Mkdir(mp, 0o755))
	if out, err := exec.Command("mount", "-t", "ramfs", "none", mp).CombinedOutput(); err != nil {
		t.Skip(string(out))
	}
	defer exec.Command("umount", mp).Run()
	c, err := m.Batch(bg, slices.Values([]string{"a/1", "m/x", "z/1"}), 0o755)
	rmust(t, err)
	rmust(t, c.Undo())
	if rdir(dir, "m/x") {
		t.Error("Undo=nil, Len", c.Len(), "and m/x is left")
	}
}

// 10 CacheSize overflow
func TestStaleCacheHuge(t *testing.T) {
	o := K
	o.CacheSize = math.MaxInt
	m, _ := ropen(t, o)
	for i := range 200 {
		rmust(t, m.All(fmt.Sprint("d", i), 0o755))
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

// 11 batch remembers what a noticed removal took
func TestStaleBatchRemembersLost(t *testing.T) {
	m, dir := ropen(t, K)
	done := false
	ctx := &hookCtx{Context: bg, f: func(int64) error {
		if !done && rdir(dir, "a/x") {
			done = true
			return os.RemoveAll(filepath.Join(dir, "a"))
		}
		return nil
	}}
	_, err := m.Batch(ctx, slices.Values([]string{"a/x", "a/y"}), 0o755)
	rmust(t, err)
	rmust(t, m.All("a/x", 0o755))
	if rdir(dir, "a/y") && !rdir(dir, "a/x") {
		t.Error("Batch=nil and All(a/x)=nil, a was found removed and re-made, a/x missing")
	}
}
