package header

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/internal/measure/fileop"
	"github.com/stele-go/stele/internal/sys"
)

// ShiftingDirs returns directories on file systems that shift extents, by name.
// The tests that make images set it.
var ShiftingDirs func() map[string]string

// onShifting runs f in a directory on each file system that shifts extents.
func onShifting(t *testing.T, f func(t *testing.T, dir string)) {
	dirs := ShiftingDirs()
	if len(dirs) == 0 {
		dirs = map[string]string{"tmp": os.TempDir()}
	}
	for name, dir := range dirs {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp(dir, "shift-")
			check(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			if l := layoutOf(t, dir); !l.Shifts() {
				t.Skip("temporary files are not on ext4 or XFS, and there are no images here")
			}
			f(t, dir)
		})
	}
}

func layoutOf(t *testing.T, dir string) sys.Layout {
	t.Helper()
	d, err := os.Open(dir)
	check(t, err)
	defer d.Close()
	l, err := sys.LayoutOf(d)
	check(t, err)
	return l
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A shape is the layout of a file on disk.
type shape struct {
	name string
	size int64
	hole func(block int64) bool // unless nil
	many bool                   // each block is an extent
	room bool                   // beyond the end
}

var shapes = []shape{
	{name: "a byte", size: 1},
	{name: "a block", size: 4096},
	{name: "blocks", size: 10 * 4096},
	{name: "not whole blocks", size: 1<<20 + 1},
	{name: "room beyond the end", size: 30*4096 + 5, room: true},
	{name: "holes", size: 50*4096 + 7, hole: func(b int64) bool { return b%5 > 2 }},
	{name: "a hole at the head", size: 50 * 4096, hole: func(b int64) bool { return b < 9 }},
	{name: "a hole at the end", size: 50 * 4096, hole: func(b int64) bool { return b > 30 }},
	{name: "many extents", size: 900 * 4096, many: true},
	{name: "many extents and holes", size: 900 * 4096, many: true, hole: func(b int64) bool { return b%100 == 7 }},
}

// make creates the file, and returns it open with its content.
func (s shape) make(t *testing.T, dir string) (*os.File, []byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(s.size), 3))
	f, err := os.Create(filepath.Join(dir, strings.ReplaceAll(s.name, " ", "-")))
	check(t, err)
	t.Cleanup(func() { f.Close() })
	other, err := os.Create(f.Name() + ".other")
	check(t, err)
	defer other.Close()
	content := make([]byte, s.size)
	check(t, f.Truncate(s.size))
	for off := int64(0); off < s.size; off += 4096 {
		if s.hole != nil && s.hole(off/4096) {
			continue
		}
		if s.many { // another file takes the next block
			check(t, errors.Join(fileop.Fallocate(f, 0, off, min(4096, s.size-off)), fileop.Fallocate(other, 0, off, 4096)))
		}
		b := content[off:min(off+4096, s.size)]
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		_, err := f.WriteAt(b, off)
		check(t, err)
	}
	if s.many {
		check(t, f.Sync())
		// Only a fresh file system is sure to alternate the blocks of the two files: on a
		// disk in use the allocator places each file apart.
		if extents, err := sys.Extents(f); err != nil || len(extents) < 500 && len(ShiftingDirs()) > 0 {
			t.Fatalf("%d extents, %v: the file is not as it was to be", len(extents), err)
		}
	}
	if s.room {
		check(t, fileop.Fallocate(f, fileop.FallocKeepSize, s.size, 5*4096))
	}
	return f, content
}

func holds(t *testing.T, f *os.File, want []byte) {
	t.Helper()
	got, err := os.ReadFile(f.Name())
	check(t, err)
	if !bytes.Equal(got, want) {
		at, _ := diffRange(append(got, make([]byte, max(0, len(want)-len(got)))...), append(want, make([]byte, max(0, len(got)-len(want)))...))
		t.Fatalf("the file has %d bytes, want %d; the first difference is at %d", len(got), len(want), at)
	}
}

