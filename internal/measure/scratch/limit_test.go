package scratch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/measure/loopfs"
	"github.com/stele-go/stele/internal/measure/throttle"
	"github.com/stele-go/stele/internal/sys"
)

// limited makes an image and limits it, or skips with the kernel's reason.
func limited(t *testing.T, l Limit) *Directory {
	t.Helper()
	needImages(t)
	needMkfs(t, "ext4")
	if !LimitedByGroup() {
		rates(t) // skips where the kernel has none
	}
	return newImage(t, Options{FS: "ext4", Size: 64 << 20, Store: t.TempDir(), Limit: l})
}

// rates returns the limits that the kernel has for any device, as text.
func rates(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := throttle.MountBlkio(dir); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := loopfs.UnmountIdle(dir, time.Minute); err != nil {
			t.Error(err)
		}
	}()
	var all strings.Builder
	for _, file := range []string{"read_iops", "write_iops", "read_bps", "write_bps"} {
		b, err := os.ReadFile(filepath.Join(dir, "blkio.throttle."+file+"_device"))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// writeDirect writes n blocks of the given size past the page cache, and
// returns how long it took.
func writeDirect(t *testing.T, p *Directory, n, size int) time.Duration {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(p.Path, "data"), os.O_CREATE|os.O_RDWR|fileop.DirectFlag, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fileop.Fallocate(f, 0, 0, int64(n*size)); err != nil {
		t.Fatal(err)
	}
	block := sys.AlignedBuffer(size, 4096)
	begin := time.Now()
	for i := range n {
		if _, err := f.WriteAt(block, int64(i*size)); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(begin)
}

// The kernel may let the first slice of 100 ms pass at once.
const slice = 100 * time.Millisecond

func TestLimitOperations(t *testing.T) {
	const n, iops = 100, 199
	p := limited(t, Limit{IOPS: iops})
	if took, want := writeDirect(t, p, n, 4096), n*time.Second/iops; took < want-2*slice {
		t.Errorf("%d writes at %d a second took %v, want %v", n, iops, took, want)
	}
	if err := p.limit(Limit{}); err != nil {
		t.Fatal(err)
	}
	// The disk itself may be as slow as the limit: what it takes now tells nothing.
	if got := rates(t); strings.Contains(got, fmt.Sprintf(" %d\n", iops)) {
		t.Errorf("it was taken away, and the kernel has the limits %q", got)
	}
}

func TestLimitBytes(t *testing.T) {
	const n, size, rate = 20, 256 << 10, 8 << 20
	p := limited(t, Limit{BytesPerSecond: rate})
	if took, want := writeDirect(t, p, n, size), n*size*time.Second/rate; took < want-2*slice {
		t.Errorf("%d bytes at %d a second took %v, want %v", n*size, rate, took, want)
	}
}

// What the journal's thread writes is limited as well, also where it is all
// that is written: a limit of the process's own group would let it pass, and
// so would one of the device that the file system is on.
func TestLimitHoldsForTheJournal(t *testing.T) {
	const n, iops = 40, 100
	p := limited(t, Limit{IOPS: iops})
	dir, err := os.Open(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	begin := time.Now()
	for i := range n {
		if err := os.Mkdir(filepath.Join(p.Path, fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := dir.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	// At least one request of the journal for each.
	if took, want := time.Since(begin), n*time.Second/iops; took < want-2*slice {
		t.Errorf("%d directories, each synced, at %d requests a second took %v, want %v at least", n, iops, took, want)
	}
}

func TestCloseTakesTheLimitAway(t *testing.T) {
	p := limited(t, Limit{IOPS: 4321, BytesPerSecond: 4321 << 10})
	store := filepath.Dir(p.root)
	if got := rates(t); strings.Count(got, " 4321\n") != 2 || strings.Count(got, " 4424704\n") != 2 {
		t.Errorf("the kernel has the limits %q", got)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if got := rates(t); strings.Contains(got, " 4321\n") || strings.Contains(got, " 4424704\n") {
		t.Errorf("the kernel still has the limits %q", got)
	}
	if left := names(t, store); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A scratch directory that was left by a process that was killed loses its limit with the
// next Sweep: demolish is what both call.
func TestDemolishTakesTheLimitAway(t *testing.T) {
	p := limited(t, Limit{IOPS: 5432})
	if err := demolish(p.root); err != nil {
		t.Fatal(err)
	}
	if got := rates(t); strings.Contains(got, " 5432\n") {
		t.Errorf("the kernel still has the limits %q", got)
	}
}

func TestLimitRefuses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are made on Linux only")
	}
	for _, o := range []Options{
		{FS: "ext4", Limit: Limit{IOPS: -1}},
		{FS: "tmpfs", Limit: Limit{IOPS: 1}},
	} {
		o.Store = t.TempDir()
		if p, err := Image(t.Context(), o); err == nil {
			t.Errorf("%+v is no error", o)
			p.Close()
		} else if left := names(t, o.Store); len(left) != 0 {
			t.Errorf("%+v left %q", o, left)
		}
	}
}
