package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stele-go/stele/logstore/internal/segment2"
)

// Publications, compactions, retention and queries at once: each snapshot has
// each entry that was published before it and has not expired, once, and no
// other.
func TestStorm(t *testing.T) {
	const publications = 60
	dir := t.TempDir()
	o, c := testOptions()
	o.Retention = 30 * time.Minute
	o.Files = 1
	o.CacheBytes = 32 << 10 // so that it forgets
	o.SegmentSpan, o.SmallSpan = 20*time.Minute, 20*time.Minute
	s := open(t, dir, o)

	var (
		mu     sync.Mutex // the owner's lock: see Publish
		ledger = map[string]int64{}
		failed atomic.Bool
		done   = make(chan struct{})
		wg     sync.WaitGroup
	)
	fail := func(format string, args ...any) {
		failed.Store(true)
		t.Errorf(format, args...)
	}
	// verify reads and checks a whole snapshot.
	verify := func(n *Snapshot, want map[string]int64, oldest int64) {
		lines, errs := linesOf(n)
		if len(errs) > 0 {
			fail("reading: %v", errors.Join(errs...))
			return
		}
		got := map[string]bool{}
		for _, l := range flat(lines) {
			if _, there := want[l]; !there || got[l] {
				fail("%q is there twice, or too early, or was never published", l)
				return
			}
			got[l] = true
		}
		for l, at := range want {
			if !got[l] && at >= oldest {
				fail("%q is missing", l)
				return
			}
		}
	}
	wg.Go(func() {
		defer close(done)
		r := rand.New(rand.NewPCG(3, 4))
		for i := 0; i < publications && !failed.Load(); i++ {
			rows := map[string][]row{}
			for range 1 + r.IntN(4) {
				stream := fmt.Sprint("s", r.IntN(8))
				n := 1 + r.IntN(40)
				at := c.Now().UnixNano() - r.Int64N(int64(10*time.Minute))
				for j := range n {
					line := fmt.Sprintf("%s: line %d of publication %d, %d", stream, j, i, r.Uint64())
					rows[stream] = append(rows[stream], row{at + int64(j), line})
				}
			}
			info := segment2.Info{After: s.Upto(), Upto: s.Upto() + 1 + uint64(r.IntN(5)), Created: c.Now().UnixNano()}
			err := s.Publish(t.Context(), info, func(w *segment2.Writer) error { return writeRows(w, byTime(rows), 16) }, func(publish func()) {
				mu.Lock()
				defer mu.Unlock()
				for _, list := range rows {
					for _, r := range list {
						ledger[r.line] = r.time
					}
				}
				publish()
			})
			if err != nil {
				fail("publishing: %v", err)
			}
			c.forward(time.Duration(r.Int64N(int64(2 * time.Minute))))
		}
	})
	for g := range 2 {
		wg.Go(func() { // one of them waits for the other
			for {
				select {
				case <-done:
					return
				default:
				}
				run := s.Maintain
				if g == 1 {
					run = s.CompactAll
				}
				if err := run(t.Context()); err != nil {
					fail("maintaining: %v", err)
					return
				}
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				n := s.Snapshot()
				want := make(map[string]int64, len(ledger))
				for l, at := range ledger {
					want[l] = at
				}
				oldest := c.Now().Add(-o.Retention).UnixNano()
				mu.Unlock()
				for range 2 { // what it sees does not change
					verify(n, want, oldest)
				}
				n.Release()
			}
		})
	}
	wg.Wait()
	if failed.Load() {
		return
	}
	maintain(t, s)
	st := s.Stats()
	if st.Compactions == 0 || st.Retired == 0 || st.Obsolete != 0 || st.Damaged != 0 || st.FailedCompactions != 0 {
		t.Errorf("stats: %+v", st)
	}
	want := served(t, s)
	upto := s.Upto()
	closeCatalog(t, s)
	s = open(t, dir, o)
	equalLines(t, "opened again", served(t, s), want)
	if s.Upto() != upto {
		t.Errorf("Upto is %d, was %d", s.Upto(), upto)
	}
	if got, want := int64(len(namesIn(t, dir, SegmentDir))), s.Stats().Segments; got != want {
		t.Errorf("%d files of %d segments", got, want)
	}
	t.Logf("%+v", st)
}

// byTime sorts the rows of each stream; a stream may have been drawn twice.
func byTime(rows map[string][]row) map[string][]row {
	for _, list := range rows {
		slices.SortStableFunc(list, func(a, b row) int { return cmp.Compare(a.time, b.time) })
	}
	return rows
}