func noIntent(t *testing.T, f *os.File) {
	t.Helper()
	if _, found, err := readIntent(f); found || err != nil {
		t.Errorf("an intent is left (%v)", err)
	}
}

func hasRecord(t *testing.T, f *os.File, want string) {
	t.Helper()
	got, err := sys.GetAttr(int(f.Fd()), recordName)
	if err != nil && !sys.NoXattr(err) {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("the record is %q, want %q", got, want)
	}
}

func shiftHead(blocks int) []byte {
	return bytes.Repeat([]byte("the head\n12345678901234567890123"), blocks*4096/32)
}

func TestShift(t *testing.T) {
	onShifting(t, func(t *testing.T, dir string) {
		for _, sh := range shapes {
			for _, blocks := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s, %d", sh.name, blocks), func(t *testing.T) {
					f, content := sh.make(t, dir)
					head := shiftHead(blocks)
					before, err := f.Stat()
					check(t, err)
					s := shifter{f: f, block: 4096, record: []byte("mine"), sync: blocks == 3}
					check(t, s.insert(head))
					holds(t, f, append(head[:len(head):len(head)], content...))
					noIntent(t, f)
					hasRecord(t, f, "mine")
					after, err := f.Stat()
					check(t, err)
					if more := sys.AllocatedBytes(after) - sys.AllocatedBytes(before); sh.hole != nil && more > 2*int64(len(head)) {
						t.Errorf("the file takes %d bytes more: the holes are gone", more)
					}
					s.record = nil
					check(t, s.remove(int64(len(head))))
					holds(t, f, content)
					noIntent(t, f)
					hasRecord(t, f, "")
				})
			}
		}
	})
}

func TestShiftUnsuited(t *testing.T) {
	onShifting(t, func(t *testing.T, dir string) {
		refused := func(what string, f *os.File, head []byte) {
			t.Helper()
			before, err := os.ReadFile(f.Name())
			check(t, err)
			s := shifter{f: f, block: 4096}
			if err := s.insert(head); !errors.Is(err, errNotApplicable) {
				t.Errorf("%s: %v", what, err)
			}
			holds(t, f, before)
			noIntent(t, f)
		}
		f, _ := shape{name: "refused", size: 5000}.make(t, dir)
		refused("half a block", f, make([]byte, 2048))
		check(t, f.Truncate(0))
		refused("nothing to shift", f, shiftHead(1))
		check(t, f.Truncate(1<<20))
		refused("one hole", f, shiftHead(1))
		f, _ = shape{name: "holes everywhere", size: 9000 * 4096, hole: func(b int64) bool { return b%2 > 0 }}.make(t, dir)
		if sys.FSName(layoutOf(t, dir).Magic) != "xfs" { // where an attribute can be 64 KiB
			refused("more holes than an attribute holds", f, shiftHead(1))
		}
	})
	f, err := os.CreateTemp("/dev/shm", "stele-shift-test")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.WriteString("content")
	check(t, err)
	s := shifter{f: f, block: 4096}
	if err := s.insert(shiftHead(1)); !errors.Is(err, errNotApplicable) {
		t.Errorf("on tmpfs: %v", err)
	}
}

func appendTo(t *testing.T, f *os.File, n int) {
	t.Helper()
	a, err := os.OpenFile(f.Name(), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = a.Write(bytes.Repeat([]byte("a"), n))
	check(t, errors.Join(err, a.Close()))
}

// Appends during a shift are not lost.
func TestShiftBesideAppends(t *testing.T) {
	onShifting(t, func(t *testing.T, dir string) {
		f, content := shape{name: "log", size: 100 * 4096}.make(t, dir)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		var appended int
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				appendTo(t, f, 100)
				appended += 100
			}
		})
		s := shifter{f: f, block: 4096}
		var want []byte
		for i := range 20 {
			head := bytes.Repeat([]byte{byte('A' + i)}, 4096)
			check(t, s.insert(head))
			want = append(head, want...)
		}
		check(t, s.remove(4096))
		close(stop)
		wg.Wait()
		want = append(append(want[4096:], content...), bytes.Repeat([]byte("a"), appended)...)
		holds(t, f, want)
	})
}
