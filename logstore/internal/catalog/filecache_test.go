package catalog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/logstore/internal/filter"
	"github.com/stele-go/stele/logstore/internal/segment2"
)

// The number of open files is bounded, however many segments and readers there
// are.
func TestFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	o, _ := testOptions()
	o.Files = 1 // so few that the least holds: minHandles
	s := open(t, dir, o)
	const segments = 5 * minHandles
	var want []string
	for i := range segments {
		rows := rowsOf(1e18+int64(i)*1e10, 3, fmt.Sprint("s", i))
		publish(t, s, 1, rows)
		want = append(want, sortedLines(rows)...)
	}
	needle := filter.Word([]byte("answered"))
	var wg sync.WaitGroup
	for g := range 4 * minHandles {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			n := s.Snapshot()
			defer n.Release()
			for range 50 {
				seg, ok := n.Segment(n.v.order[r.IntN(len(n.v.order))].id)
				if !ok {
					t.Error("a segment of the snapshot is not in it")
				}
				if may, err := mayHave(seg, 0, needle); !may || err != nil {
					t.Errorf("May: %v, %v", may, err)
				}
				g, err := seg.Group(context.Background(), 0)
				var f segment2.Frame
				if err == nil {
					err = seg.ReadFrame(context.Background(), &f, g, 0)
				}
				if err != nil || len(f.Block) == 0 {
					t.Error(err)
				}
				if open := s.Stats().Open; open > minHandles {
					t.Errorf("%d segments are open, at most %d may be", open, minHandles)
				}
			}
		})
	}
	wg.Wait()
	if got := served(t, s); len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	if runtime.GOOS == "linux" {
		if n := openIn(t, dir); n > minHandles*fdsPerFile+2 {
			t.Errorf("%d descriptors in the directory", n)
		}
		closeCatalog(t, s)
		if n := openIn(t, dir); n != 0 {
			t.Errorf("%d descriptors in the directory once it is closed", n)
		}
	}
}

// openIn counts the descriptors of this process below the directory.
func openIn(t *testing.T, dir string) (n int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// A needle that is not there rules blocks out, with a mapping and with a copy.
func TestMay(t *testing.T) {
	o, _ := testOptions()
	s := open(t, t.TempDir(), o)
	publish(t, s, 1, rowsOf(1e18, 16, "a"))
	n := s.Snapshot()
	defer n.Release()
	id := n.v.order[0].id
	seg, _ := n.Segment(id)
	for word, want := range map[string]bool{"answered": true, "nowherefound": false} {
		may, err := mayHave(seg, 0, filter.Word([]byte(word)))
		if err != nil || may != want {
			t.Errorf("%s: %v, %v, want %v", word, may, err, want)
		}
	}
	if _, ok := n.Segment(id + 1); ok {
		t.Error("the snapshot has a segment that it should not")
	}
}

// Segments that are read in turn are opened once, beyond sureHandles as well if
// their tables are small.
func TestSmallSegmentsStayOpen(t *testing.T) {
	const segments = 24
	for _, c := range []struct {
		name   string
		tables int64
		opens  func(n int64) bool // of the second round
		most   int64              // open at the end
	}{
		{"small tables", 1 << 20, func(n int64) bool { return n == 0 }, segments},
		{"large tables", 1, func(n int64) bool { return n == segments }, minHandles},
	} {
		o, _ := testOptions()
		s := open(t, t.TempDir(), o)
		s.files.sure, s.files.tables = minHandles, c.tables
		for i := range segments {
			publish(t, s, 1, rowsOf(1e18+int64(i)*int64(day), 3, "a"))
		}
		read := func() int64 {
			before := s.Stats().Opens
			if got := served(t, s); len(got) != 3*segments {
				t.Errorf("%s: %d lines, want %d", c.name, len(got), 3*segments)
			}
			return s.Stats().Opens - before
		}
		read()
		if n := read(); !c.opens(n) {
			t.Errorf("%s: %d segments were opened again", c.name, n)
		}
		if open := s.Stats().Open; open > c.most {
			t.Errorf("%s: %d segments are open, want at most %d", c.name, open, c.most)
		}
		s.files.mu.Lock()
		var weight int64
		for _, h := range s.files.clock {
			weight += h.weight()
		}
		if weight != s.files.weight || weight == 0 {
			t.Errorf("%s: open tables are counted as %d bytes, want %d", c.name, s.files.weight, weight)
		}
		s.files.mu.Unlock()
	}
}
