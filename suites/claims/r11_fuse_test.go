package claims

import (
	"os"
	"testing"

	"github.com/stele-go/stele/internal/measure/fileop"
)

func TestVolatileDisk(t *testing.T) {
	d := newVolatileDisk(8)
	d.write([]byte("ab"), 0)
	d.flush()
	d.write([]byte("cd"), 2)
	p := make([]byte, 8)
	if n := d.read(p, 0); n != 8 || string(p[:4]) != "abcd" {
		t.Errorf("before the cut: %q", p[:n])
	}
	d.cut()
	if d.read(p, 0); string(p[:4]) != "ab\x00\x00" {
		t.Errorf("after the cut: %q", p)
	}
	if d.write([]byte("xyz"), 6) || d.write(nil, -1) || d.read(p, 8) != 0 {
		t.Error("the disk has no end")
	}
}

// The kernel leaves O_SYNC to a client that keeps no page cache: it sends the
// flag, and no fsync.
func TestFuseGetsTheFlagAndNoFsync(t *testing.T) {
	c := &fuseClient{disk: newVolatileDisk(8 * 512), passes: true}
	lost, err := c.loseUnflushed(t.TempDir(), os.O_SYNC, 8, nil)
	if err != nil {
		t.Skip(err)
	}
	if lost != 0 || c.fsyncs != 0 || c.disk.flushes != 8 {
		t.Errorf("%d blocks lost, %d fsyncs, %d flushes; want 0, 0, 8", lost, c.fsyncs, c.disk.flushes)
	}
	c = &fuseClient{disk: newVolatileDisk(8 * 512)}
	if lost, err = c.loseUnflushed(t.TempDir(), fileop.DataSync, 8, nil); err != nil || lost != 8 || c.fsyncs != 0 {
		t.Errorf("dropped: %d blocks lost, %d fsyncs, %v", lost, c.fsyncs, err)
	}
	c = &fuseClient{disk: newVolatileDisk(8 * 512)}
	if lost, err = c.loseUnflushed(t.TempDir(), 0, 8, (*os.File).Sync); err != nil || lost != 0 || c.fsyncs != 8 {
		t.Errorf("fsync: %d blocks lost, %d fsyncs, %v", lost, c.fsyncs, err)
	}
}
