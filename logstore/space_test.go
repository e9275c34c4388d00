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

// Appends are refused while there is too little room, and go on by themselves.
func TestLowSpace(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	o := small()
	o.statfs = func(string) (sys.FSInfo, error) { return sys.FSInfo{Free: free.Load(), Total: 1 << 40}, nil }
	s := openTest(t, t.TempDir(), o)
	l := MustLabels("app", "api")
	mustAppend(t, s, one(l, 1, "before"))
	free.Store(s.space.least - 1)
	s.space.soon.wake()
	until(t, "the store knows", func() bool { return s.Stats().LowSpace })
	err := s.Append(context.Background(), one(l, 2, "x"))
	says := fmt.Sprintf("%d MiB, and %d are to stay free", (s.space.least-1)>>20, s.space.least>>20)
	if !errors.Is(err, ErrLowSpace) || errors.Is(err, ErrUnsure) || !strings.Contains(err.Error(), says) {
		t.Error(err)
	}
	if n := len(contents(t, s)); n != 1 {
		t.Errorf("%d entries", n)
	}
	if s.space.room(1) {
		t.Error("there is room for a merge")
	}
	free.Store(s.space.least + 100)
	if !s.space.room(100) || s.space.room(101) {
		t.Error("room for a merge is not what appends leave")
	}
	until(t, "the store takes more", func() bool { return s.Append(context.Background(), one(l, 2, "after")) == nil })
	// Much is written: it looks before the second is over.
	s.space.written.Store(0)
	for range spaceBytes >> 20 {
		s.space.wrote(1 << 20)
	}
	if s.space.written.Load() != 0 {
		t.Error("nobody looks after much was written")
	}
}
