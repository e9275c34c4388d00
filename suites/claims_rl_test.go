package suites

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-go/stele/internal/measure/pagecache"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/lab"
)

// small makes files of the claims a MiB or a few.
const small scale = 1024

// Each variant of R and L does its job once, says what it found, and leaves
// nothing but files in its folder.
func TestReadingAndLogClaimsRun(t *testing.T) {
	has := map[string][]string{
		"R1-read":       {"file_bytes"},
		"R3-goroutines": {"allocs_per_op"},
		"R4":            {"file_bytes"},
		"R4-alone":      {"file_bytes", "read_mean_ns"},
		"L3-paced":      {"call_mean_ns", "call_p99_ns", "line_mean_ns", "lines_per_second"},
		"L4-encode":     {"bytes_per_record"},
		"L5-block":      {"file_bytes"},
		"L6":            {"file_bytes", "read_mean_ns", "hit_share"},
		"L8":            {"file_bytes"},
		"L11-warm":      {"file_bytes", "parsed_share"},
		"L11-cold":      {"file_bytes", "parsed_share"},
	}
	for _, c := range slices.Concat(readingClaims(small), logClaims(small)) {
		t.Run(c.ID, func(t *testing.T) {
			runClaims(t, []Claim{c}, 1, func(t *testing.T, e *lab.Experiment, dir string, b lab.Block) {
				for _, name := range has[e.Name] {
					if why := b.Missing[name]; why != "" {
						t.Logf("%s: no %s: %s", b.Variant, name, why)
					} else if x := b.Metrics[name]; !(x > 0) || math.IsInf(x, 0) {
						t.Errorf("%s of %s: %s is %v", e.ID(), b.Variant, name, x)
					}
				}
				switch {
				case e.Name == "R1-write" && b.Variant == r1Whole:
					wantSize(t, filepath.Join(dir, "f255"), pageBytes)
				case e.Name == "R1-write":
					wantSize(t, filepath.Join(dir, "data"), mebibyte)
				case strings.HasPrefix(e.Name, "R2"):
					wantSize(t, filepath.Join(dir, "data"), small.of(r2Bytes))
				}
			})
		})
	}
}

func wantSize(t *testing.T, name string, want int64) {
	t.Helper()
	if info, err := os.Stat(name); err != nil || info.Size() != want {
		t.Errorf("%s should have %d bytes: %v, %v", filepath.Base(name), want, info, err)
	}
}

// A file that is too large for this place is smaller, and one that would be
// hardly anything is refused.
func TestBigFileIsAsLargeAsThereIsRoom(t *testing.T) {
	dir := t.TempDir()
	if size, err := bigSize(dir, 3*mebibyte+7); err != nil || size != 3*mebibyte {
		t.Errorf("3 MiB and 7 bytes: %d, %v", size, err)
	}
	// Others write to the disk and free it: only where as much is free before
	// and after is it known what was free meanwhile.
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		before, err := sys.StatFS(dir)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("the free space is not known here")
		}
		if err != nil {
			t.Fatal(err)
		}
		size, sizeErr := bigSize(dir, math.MaxInt64)
		after, err := sys.StatFS(dir)
		if err != nil {
			t.Fatal(err)
		}
		if after.Free != before.Free {
			continue
		}
		if sizeErr != nil || size > before.Free/3 || size < bigLeast || size%mebibyte != 0 {
			t.Errorf("as much as there is room for, with %d free: %d, %v", before.Free, size, sizeErr)
		}
		return
	}
	t.Skip("for ten seconds the free space was never the same for a moment")
}

// Limits of control groups are where the kernel has them.
func TestMemoryLimits(t *testing.T) {
	got := memoryLimits("9:name=systemd:/x\n4:cpu,memory:/a/b\n0::/u.slice\nnonsense\n")
	want := []string{
		"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
		"/sys/fs/cgroup/u.slice/memory.max", "/sys/fs/cgroup/memory.max",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What is cold is read from the disk, what is warm is not, and part is part.
func TestBigFileCacheStates(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := writeBig(name, 8*mebibyte, noise()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	big := &bigFile{File: f, size: 8 * mebibyte}
	if err := big.chill(); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	var half int64
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the kernel keeps pages that another processor is at
		err := big.warmPart(0.5)
		if err == nil {
			half, err = pagecache.Cached(f)
		}
		if err == nil && half >= 4*mebibyte && half <= 4*mebibyte+8*mebibyte/100 {
			break
		}
		if time.Since(begun) > 10*time.Second {
			t.Errorf("with a half of 8 MiB read %d bytes are in the page cache, %v", half, err)
			break
		}
	}
	if err := big.warm(); err != nil {
		t.Fatal(err)
	}
	if all, err := pagecache.Cached(f); err != nil || all != big.size {
		t.Errorf("warm: %d of %d bytes are in the page cache, %v", all, big.size, err)
	}
}

func TestSumsLookAtEverything(t *testing.T) {
	page := make([]byte, 2*pageBytes)
	for i := range page {
		page[i] = 1
	}
	if got := sumWords(page[:800]); got != 0x6464646464646464 { // a hundred words
		t.Errorf("sumWords: %#x", got)
	}
	if got := sumPages(page); got != 2 {
		t.Errorf("sumPages: %d, want 2", got)
	}
	if got := firstWord(page); got != 0x01010101 {
		t.Errorf("firstWord: %#x", got)
	}
}

// Runs go forward and backward in turn, and no read leaves the file.
func TestL8OffsetsOfRuns(t *testing.T) {
	const size = 64 * pageBytes
	e := lab.Experiment{Suite: "test", Name: "offsets", Ops: 1}
	v := lab.Variant{Name: "v", Run: func(b *lab.B) error {
		next := l8Offset(l8Runs, b, size)
		var offs []int64
		for i := range int64(4 * l8Run) {
			offs = append(offs, next(i))
		}
		for i, off := range offs {
			if off < 0 || off > size-pageBytes || off%pageBytes != 0 {
				t.Errorf("read %d is at %d", i, off)
			}
			step := int64(pageBytes)
			if i/l8Run%2 == 1 {
				step = -step
			}
			if i%l8Run > 0 && off-offs[i-1] != step {
				t.Errorf("read %d goes %d bytes on, want %d", i, off-offs[i-1], step)
			}
		}
		for b.Loop() {
		}
		return nil
	}}
	if _, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7); err != nil {
		t.Fatal(err)
	}
}

// With A reading ahead of each read, what was not asked for is wasted.
func TestL8CountsHitsAndWaste(t *testing.T) {
	e := l8(small, l8Random)
	b, err := lab.RunOnce(t.Context(), &e, e.Variant(l8Fixed), t.TempDir(), 1, 7)
	if b.Unsupported {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// One cold read of 4 KiB of 128 KiB that were fetched, or fewer at the end.
	if b.Metrics["hit_share"] != 0 || b.Metrics["wasted_share"] < 0.5 || b.Metrics["wasted_share"] >= 1 {
		t.Errorf("one read: hits %v, wasted %v", b.Metrics["hit_share"], b.Metrics["wasted_share"])
	}
}

// A child that cannot read is an error that says why, not a wait for ever.
func TestL6ReportsAChildThatFails(t *testing.T) {
	e := l6(small)
	v := lab.Variant{Name: l6Own, Run: func(b *lab.B) error {
		f, err := openBig(b, "noise", small.of(l6File), noise())
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = readL6InChildren(b, &e, l6Own, f, "/no/such/file")
		return err
	}}
	_, err := lab.RunOnce(t.Context(), &e, &v, t.TempDir(), 1, 7)
	if err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("got %v, want the error of the child", err)
	}
}
