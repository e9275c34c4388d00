package logstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stele-go/stele/internal/sys"
)

// Appends are refused while there is too little free space, and continue by
// themselves.
func TestLowSpace(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	o := small()
	o.MinFree = 1 << 30 // more than the store itself needs, which changes
	o.statfs = func(string) (sys.FSInfo, error) { return sys.FSInfo{Free: free.Load(), Total: 1 << 40}, nil }
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "api")
	mustAppend(t, s, one(l, 1, "before"))
	free.Store(s.space.required.Load() - 1)
	s.space.refreshSignal.wake()
	until(t, "the store knows", func() bool { return s.Stats().LowSpace })
	err := s.Append(context.Background(), one(l, 2, "x"))
	says := fmt.Sprintf("%d MiB; want %d MiB or more", (s.space.required.Load()-1)>>20, s.space.required.Load()>>20)
	if !errors.Is(err, ErrLowSpace) || errors.Is(err, ErrUnsure) || !strings.Contains(err.Error(), says) {
		t.Error(err)
	}
	if n := len(contents(t, s)); n != 1 {
		t.Errorf("%d entries", n)
	}
	if err := s.space.checkFree(1); !errors.Is(err, ErrLowSpace) {
		t.Error("there is space for a compaction")
	}
	free.Store(s.space.required.Load() + 100)
	if s.space.checkFree(100) != nil || s.space.checkFree(101) == nil {
		t.Error("the space for a compaction is not that which appends leave")
	}
	until(t, "the store takes more", func() bool { return s.Append(context.Background(), one(l, 2, "after")) == nil })
	// Much is written, so the store checks before the second is over.
	until(t, "the space is read again after much was written", func() bool { // at once, unless it is read in between
		s.space.written.Store(0)
		for range refreshBytes >> 20 {
			s.space.wrote(1 << 20)
		}
		return s.space.written.Load() == 0
	})
}

// Preallocated log files count as free space: a store that has them on a small
// file system is not short of what they take. Options.MinFree holds all the
// same.
func TestReadyFilesAreRoom(t *testing.T) {
	o := small()
	own := o.reservedFree()
	free, ready := own-1, int64(0)
	o.statfs = func(string) (sys.FSInfo, error) { return sys.FSInfo{Free: free, Total: 1 << 30}, nil }
	for _, c := range []struct {
		minFree, free, ready int64
		low                  bool
	}{
		{1, own, 0, false},
		{1, own - 1, 0, true},
		{1, own - o.logSegmentSize, o.logSegmentSize, false},
		{1, own - o.logSegmentSize - 1, o.logSegmentSize, true},
		{100, 100, 2 * own, false},
		{100, 99, 2 * own, true},
	} {
		o.MinFree, free, ready = c.minFree, c.free, c.ready
		var w diskSpace
		if err := w.init("dir", &o, func() int64 { return ready }); err != nil {
			t.Fatal(err)
		}
		if low := w.check() != nil; low != c.low {
			t.Errorf("MinFree %d, %d bytes free and %d ready: refused %v; want %v", c.minFree, c.free, c.ready, low, c.low)
		}
	}
}
