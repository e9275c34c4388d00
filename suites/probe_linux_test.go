package suites

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/stele-go/stele/lab/env"
)

// passing hands everything to a directory, and swallowing all but a sync.
type passing struct{ fs.LoopbackNode }

type swallowing struct{ fs.LoopbackNode }

func (*swallowing) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return 0 }

// mounted mounts a directory in store through FUSE until the end of the test.
func mounted(t *testing.T, store string, node func(*fs.LoopbackRoot) fs.InodeEmbedder) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a mount without fusermount needs root")
	}
	data, err := os.MkdirTemp(store, "stele-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(data) })
	//lint:ignore SA1019 its successor is newer than the version that go.mod requires
	root := &fs.LoopbackRoot{Path: data, NewNode: func(r *fs.LoopbackRoot, _ *fs.Inode, _ string, _ *syscall.Stat_t) fs.InodeEmbedder {
		return node(r)
	}}
	//lint:ignore SA1019 as above
	root.RootNode = root.NewNode(root, nil, "", nil)
	second := time.Second
	at := t.TempDir()
	server, err := fs.Mount(at, root.RootNode, &fs.Options{
		AttrTimeout: &second, EntryTimeout: &second, MountOptions: fuse.MountOptions{FsName: "stele-test", Name: "stele-test", DirectMount: true},
	})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if server.Unmount() == nil {
				return
			}
			time.Sleep(50 * time.Millisecond) // a child that is being started has copies of our files
		}
		t.Error("the mount stays busy")
	})
	return at
}

func probed(t *testing.T, dir string) *env.Syncs {
	t.Helper()
	e := env.Read(dir)
	s, err := env.ProbeSyncs(dir, &e)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.Known, "FUSE") {
		t.Errorf("%s: known: %q", e.FS, s.Known)
	}
	return s
}

// A program that answers syncs and does nothing is found out, where it does so faster
// than it could reach a disk.
func TestProbeFindsSwallowedSyncs(t *testing.T) {
	s := probed(t, mounted(t, "/dev/shm", func(r *fs.LoopbackRoot) fs.InodeEmbedder {
		return &swallowing{fs.LoopbackNode{RootData: r}}
	}))
	sync := s.Ways[0]
	for _, d := range sync.Devices {
		if d.Writes+d.Flushes >= 0.5 {
			t.Skipf("others write to %s all the time", d.Device)
		}
	}
	if took := time.Duration(sync.Time.Median); took >= 100*time.Microsecond {
		t.Skipf("this machine takes %v to ask a program anything", took)
	}
	if s.Verdict != env.NotHonest {
		t.Errorf("%s", s.VerdictLine())
	}
}

// Of a program that passes syncs on it is not said that it is honest, nor that it is not:
// the next sync may be another.
func TestProbeCannotTellOfPrograms(t *testing.T) {
	dir := t.TempDir()
	if e := env.Read(dir); e.Device == "" {
		t.Skip("no disk under the directory for temporary files")
	}
	if s := probed(t, mounted(t, dir, func(r *fs.LoopbackRoot) fs.InodeEmbedder {
		return &passing{fs.LoopbackNode{RootData: r}}
	})); s.Verdict != env.CannotTell {
		t.Errorf("%s", s.VerdictLine())
	}
}
