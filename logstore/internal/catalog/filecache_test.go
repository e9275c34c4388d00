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

// Segments that are read in turn are opened once, and the tables of version 1
// that are in memory are bounded meanwhile.
func TestTablesAreBounded(t *testing.T) {
	const segments = 24
	for _, c := range []struct {
		name   string
		limit  int64
		listed int // at most
	}{
		{"small tables", 1 << 20, segments},
		{"large tables", 1, 1},
	} {
		o, _ := testOptions()
		s := open(t, t.TempDir(), o)
		s.files.loaded.limit = c.limit
		for i := range segments {
			publish1(t, s, 1, rowsOf(1e18+int64(i)*int64(day), 3, "a"))
		}
		before := s.Stats().Opens
		for range 2 {
			if got := served(t, s); len(got) != 3*segments {
				t.Errorf("%s: %d lines, want %d", c.name, len(got), 3*segments)
			}
		}
		if n := s.Stats().Opens - before; n != 0 {
			t.Errorf("%s: %d segments were opened again", c.name, n)
		}
		var bytes int64
		for _, h := range s.files.loaded.handles {
			bytes += h.tables()
		}
		if l := &s.files.loaded; bytes != l.bytes || len(l.handles) > c.listed {
			t.Errorf("%s: tables of %d segments are counted as %d bytes; want %d of at most %d", c.name, len(l.handles), l.bytes, bytes, c.listed)
		}
		closeCatalog(t, s)
		if l := &s.files.loaded; l.bytes != 0 || len(l.handles) != 0 {
			t.Errorf("%s: tables of %d closed segments are counted as %d bytes", c.name, len(l.handles), l.bytes)
		}
	}
}
