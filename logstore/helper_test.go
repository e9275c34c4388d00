package logstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/catalog"
	"github.com/stele-go/stele/logstore/internal/labelindex"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

func newTestLabels() *labelindex.Index { return labelindex.New(splitLabels) }

// A fixedClock stands still.
type fixedClock int64

func (c fixedClock) Now() time.Time         { return time.Unix(0, int64(c)) }
func (c fixedClock) Elapsed() time.Duration { return time.Duration(c) }

// testClock is a clock that only the test moves. It tells a time that is wrong by so
// many nanoseconds.
type testClock struct{ ns, wrong atomic.Int64 }

func newTestClock() *testClock {
	c := new(testClock)
	c.ns.Store(time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *testClock) Now() time.Time           { return time.Unix(0, c.ns.Load()+c.wrong.Load()) }
func (c *testClock) Elapsed() time.Duration   { return time.Duration(c.ns.Load()) }
func (c *testClock) at(d time.Duration) int64 { return c.ns.Load() + int64(d) }

// small returns options of a small store whose disk is never low.
func small() Options { return Options{Memory: minMemory, MinFree: 1, logSegmentSize: 4 << 20} }

// openTest opens a store, waits until it is ready, and closes it when the test
// ends.
func openTest(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	<-s.Ready()
	return s
}

func mustAppend(t testing.TB, s *Store, b Batch) {
	t.Helper()
	if err := s.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// one returns a batch of one line.
func one(l Labels, at int64, line string) Batch {
	return Batch{{l, []Entry{{Time: at, Line: []byte(line)}}}}
}

// A kept entry is an entry of a view.
type kept struct {
	labels string
	time   int64
	line   string
	meta   string
}

func (k kept) String() string {
	return fmt.Sprintf("%s %d %q %q", Labels{k.labels}, k.time, k.line, k.meta)
}

// contents returns all entries of a store, in memory and in segments, each
// stream in order.
func contents(t testing.TB, s *Store) []kept {
	t.Helper()
	v, err := s.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer v.release()
	return v.contents(t, s)
}

func (v *view) contents(t testing.TB, s *Store) (all []kept) {
	t.Helper()
	for seg := range v.segs.Segments() {
		all = append(all, contentsOf(t, seg)...)
	}
	for _, m := range v.mems {
		for n, h := range m.streams.All() {
			if got := s.streams.list.Get(n); got != h.of {
				t.Errorf("stream %d of a memtable is not known", n)
			}
			for _, r := range h.between(nil, 0, math.MaxInt64) {
				all = append(all, kept{h.of.labels.enc, r.time, string(m.line(r)), string(m.meta(r))})
			}
		}
	}
	return all
}

// contentsOf returns all entries of a segment, each stream in order.
func contentsOf(t testing.TB, seg catalog.Segment) (all []kept) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	zones, err := seg.Zones(t.Context())
	must(err)
	var runs segment2.Runs
	lines := map[uint32][]kept{} // by block
	for i, z := range zones {
		list, err := seg.Runs(t.Context(), i)
		must(err)
		runs = append(runs, list...)
		g, err := seg.Group(t.Context(), i)
		must(err)
		var f segment2.Frame
		var d block.Decoder
		for b := z.First; b < z.First+z.Blocks; b++ {
			must(seg.ReadFrame(t.Context(), &f, g, b))
			dictionary, err := seg.Dictionary(t.Context(), f.Dictionary)
			must(err)
			times, err := d.Decode(f.Block, dictionary)
			must(err)
			for i, at := range times {
				lines[uint32(b)] = append(lines[uint32(b)], kept{"", at, string(d.Line(i)), string(d.Meta(i))})
			}
		}
	}
	slices.SortFunc(runs, func(a, b segment2.Run) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Seq, b.Seq))
	})
	for _, r := range runs {
		chunk, err := seg.ChunkOf(t.Context(), r.Ordinal)
		must(err)
		labels, err := seg.Labels(t.Context(), chunk)
		must(err)
		for _, k := range lines[r.Block][r.First : r.First+r.Rows] {
			k.labels = labels.Of(r.Ordinal)
			all = append(all, k)
		}
	}
	return all
}

// counted returns how often each entry is present.
func counted(all []kept) map[kept]int {
	n := map[kept]int{}
	for _, k := range all {
		n[k]++
	}
	return n
}

func sameCounts(t testing.TB, what string, got, want map[kept]int) {
	t.Helper()
	wrong := 0
	for k, n := range want {
		if got[k] != n {
			wrong++
			if wrong < 5 {
				t.Errorf("%s: %d times %v, not %d", what, got[k], k, n)
			}
		}
	}
	for k, n := range got {
		if want[k] == 0 {
			wrong++
			if wrong < 5 {
				t.Errorf("%s: %d times %v, which was not appended", what, n, k)
			}
		}
	}
	if wrong > 4 {
		t.Errorf("%s: and %d more", what, wrong-4)
	}
	if wrong > 0 {
		t.FailNow()
	}
}

// copyStore copies the directory of an open store as kill -9 would leave it: at
// a moment when no file is created, removed or written. Background work of a
// store comes to an end.
func copyStore(t testing.TB, dir string) (to string) {
	t.Helper()
	until(t, "a copy while nothing changes", func() bool {
		to = filepath.Join(t.TempDir(), "copy")
		before, err := filesIn(dir)
		if err == nil {
			err = os.CopyFS(to, os.DirFS(dir))
		}
		after, err2 := filesIn(dir)
		if err = errors.Join(err, err2); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil && slices.Equal(before, after)
	})
	return to
}

// filesIn returns, for each file below dir, properties that a write changes.
func filesIn(dir string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			list = append(list, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
		}
		return err
	})
	return list, err
}

// until waits for a condition; minutes, on a busy machine.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func lines(n, size int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = bytes.Repeat([]byte{'x'}, size)
		copy(list[i], fmt.Sprintf("%d ", i))
	}
	return list
}
